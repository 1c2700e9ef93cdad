// runtime/diff/simplify/loops/loop_fission.cpp -- reductions of a scan's step that do not wait for
// its carries leave the loop.
//
// Worked example: the step of a recurrent network sums x[t, k] * W[k, j] over k. Nothing in it is
// carried, so it is one matrix product for all steps before the loop, which then reads its slices:
//   P[t, b, j] = sum_k X[t, b, k] * W[k, j].
// In its derivative, dx = sum_j da[j] * W[k, j] is only stacked: a product after the loop, of what
// is stacked of da.
//
// The rule. In the loop a step reads all bytes |W| of the operands that stay the same. Before the
// loop the result, |R| bytes a step, is written and read instead; after it what has to be stacked
// for it alone, |X| bytes a step. The stage leaves the loop if that is less:
//   before: 2 |R| < |W|;   after: 2 |X| < |W|.
// What reads nothing that changes from step to step is computed once.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/diff/simplify/loops/time_axis.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

bool is_reduction(const Stage& stage) {
  return stage.kind == StageKind::Compute && stage.domain.reduction_rank() > 0 &&
         !stage.stop_gradient;
}

// One scan of a graph: `before` it, itself, and what comes `after`.
class LoopSplitter {
 public:
  LoopSplitter(Graph& graph, Stage stage)
      : graph_(graph), loop_(std::move(stage)), scan_(*loop_.scan), step_(*scan_.body) {
    outside_.resize(step_.tensors.size());
    for (size_t k = scan_.carries; k < loop_.operands.size(); ++k)
      outside_[step_.inputs[k].value] =
          Outside{loop_.operands[k], k < scan_.carries + scan_.scanned};
  }

  void operator()(std::vector<Stage>& stages) {
    take_before(stages);
    std::vector<Stage> after;
    take_after(after);
    scan_.body = std::make_shared<const Graph>(std::move(step_));
    loop_.scan = std::make_shared<const Scan>(std::move(scan_));
    stages.push_back(std::move(loop_));
    // Found from the last to the first.
    stages.insert(stages.end(), std::make_move_iterator(after.rbegin()),
                  std::make_move_iterator(after.rend()));
  }

 private:
  void take_before(std::vector<Stage>& stages) {
    std::vector<Stage> left;
    for (Stage& stage : step_.stages) {
      const std::vector<TensorId> read = tensors_read(step_, stage);
      const bool lies_outside =
          std::ranges::all_of(read, [&](TensorId t) { return outside_[t.value].has_value(); });
      const bool sliced = lies_outside && std::ranges::any_of(read, [&](TensorId t) {
                            return outside_[t.value]->sliced;
                          });
      if (!is_reduction(stage) || !lies_outside || is_output(stage) ||
          (sliced && 2 * result_bytes(stage) >= fixed_bytes(read))) {
        left.push_back(std::move(stage));
        continue;
      }
      Stage outer = moved(stage, sliced);
      for (size_t k = 0; k < stage.results.size(); ++k)
        becomes_operand(stage.results[k], Outside{outer.results[k], sliced});
      stages.push_back(std::move(outer));
    }
    step_.stages = std::move(left);
  }

  // From the last stage on: what only a stage after the loop reads may leave it, too.
  void take_after(std::vector<Stage>& stages) {
    for (size_t s = step_.stages.size(); s-- > 0;) {
      const Stage stage = step_.stages[s];
      if (!is_reduction(stage) || !is_only_stacked(stage)) continue;
      const std::vector<TensorId> read = tensors_read(step_, stage);
      double fresh = 0;
      for (TensorId t : read)
        if (!outside_[t.value] && !stacked_at(t)) fresh += step_.info(t).bytes();
      if (2 * fresh >= fixed_bytes(read)) continue;
      for (TensorId t : read)
        if (!outside_[t.value]) outside_after_[t.value] = Outside{stacked(t), true};
      Stage outer = moved(stage, true);
      for (size_t k = 0; k < stage.results.size(); ++k) {
        const size_t position = *stacked_at(stage.results[k]);
        const TensorId result = loop_.results[position];
        graph_.tensors[result.value].name = graph_.info(outer.results[k]).name;
        outer.results[k] = result;
        loop_.results.erase(loop_.results.begin() + static_cast<std::ptrdiff_t>(position));
        step_.outputs.erase(step_.outputs.begin() + static_cast<std::ptrdiff_t>(position));
        --scan_.stacked;
      }
      step_.stages.erase(step_.stages.begin() + static_cast<std::ptrdiff_t>(s));
      stages.push_back(std::move(outer));
    }
  }

