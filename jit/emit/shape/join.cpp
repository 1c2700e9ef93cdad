// jit/emit/shape/join.cpp -- where the parts of a join are read.
#include "jit/emit/shape/join.hpp"

namespace adjit::emit {
namespace {

class JoinFinder {
 public:
  JoinFinder(const Graph& graph, const JoinChain& chain, IndexForms& forms)
      : graph_(graph), pool_(graph.pool), chain_(chain), forms_(forms) {}

  std::optional<Join> operator()() {
    const std::optional<Affine>& form = forms_.form(chain_.position);
    if (!form || form->is_constant()) return {};
    Join join;
    join.position = position_ = chain_.falling ? -*form : *form;
    join.dtype = pool_.dtype(chain_.parts[0]);
    const Interval range = forms_.range(position_);
    join.begins.push_back(range.lo);
    for (int64_t end : chain_.ends) join.begins.push_back(chain_.falling ? -end : end);
    for (size_t k = 0; k < chain_.parts.size(); ++k) {
      const int64_t end = k + 1 < join.begins.size() ? join.begins[k + 1] : range.hi + 1;
      join.reads.push_back(read_of_part(pool_, chain_.parts[k]));
      if (join.begins[k] >= end || !is_read_there(join.reads[k], {join.begins[k], end - 1}))
        return {};
    }
    return join;
  }

 private:
  // Whether this reads, in bounds, wherever the position is in that range.
  bool is_read_there(ExprId read, Interval positions) const {
    const ExprId predicate = pool_.read_predicate(read);
    if (predicate.valid() && !holds(predicate, positions)) return false;
    const std::vector<int64_t>& shape = graph_.info(pool_.read_tensor(read)).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::optional<Affine>& form = forms_.form(pool_.read_index(read)[d]);
      if (!form) return false;
      const Interval values = range_where(*form, positions);
      if (values.lo < 0 || values.hi >= shape[d]) return false;
    }
    return true;
  }

  bool holds(ExprId predicate, Interval positions) const {
    const auto operand = [&](size_t k) { return pool_.operand(predicate, k); };
    if (pool_.is(predicate, Op::And))
      return holds(operand(0), positions) && holds(operand(1), positions);
    const bool less = pool_.is(predicate, Op::Lt);
    if ((!less && !pool_.is(predicate, Op::Le)) || pool_.dtype(operand(0)) != DType::Int64 ||
        !forms_.form(operand(0)) || !forms_.form(operand(1)))
      return false;
    const Affine difference = *forms_.form(operand(1)) - *forms_.form(operand(0));
    return range_where(difference, positions).lo >= (less ? 1 : 0);
  }

  // The values of a form there: exactly, where it is the position, or its negative, and a number.
  Interval range_where(const Affine& form, Interval positions) const {
    if (const Affine rest = form - position_; rest.is_constant())
      return {positions.lo + rest.constant(), positions.hi + rest.constant()};
    if (const Affine rest = form + position_; rest.is_constant())
      return {rest.constant() - positions.hi, rest.constant() - positions.lo};
    return forms_.range(form);
  }

  const Graph& graph_;
  const ExprPool& pool_;
  const JoinChain& chain_;
  IndexForms& forms_;
  Affine position_;
};

}  // namespace

std::optional<Join> join_of(const Graph& graph, const JoinChain& chain, IndexForms& forms) {
  try {
    return JoinFinder(graph, chain, forms)();
  } catch (const Overflow&) {
    return {};
  }
}

}  // namespace adjit::emit
