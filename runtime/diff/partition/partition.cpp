// runtime/diff/partition/partition.cpp -- which values of the forward are kept for the backward, by
// a minimum cut of their bytes.
//
// The network: every tensor of the forward is an edge (in -> out) whose capacity is its bytes;
// primal inputs cost nothing. A stage that may be run again links its operands' outs to its
// results' ins; the results of one that may not are fed by the source, so that they are either
// saved or not needed. What the backward reads drains into the sink.
#include "runtime/diff/partition/partition.hpp"

#include <algorithm>

#include "runtime/diff/partition/min_cut.hpp"
#include "runtime/domain/count.hpp"

namespace adjit::diff {
namespace {

class Partitioner {
 public:
  Partitioner(const Graph& joint, size_t inputs, size_t outputs)
      : joint_(compact(joint)),
        inputs_(inputs),
        outputs_(outputs),
        stage_of_(defining_stages(joint_)) {
    invariant(inputs <= joint_.inputs.size() && outputs <= joint_.outputs.size(),
              "the joint graph has fewer inputs or outputs than its forward");
    for (const Stage& stage : joint_.stages) reads_.push_back(tensors_read(joint_, stage));
    primal_.assign(joint_.tensors.size(), 0);
    for (size_t k = 0; k < inputs; ++k) primal_[joint_.inputs[k].value] = 1;
    mark_backward();
    mark_repeatable();
  }

  Partition operator()(int64_t budget) {
    while (true) {
      choose();
      if (budget < 0 || bytes_ <= budget) return result();
      if (!relax()) refuse(budget);
    }
  }

 private:
  // Stages that depend on a cotangent, and what they (and the gradients) need of the rest.
  void mark_backward() {
    std::vector<char> cotangent(joint_.tensors.size(), 0);
    for (size_t k = inputs_; k < joint_.inputs.size(); ++k) cotangent[joint_.inputs[k].value] = 1;
    demanded_.assign(joint_.tensors.size(), 0);
    backward_.assign(joint_.stages.size(), 0);
    for (size_t s = 0; s < joint_.stages.size(); ++s) {
      backward_[s] =
          std::ranges::any_of(reads_[s], [&](TensorId t) { return cotangent[t.value] != 0; });
      if (!backward_[s]) continue;
      for (TensorId t : joint_.stages[s].results) cotangent[t.value] = 1;
      for (TensorId t : reads_[s]) demanded_[t.value] = 1;
    }
    for (size_t k = outputs_; k < joint_.outputs.size(); ++k)
      demanded_[joint_.outputs[k].value] = 1;
    for (const ConstantData& c : joint_.constants) demanded_[c.tensor.value] = 0;
    for (uint32_t t = 0; t < demanded_.size(); ++t) demanded_[t] = demanded_[t] && !cotangent[t];
  }

  void mark_repeatable() {
    for (const Stage& stage : joint_.stages)
      repeatable_.push_back(stage.kind == StageKind::Compute && stage.results.size() == 1 &&
                            stage.domain.reduction_rank() == 0);
  }

  int64_t bytes_of(TensorId t) const {
    return checked_mul(joint_.info(t).element_count(),
                       static_cast<int64_t>(size_of(joint_.info(t).dtype)));
  }

  // Cuts, then walks back from the demands: a tensor on the cut is a residual, another one is
  // computed again.
  void choose() {
    const std::vector<char> saved = cut();
    residuals_.clear();
    bytes_ = 0;
    again_.assign(joint_.stages.size(), 0);
    std::vector<char> seen(demanded_);
    std::vector<TensorId> stack;
    for (uint32_t t = 0; t < seen.size(); ++t)
      if (seen[t]) stack.push_back(TensorId{t});
    std::vector<char> residual(seen.size(), 0);
    while (!stack.empty()) {
      const TensorId t = stack.back();
      stack.pop_back();
      const size_t s = stage_of_[t.value];
      if (primal_[t.value] || (s != SIZE_MAX && (saved[t.value] || !repeatable_[s]))) {
        residual[t.value] = 1;
      } else if (s != SIZE_MAX && !again_[s]) {
        again_[s] = 1;
        for (TensorId read : reads_[s])
          if (!seen[read.value]) {
            seen[read.value] = 1;
            stack.push_back(read);
          }
      }
    }
    for (uint32_t t = 0; t < residual.size(); ++t) {
      const size_t s = stage_of_[t];
      if (!residual[t] || (s != SIZE_MAX && again_[s])) continue;
      residuals_.push_back(TensorId{t});
      if (!primal_[t]) bytes_ = checked_add(bytes_, bytes_of(TensorId{t}));
    }
  }

