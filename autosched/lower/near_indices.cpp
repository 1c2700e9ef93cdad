// autosched/lower/near_indices.cpp -- no affine index is farther from its tensor than addresses
// count, no constraint farther than loops do.
#include "autosched/lower/near_indices.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"
#include "runtime/graph/near_constraint.hpp"

namespace adjit::sched {
namespace {

// Bytes. A few of them, and multiples by lanes and tiles, fit 64 bits together.
constexpr int64_t kFarthest = int64_t{1} << 56;

class NearIndices {
 public:
  NearIndices(LoweredGraph& graph, Stage& stage)
      : graph_(graph), pool_(graph.pool), stage_(stage) {}

  void operator()() {
    bring_constraints(stage_.domain.inequalities, false);
    bring_constraints(stage_.domain.equalities, true);
    find_reads();
    if (!far_.empty()) rebuild();
    if (stage_.kind != StageKind::Scatter) return;
    const TensorInfo& result = graph_.info(stage_.results[0]);
    const std::vector<int64_t> strides = strides_of(graph_, stage_.results[0]);
    for (size_t d = 0; d < stage_.target.size(); ++d)
      if (is_far(stage_.target[d], result.shape[d], strides[d]))
        stage_.target[d] = near_target(stage_.target[d], result.shape[d]);
  }

 private:
  void bring_constraints(std::vector<Affine>& constraints, bool equality) const {
    std::vector<Affine> near;
    for (const Affine& form : constraints) {
      const int64_t farthest = fits_in_code(stage_.domain, form) ? kFarthest : 0;
      std::optional<Affine> nearer = near_constraint(form, equality, stage_.domain, farthest);
      if (!nearer) continue;
      (void)stage_.domain.box_range(*nearer);  // Overflow: code would wrap
      near.push_back(std::move(*nearer));
    }
    constraints = std::move(near);
  }

  // Whether multiples of the form, over the box, are farther than that.
  bool is_far(ExprId index, int64_t extent, int64_t stride) const {
    if (pool_.is(index, Op::Axis)) return false;
    const std::optional<IndexForm> at = index_form(pool_, index, stage_.domain);
    if (!at) return false;
    const Affine& form = at->form;
    try {
      const ValueRange range = at->domain.box_range(form);
      // An axis of one point has a coefficient that the range does not show.
      Exact reach = std::max(
          {Exact(0) - range.lo, Exact(range.hi), Exact(form.constant()), -Exact(form.constant())});
      for (const int64_t c : form.coefficients()) reach = std::max({reach, Exact(c), -Exact(c)});
      return reach > extent && reach * stride * int64_t{8} > kFarthest;
    } catch (const Overflow&) {
      return true;
    }
  }

  void find_reads() {
    for (ExprId read : reads_of(graph_, stage_)) {
      const TensorInfo& tensor = graph_.info(pool_.read_tensor(read));
      const std::vector<int64_t> strides = strides_of(graph_, pool_.read_tensor(read));
      const std::span<const ExprId> index = pool_.read_index(read);
      for (size_t d = 0; d < index.size(); ++d)
        if (is_far(index[d], tensor.shape[d], strides[d])) far_[read.value].push_back(d);
    }
  }

  void rebuild() {
    Rebuilder rebuilder(pool_, pool_, [&](ExprId leaf, std::span<const ExprId> operands) {
      const auto far = far_.find(leaf.value);
      if (far == far_.end()) return ExprId{};
      const std::vector<int64_t>& shape = graph_.info(pool_.read_tensor(leaf)).shape;
      const auto rank = static_cast<std::ptrdiff_t>(shape.size());
      std::vector<ExprId> index(operands.begin(), operands.begin() + rank);
      for (size_t d : far->second) index[d] = between(0, index[d], shape[d] - 1);
      const ExprId predicate = pool_.read_predicate(leaf).valid() ? operands.back() : ExprId{};
      return pool_.read(pool_.read_tensor(leaf), pool_.dtype(leaf), index, predicate);
    });
    for (ExprId& body : stage_.bodies) body = rebuilder(body);
    for (ExprId& target : stage_.target) target = rebuilder(target);
  }

  ExprId between(int64_t low, ExprId index, int64_t high) {
    const ExprId above = pool_.make(Op::Max, {index, pool_.constant_int(low)});
    return pool_.make(Op::Min, {above, pool_.constant_int(std::max(low, high))});
  }

  ExprId near_target(ExprId target, int64_t extent) {
    if (stage_.out_of_range == OutOfRange::Drop) return between(-1, target, extent);
    if (stage_.out_of_range == OutOfRange::Wrap)
      return pool_.make(Op::Mod, {target, pool_.constant_int(std::max<int64_t>(extent, 1))});
    return between(0, target, extent - 1);  // an affine target is in range wherever it is an error
  }

  LoweredGraph& graph_;
  ExprPool& pool_;
  Stage& stage_;
  std::unordered_map<uint32_t, std::vector<size_t>> far_;  // reads to dimensions
};

}  // namespace

void near_indices(LoweredGraph& graph, Stage& stage) { NearIndices(graph, stage)(); }

LoweredGraph near_indices(LoweredGraph graph) {
  for (Stage& stage : graph.stages)
    if (stage.kind == StageKind::Compute || stage.kind == StageKind::Scatter)
      near_indices(graph, stage);
  return graph;
}

}  // namespace adjit::sched
