// runtime/diff/simplify/fixed_outputs.cpp -- an output axis that a row fixes leaves the stage.
//
// Worked example: the gradient of x[i, 0] is D(i, j) = sum_k f(i, k) where j == 0. It becomes
//   S(i) = sum_k f(i, k);   D(i, j) = select(j == 0, S(i), 0):
// the sum runs over i alone, and siblings that differ in j only share a pass.
#include <algorithm>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

struct Fixed {
  size_t axis = 0;
  int64_t value = 0;
};

// An output axis that an equality gives a constant in range.
std::optional<Fixed> fixed_output(const Domain& domain) {
  for (const Affine& row : domain.equalities) {
    std::optional<size_t> only;
    bool others = false;
    for (size_t v = 0; v < row.size(); ++v) {
      if (row.coefficient(v) == 0) continue;
      others |= only.has_value() || v >= domain.output_rank;
      only = v;
    }
    if (!only || others) continue;
    const int64_t c = row.coefficient(*only);
    if (c != 1 && c != -1) continue;
    const int64_t value = c == 1 ? -row.constant() : row.constant();
    if (value >= 0 && value < domain.extents[*only] && domain.extents[*only] > 1)
      return Fixed{*only, value};
  }
  return std::nullopt;
}

// The form without the variable, which has the value.
Affine without(const Affine& form, const Fixed& fixed) {
  Affine result(form.constant());
  for (size_t v = 0; v < form.size(); ++v) {
    const int64_t c = form.coefficient(v);
    if (c == 0) continue;
    if (v == fixed.axis) {
      result += checked_mul(c, fixed.value);
    } else {
      result.set_coefficient(v < fixed.axis ? v : v - 1, c);
    }
  }
  return result;
}

Domain without(const Domain& domain, const Fixed& fixed) {
  Domain result;
  result.extents = domain.extents;
  result.extents.erase(result.extents.begin() + static_cast<std::ptrdiff_t>(fixed.axis));
  result.output_rank = domain.output_rank - 1;
  for (const Division& d : domain.divisions)
    result.divisions.push_back({without(d.numerator, fixed), d.divisor});
  for (const Affine& row : domain.inequalities) result.inequalities.push_back(without(row, fixed));
  for (const Affine& row : domain.equalities) {
    const Affine rest = without(row, fixed);
    if (rest != Affine()) result.equalities.push_back(rest);
  }
  if (result.is_box()) result.divisions.clear();
  return result;
}

bool has_plain_identity(const Stage& stage) {
  return stage.kind == StageKind::Compute && !stage.stop_gradient && stage.bodies.size() == 1 &&
         (stage.combiner.kind == CombinerKind::None || stage.combiner.kind == CombinerKind::Sum);
}

class Dropper {
 public:
  explicit Dropper(Graph graph) : graph_(std::move(graph)) {}

  Graph operator()() {
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (Stage& stage : stages) {
      // Several axes may be fixed: each is one stage more, which is inlined.
      while (has_plain_identity(stage)) {
        const std::optional<Fixed> fixed = fixed_output(stage.domain);
        if (!fixed) break;
        placed_.push_back(drop(stage, *fixed));
      }
      graph_.stages.push_back(std::move(stage));
      graph_.stages.insert(graph_.stages.end(), std::make_move_iterator(placed_.rbegin()),
                           std::make_move_iterator(placed_.rend()));
      placed_.clear();
    }
    return std::move(graph_);
  }

 private:
  // Takes the axis out of the stage, which gives a tensor of lower rank then, and returns the stage
  // that puts that in its place.
  Stage drop(Stage& stage, const Fixed& fixed) {
    ExprPool& pool = graph_.pool;
    const TensorId whole = stage.results[0];
    const TensorInfo info = graph_.info(whole);
    std::vector<ExprId> now;
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      now.push_back(a == fixed.axis ? pool.constant_int(fixed.value)
                                    : pool.axis(a < fixed.axis ? a : a - 1));
    stage.bodies = substitute_axes(pool, stage.bodies, now);
    stage.domain = without(stage.domain, fixed);
    std::vector<int64_t> shape = info.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(fixed.axis));
    stage.results = {add_tensor(graph_, info.name + "_at", info.dtype, shape)};

    Stage placed;
    placed.domain.extents = info.shape;
    placed.domain.output_rank = info.shape.size();
    placed.results = {whole};
    placed.region = stage.region;
    placed.lines = stage.lines;
    std::vector<ExprId> index = axes(pool, info.shape.size());
    const ExprId here = pool.make(Op::Eq, {index[fixed.axis], pool.constant_int(fixed.value)});
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(fixed.axis));
    const ExprId value = read(graph_, stage.results[0], index);
    const DType dtype = pool.dtype(value);
    const ExprId zero =
        is_float(dtype) ? pool.constant(0, dtype) : pool.cast(pool.constant_int(0), dtype);
    placed.bodies = {pool.make(Op::Select, {here, value, zero})};
    return placed;
  }

  Graph graph_;
  std::vector<Stage> placed_;
};

}  // namespace

Graph drop_fixed_outputs(Graph graph) { return Dropper(std::move(graph))(); }

}  // namespace adjit::diff