  double result_bytes(const Stage& stage) const {
    double bytes = 0;
    for (TensorId t : stage.results) bytes += step_.info(t).bytes();
    return bytes;
  }

  double fixed_bytes(const std::vector<TensorId>& read) const {
    double bytes = 0;
    for (TensorId t : read)
      if (outside_[t.value] && !outside_[t.value]->sliced) bytes += step_.info(t).bytes();
    return bytes;
  }

  bool is_output(const Stage& stage) const {
    return std::ranges::any_of(stage.results, [&](TensorId t) {
      return std::ranges::find(step_.outputs, t) != step_.outputs.end();
    });
  }

  // The position among the loop's results where a tensor of the step is stacked.
  std::optional<size_t> stacked_at(TensorId t) const {
    for (size_t k = scan_.carries; k < step_.outputs.size(); ++k)
      if (step_.outputs[k] == t) return k;
    return std::nullopt;
  }

  // Every result is stacked once and nothing else.
  bool is_only_stacked(const Stage& stage) const {
    return std::ranges::all_of(stage.results, [&](TensorId t) {
      if (!stacked_at(t) || std::ranges::count(step_.outputs, t) != 1) return false;
      return std::ranges::none_of(step_.stages, [&](const Stage& reader) {
        const std::vector<TensorId> read = tensors_read(step_, reader);
        return std::ranges::find(read, t) != read.end();
      });
    });
  }

  // The loop's result that holds all steps of a tensor of the step.
  TensorId stacked(TensorId t) {
    if (const std::optional<size_t> at = stacked_at(t)) return loop_.results[*at];
    const TensorInfo info = step_.info(t);
    step_.outputs.push_back(t);
    loop_.results.push_back(add_stack(info));
    ++scan_.stacked;
    return loop_.results.back();
  }

  TensorId add_stack(const TensorInfo& info) {
    std::vector<int64_t> shape = info.shape;
    shape.insert(shape.begin(), scan_.trips);
    return add_tensor(graph_, info.name + "_stacked", info.dtype, shape);
  }

  // A stage of the step as one of the graph.
  Stage moved(const Stage& stage, bool over_time) {
    const auto outside = [&](TensorId t) {
      const auto later = outside_after_.find(t.value);
      return later != outside_after_.end() ? later->second : *outside_[t.value];
    };
    Stage outer = stage;
    if (over_time) outer.domain = with_time_axis(stage.domain, 0, scan_.trips, false);
    const size_t time = over_time ? 0 : stage.domain.rank();
    // A custom combiner's expressions also lie in the step's pool.
    for (auto* list : {&outer.bodies, &outer.combiner.combine, &outer.combiner.identity})
      for (ExprId& id : *list) id = over_time_axis(step_, graph_, id, time, outside);
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const TensorInfo info = step_.info(stage.results[k]);
      outer.results[k] =
          over_time ? add_stack(info) : add_tensor(graph_, info.name, info.dtype, info.shape);
    }
    return outer;
  }

  // A tensor that a stage of the step made is now read from outside.
  void becomes_operand(TensorId t, const Outside& outer) {
    outside_[t.value] = outer;
    const size_t at = scan_.carries + scan_.scanned + (outer.sliced ? 0 : scan_.fixed);
    step_.inputs.insert(step_.inputs.begin() + static_cast<std::ptrdiff_t>(at), t);
    loop_.operands.insert(loop_.operands.begin() + static_cast<std::ptrdiff_t>(at), outer.tensor);
    ++(outer.sliced ? scan_.scanned : scan_.fixed);
  }

  Graph& graph_;
  Stage loop_;
  Scan scan_;
  Graph step_;
  std::vector<std::optional<Outside>> outside_;          // per tensor of the step: before the loop
  std::unordered_map<uint32_t, Outside> outside_after_;  // and after it
};

}  // namespace

Graph split_loops(const Graph& graph) {
  Graph result = with_subgraphs(graph, split_loops);
  std::vector<Stage> stages = std::move(result.stages);
  result.stages.clear();
  bool any = false;
  for (Stage& stage : stages) {
    if (stage.kind == StageKind::Scan && !stage.scan->conditional && stage.scan->trips > 1) {
      LoopSplitter(result, std::move(stage))(result.stages);
      any = true;
    } else {
      result.stages.push_back(std::move(stage));
    }
  }
  return any ? compact(prune_scans(std::move(result))) : result;
}

}  // namespace adjit::diff
