// runtime/diff/rewrite/anti_unify.cpp -- a simultaneous walk of the expressions.
#include "runtime/diff/rewrite/anti_unify.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/expr/integer.hpp"

namespace adjit::diff {
namespace {

// Places of one walk: indices of reads are small, and what is larger is nobody's window.
constexpr size_t kMostPlaces = 200;

class Generalizer {
 public:
  Generalizer(ExprPool& pool, size_t first_axis) : pool_(pool), first_axis_(first_axis) {}

  std::optional<AntiUnified> operator()(std::span<const ExprId> expressions) {
    const ExprId expr = generalized({expressions.begin(), expressions.end()}, false);
    if (!expr.valid()) return std::nullopt;
    AntiUnified result{expr, {}, std::vector<std::vector<int64_t>>(expressions.size())};
    for (const std::vector<int64_t>& axis : axes_) {
      result.extents.push_back(*std::ranges::max_element(axis) + 1);
      for (size_t t = 0; t < axis.size(); ++t) result.values[t].push_back(axis[t]);
    }
    return result;
  }

 private:
  // Invalid where the expressions differ in more than constants. `index`: they are an index of a
  // read, where int32 sums may be taken as if they did not wrap.
  ExprId generalized(const std::vector<ExprId>& all, bool index) {
    if (std::ranges::all_of(all, [&](ExprId id) { return id == all[0]; })) return all[0];
    const auto known = done_.find({all, index});
    if (known != done_.end()) return known->second;
    if (done_.size() >= kMostPlaces) return {};
    done_[{all, index}] = {};
    ExprId result = shifted(all, index);
    if (!result.valid()) result = by_operands(all);
    done_[{all, index}] = result;
    return result;
  }

  struct Shifted {
    ExprId base;  // invalid: the expression is the constant
    int64_t constant = 0;
  };

  Shifted split(ExprId id, bool index) {
    if (const std::optional<int64_t> value = pool_.int_value(id)) return {{}, *value};
    if (pool_.is(id, Op::Add) || pool_.is(id, Op::Sub)) {
      const std::optional<int64_t> value = pool_.int_value(pool_.operand(id, 1));
      if (value && *value != INT64_MIN)
        return {pool_.operand(id, 0), pool_.is(id, Op::Add) ? *value : -*value};
    }
    const bool widens = index && pool_.is(id, Op::Cast) && pool_.dtype(id) == DType::Int64 &&
                        pool_.dtype(pool_.operand(id, 0)) == DType::Int32;
    if (!widens) return {id, 0};
    const Shifted inner = split(pool_.operand(id, 0), false);
    if (!inner.base.valid() || inner.constant == 0) return {id, 0};
    return {pool_.cast(inner.base, DType::Int64), inner.constant};
  }

  // One expression plus a constant each.
  ExprId shifted(const std::vector<ExprId>& all, bool index) {
    const DType dtype = pool_.dtype(all[0]);
    if (dtype != DType::Int64 && dtype != DType::Int32) return {};
    std::vector<int64_t> constants;
    const ExprId base = split(all[0], index).base;
    for (ExprId id : all) {
      const Shifted part = split(id, index);
      if (part.base != base || pool_.dtype(id) != dtype) return {};
      constants.push_back(part.constant);
    }
    const ExprId steps = progression(constants, dtype);
    if (!steps.valid()) return {};
    return base.valid() ? pool_.add(base, steps) : steps;
  }

  // start + step * axis, over an axis that is there already where it has the same values.
  ExprId progression(const std::vector<int64_t>& constants, DType dtype) {
    const int64_t start = *std::ranges::min_element(constants);
    int64_t step = 0;
    for (int64_t value : constants) {
      const std::optional<int64_t> gap = difference(value, start);
      if (!gap) return {};
      if (*gap > 0) step = step == 0 ? *gap : std::min(step, *gap);
    }
    std::vector<int64_t> values, reversed;
    for (int64_t value : constants) {
      if ((value - start) % step != 0) return {};
      values.push_back((value - start) / step);
    }
    const int64_t last = *std::ranges::max_element(values);
    for (int64_t value : values) reversed.push_back(last - value);
    for (int64_t k = 0; k <= last; ++k)
      if (std::ranges::find(values, k) == values.end()) return {};
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a] == values) return form(start, step, a, dtype);
      if (axes_[a] == reversed) return form(start + step * last, -step, a, dtype);
    }
    axes_.push_back(std::move(values));
    return form(start, step, axes_.size() - 1, dtype);
  }

  static std::optional<int64_t> difference(int64_t a, int64_t b) {
    int64_t gap = 0;
    if (__builtin_sub_overflow(a, b, &gap)) return std::nullopt;
    return gap;
  }

  ExprId form(int64_t start, int64_t step, size_t axis, DType dtype) {
    const ExprId scaled = pool_.mul(pool_.axis(first_axis_ + axis), pool_.constant_int(step));
    return pool_.cast(pool_.add(scaled, pool_.constant_int(start)), dtype);
  }

  // The same operation on generalized operands.
  ExprId by_operands(const std::vector<ExprId>& all) {
    const Node first = pool_[all[0]];
    if (first.operand_count == 0) return {};
    for (ExprId id : all) {
      const Node& node = pool_[id];
      if (node.op != first.op || node.dtype != first.dtype || node.payload != first.payload ||
          node.operand_count != first.operand_count)
        return {};
    }
    const size_t indices = first.op == Op::Read ? pool_.read_index(all[0]).size() : size_t{0};
    std::vector<ExprId> operands;
    for (size_t k = 0; k < first.operand_count; ++k) {
      std::vector<ExprId> column;
      for (ExprId id : all) column.push_back(pool_.operand(id, k));
      operands.push_back(generalized(column, k < indices));
      if (!operands.back().valid()) return {};
    }
    if (first.op == Op::Cast) return pool_.cast(operands[0], first.dtype);
    if (first.op != Op::Read) return pool_.make(first.op, operands);
    const ExprId predicate = operands.size() > indices ? operands.back() : ExprId{};
    operands.resize(indices);
    return pool_.read(pool_.read_tensor(all[0]), first.dtype, operands, predicate);
  }

  ExprPool& pool_;
  size_t first_axis_;
  std::vector<std::vector<int64_t>> axes_;  // per axis, the value of each expression
  std::map<std::pair<std::vector<ExprId>, bool>, ExprId> done_;
};

}  // namespace

std::optional<AntiUnified> anti_unify(ExprPool& pool, std::span<const ExprId> expressions,
                                      size_t first_axis) {
  if (expressions.empty()) return std::nullopt;
  return Generalizer(pool, first_axis)(expressions);
}

bool is_whole_box(const AntiUnified& all) {
  size_t points = 1;
  for (int64_t extent : all.extents) points *= static_cast<size_t>(extent);
  std::vector<std::vector<int64_t>> values = all.values;
  std::ranges::sort(values);
  return points == values.size() && std::ranges::adjacent_find(values) == values.end();
}

}  // namespace adjit::diff