  std::vector<char> cut() const {
    const size_t count = joint_.tensors.size(), source = 2 * count, sink = source + 1;
    Network network(2 * count + 2);
    const auto in = [](TensorId t) { return size_t{2} * t.value; };
    const auto out = [](TensorId t) { return size_t{2} * t.value + 1; };
    for (uint32_t k = 0; k < count; ++k) {
      const TensorId t{k};
      network.add_edge(in(t), out(t), primal_[k] ? 0 : bytes_of(t));
      if (primal_[k]) network.add_edge(source, in(t), Network::kUnbounded);
      if (demanded_[k]) network.add_edge(out(t), sink, Network::kUnbounded);
    }
    for (size_t s = 0; s < joint_.stages.size(); ++s) {
      if (backward_[s]) continue;
      for (TensorId result : joint_.stages[s].results) {
        if (!repeatable_[s]) network.add_edge(source, in(result), Network::kUnbounded);
        if (repeatable_[s])
          for (TensorId read : reads_[s])
            network.add_edge(out(read), in(result), Network::kUnbounded);
      }
    }
    int64_t flow = 0;
    const std::vector<char> side = network.sink_side(source, sink, flow);
    std::vector<char> saved(count, 0);
    for (uint32_t k = 0; k < count; ++k) saved[k] = !side[2 * k] && side[2 * k + 1];
    return saved;
  }

  // Over budget: lets the stages that force the largest residuals (from half the largest up) be run
  // again; false when none can be.
  bool relax() {
    std::vector<char> relaxable(joint_.tensors.size(), 0);
    int64_t largest = 0;
    for (TensorId t : residuals_) {
      if (primal_[t.value] || barriers({t}).empty()) continue;
      relaxable[t.value] = 1;
      largest = std::max(largest, bytes_of(t));
    }
    std::vector<TensorId> large;
    for (TensorId t : residuals_)
      if (relaxable[t.value] && 2 * bytes_of(t) >= largest) large.push_back(t);
    const std::vector<size_t> stages = barriers(large);
    for (size_t s : stages) repeatable_[s] = 1;
    return !stages.empty();
  }

  // The nearest stages behind these tensors that are not run again but could be.
  std::vector<size_t> barriers(const std::vector<TensorId>& tensors) const {
    std::vector<size_t> found;
    std::vector<char> seen(joint_.stages.size(), 0);
    std::vector<TensorId> stack(tensors);
    while (!stack.empty()) {
      const size_t s = stage_of_[stack.back().value];
      stack.pop_back();
      if (s == SIZE_MAX || seen[s]) continue;
      seen[s] = 1;
      if (repeatable_[s]) {
        stack.insert(stack.end(), reads_[s].begin(), reads_[s].end());
      } else if (joint_.stages[s].kind != StageKind::Call) {
        found.push_back(s);
      }
    }
    return found;
  }

  [[noreturn]] void refuse(int64_t budget) const {
    std::string text =
        "a memory budget of " + std::to_string(budget) +
        " bytes between forward and backward is not enough: " + std::to_string(bytes_) +
        " are left that cannot be computed again:";
    for (TensorId t : residuals_) {
      if (primal_[t.value]) continue;
      const Stage& stage = joint_.stages[stage_of_[t.value]];
      text += " " + std::to_string(bytes_of(t)) + " of '" + joint_.info(t).name + "'" +
              (stage.lines.empty() ? "" : " (" + to_string(stage.lines.front()) + ")") + ",";
    }
    text.back() = ';';
    throw Error(ErrorCode::Schedule, text + " allow " + std::to_string(bytes_) + " or more");
  }

  Partition result() const {
    Partition p;
    p.residuals = residuals_.size();
    p.residual_bytes = bytes_;
    Graph forward = joint_;
    forward.inputs.resize(inputs_);
    forward.outputs.resize(outputs_);
    forward.outputs.insert(forward.outputs.end(), residuals_.begin(), residuals_.end());
    p.forward = compact(forward);
    p.forward.name = joint_.name + "_forward";

    Graph backward = joint_;
    backward.name = joint_.name + "_backward";
    backward.inputs = residuals_;
    backward.inputs.insert(backward.inputs.end(),
                           joint_.inputs.begin() + static_cast<long>(inputs_), joint_.inputs.end());
    backward.outputs.erase(backward.outputs.begin(),
                           backward.outputs.begin() + static_cast<long>(outputs_));
    backward.stages.clear();
    for (size_t s = 0; s < joint_.stages.size(); ++s) {
      if (!backward_[s] && !again_[s]) continue;
      backward.stages.push_back(joint_.stages[s]);
      if (again_[s]) p.recomputed_points += points_of(joint_.stages[s]);
    }
    p.backward = compact(backward);
    return p;
  }

  static int64_t points_of(const Stage& stage) {
    return count_points(stage.domain).value_or(stage.domain.box_points());
  }

  Graph joint_;
  size_t inputs_, outputs_;
  std::vector<size_t> stage_of_;
  std::vector<std::vector<TensorId>> reads_;
  std::vector<char> primal_;      // per tensor: an input of the forward
  std::vector<char> demanded_;    // per tensor: not of the backward, but read by it
  std::vector<char> backward_;    // per stage: depends on a cotangent
  std::vector<char> repeatable_;  // per stage: may be run again
  std::vector<char> again_;       // per stage: is run again in the backward
  std::vector<TensorId> residuals_;
  int64_t bytes_ = 0;
};

}  // namespace

Partition partition(const Graph& joint, size_t forward_inputs, size_t forward_outputs,
                    int64_t memory_budget) {
  return Partitioner(joint, forward_inputs, forward_outputs)(memory_budget);
}

}  // namespace adjit::diff
