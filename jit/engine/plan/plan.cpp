// jit/engine/plan/plan.cpp -- buffers by number, and the steps of a run.
#include "jit/engine/plan/plan.hpp"

#include <algorithm>
#include <unordered_map>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/nests.hpp"
#include "jit/engine/plan/arrangement.hpp"
#include "jit/engine/plan/dependencies.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/expr/integer.hpp"

namespace adjit::engine {
namespace {

ArraySpec spec_of(const TensorInfo& tensor, const TensorLayout& layout) {
  return {tensor.dtype, tensor.shape, layout.strides, layout.alignment};
}

// Steps, and what each waits for.
class StepList {
 public:
  explicit StepList(const std::vector<Buffer>& buffers) : buffers_(buffers) {}

  void add_scan(StepPlan scan) {
    settle();
    steps_.push_back(std::move(scan));
    settled_ = steps_.size();
  }
  void add_kernel(size_t number, bool chained) {
    steps_.push_back({false, number});
    if (!chained) head_ = steps_.size() - 1;
  }
  // By the kernel that was added last.
  void use(size_t buffer, int64_t bytes, bool writes) {
    const Buffer& b = buffers_[buffer];
    // A thread's own, and what nobody writes.
    if (b.kind == Buffer::Kind::Slot || b.kind == Buffer::Kind::Constant) return;
    const bool planned = b.kind == Buffer::Kind::Workspace;
    const int64_t begin = planned ? b.at : -1 - static_cast<int64_t>(buffer);
    uses_.add(head_, begin, begin + (planned ? bytes : 1), writes);
  }
  std::vector<StepPlan> finished() {
    settle();
    return std::move(steps_);
  }

 private:
  void settle() {
    for (size_t s = settled_; s < steps_.size(); ++s) steps_[s].waits = uses_.waits_of(s);
    uses_ = {};
  }

  const std::vector<Buffer>& buffers_;
  std::vector<StepPlan> steps_;
  Dependencies uses_;   // since the last scan
  size_t settled_ = 0;  // steps up to that
  size_t head_ = 0;     // of the latest chain
};

std::vector<TensorId> tensors_written(const Program& program, const Kernel& kernel) {
  std::vector<TensorId> written;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    written.insert(written.end(), stage.results.begin(), stage.results.end());
  });
  return written;
}

class Planner {
 public:
  Planner(const Program& program, std::span<const EmittedKernel> kernels,
          std::span<const TensorLayout> input_layouts, std::vector<DataCheck> checks,
          std::span<const int64_t> output_alignments)
      : program_(program),
        kernels_(kernels),
        input_layouts_(input_layouts),
        output_alignments_(output_alignments) {
    plan_.checks = std::move(checks);
  }

  ExecutionPlan operator()() {
    const LoweredGraph& graph = program_.graph;
    std::unordered_map<uint32_t, size_t> bound;
    for (size_t k = 0; k < graph.inputs.size(); ++k) {
      bound[graph.inputs[k].value] = add(Buffer::Kind::Input, static_cast<int64_t>(k));
      plan_.inputs.push_back(spec_of(graph.info(graph.inputs[k]), input_layouts_[k]));
    }
    const size_t results = graph.outputs.size() - 2 * plan_.checks.size();
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      const TensorInfo& t = graph.info(graph.outputs[k]);
      const bool check = k >= results;
      bound[graph.outputs[k].value] = add(check ? Buffer::Kind::Check : Buffer::Kind::Output,
                                          static_cast<int64_t>(check ? k - results : k));
      if (check) continue;
      plan_.outputs.push_back(spec_of(t, contiguous_layout(t.shape)));
      if (k < output_alignments_.size()) plan_.outputs.back().alignment = output_alignments_[k];
    }
    const Arrangement arrangement = arrange(program_);
    plan_.workspace_bytes = arrangement.bytes;
    plan_.slot_bytes = arrangement.slot_bytes;
    plan_.steps =
        steps_of(program_, arrangement, 0, layouts_of(graph, input_layouts_), std::move(bound))
            .steps;
    return std::move(plan_);
  }

 private:
  size_t add(Buffer::Kind kind, int64_t at) {
    plan_.buffers.push_back({kind, at, 0});
    return plan_.buffers.size() - 1;
  }

  struct Steps {
    std::vector<StepPlan> before, steps;
  };

  // `bound`: the buffers of the program's inputs and outputs. Recursive over scans within scans.
  Steps steps_of(const Program& program, const Arrangement& arrangement, int64_t base,
                 const std::vector<TensorLayout>& layouts,
                 std::unordered_map<uint32_t, size_t> bound) {
    for (const ConstantData& constant : program.graph.constants)
      bound[constant.tensor.value] = add_constant(constant, arrangement.alignment);
    const auto buffer = [&](TensorId named) {
      const uint32_t id = arrangement.buffer_of[named.value];
      const auto found = bound.find(id);
      if (found != bound.end()) return found->second;
      if (const auto slot = arrangement.slots.find(id); slot != arrangement.slots.end()) {
        plan_.buffers.push_back(slot->second);
        return bound[id] = plan_.buffers.size() - 1;
      }
      return bound[id] = add(Buffer::Kind::Workspace, base + arrangement.offsets.at(id));
    };
    StepList before(plan_.buffers), behind(plan_.buffers);
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      StepList& list = arrangement.chains.before[k] ? before : behind;
      if (program.kernels[k].steps) {
        const Stage& scan = program.graph.stages[program.kernels[k].root.stage];
        std::vector<size_t> operands, results;
        for (TensorId id : scan.operands) operands.push_back(buffer(id));
        for (TensorId id : scan.results) results.push_back(buffer(id));
        list.add_scan(scan_step(program, k, *arrangement.steps[k], base + arrangement.blocks[k],
                                layouts, operands, results));
        continue;
      }
      const EmittedKernel& kernel = kernels_[plan_.kernels.size()];
      KernelPlan step{kernel.symbol,    {},
                      kernel.tasks,     tasks_in_turn(program, program.kernels[k].root),
                      kernel.tasks > 1, arrangement.chains.continues[k]};
      step.by_table = kernel.by_table;
      step.threads = kernel.threads;
      step.shared_bytes = kernel.shared_bytes;
      for (TensorId id : kernel.tensors) step.tensors.push_back(buffer(id));
      list.add_kernel(plan_.kernels.size(), step.chained);
      const std::vector<TensorId> written = tensors_written(program, program.kernels[k]);
      for (TensorId id : kernel.tensors)
        list.use(buffer(id), bytes_of(program.graph, id),
                 std::ranges::find(written, id) != written.end());
      plan_.kernels.push_back(std::move(step));
    }
    return {before.finished(), behind.finished()};
  }

  StepPlan scan_step(const Program& outer, size_t k, const Arrangement& arrangement, int64_t base,
                     const std::vector<TensorLayout>& layouts, std::span<const size_t> operands,
                     std::span<const size_t> results) {
    const Program& program = *outer.kernels[k].steps;
    const Stage& stage = outer.graph.stages[outer.kernels[k].root.stage];
    const Scan& scan = *stage.scan;
    const LoweredGraph& body = program.graph;
    ScanPlan plan;
    plan.trips = scan.trips;
    plan.reverse = scan.reverse;
    plan.conditional = scan.conditional;
    std::unordered_map<uint32_t, size_t> bound;
    int64_t spare = base + aligned(arrangement.bytes, arrangement.alignment);
    for (size_t c = 0; c < scan.carries; ++c) {
      const int64_t size = bytes_of(outer.graph, stage.operands[c]);
      const int64_t bytes = aligned(size, arrangement.alignment);
      ScanPlan::Carry carry{add(Buffer::Kind::Step, 0),
                            add(Buffer::Kind::Step, 0),
                            operands[c],
                            results[c],
                            {spare, spare + bytes},
                            size};
      spare += 2 * bytes;
      bound[body.inputs[c].value] = carry.in;
      bound[body.outputs[c].value] = carry.out;
      plan.carries.push_back(carry);
    }
    const auto slice = [&](TensorId inside, size_t of, int64_t bytes) {
      const size_t step = add(Buffer::Kind::Step, 0);
      bound[inside.value] = step;
      plan.slices.push_back({step, of, bytes});
    };
    for (size_t s = scan.carries; s < operands.size(); ++s) {
      const TensorId operand = stage.operands[s];
      if (s >= scan.carries + scan.scanned) {
        bound[body.inputs[s].value] = operands[s];
        continue;
      }
      const auto item = static_cast<int64_t>(size_of(outer.graph.info(operand).dtype));
      slice(body.inputs[s], operands[s], layouts[operand.value].strides[0] * item);
    }
    for (size_t s = scan.carries; s < results.size(); ++s)
      slice(body.outputs[s], results[s], bytes_of(body, body.outputs[s]));
    plan.tasks = arrangement.chains.tasks;
    Steps steps =
        steps_of(program, arrangement, base,
                 layouts_of(body, step_layouts(outer.graph, stage, layouts)), std::move(bound));
    plan.before = std::move(steps.before);
    plan.steps = std::move(steps.steps);
    plan_.scans.push_back(std::move(plan));
    return {true, plan_.scans.size() - 1};
  }

  size_t add_constant(const ConstantData& constant, int64_t alignment) {
    plan_.constants.resize(static_cast<size_t>(aligned(std::ssize(plan_.constants), alignment)));
    const size_t buffer = add(Buffer::Kind::Constant, static_cast<int64_t>(plan_.constants.size()));
    plan_.constants.append(reinterpret_cast<const char*>(constant.bytes.data()),
                           constant.bytes.size());
    return buffer;
  }

  const Program& program_;
  std::span<const EmittedKernel> kernels_;
  std::span<const TensorLayout> input_layouts_;
  std::span<const int64_t> output_alignments_;
  ExecutionPlan plan_;
};

}  // namespace

LaunchSize launch_size(const KernelPlan& kernel) {
  const int64_t workers = ceil_div(kernel.tasks, kernel.in_turn);
  if (kernel.threads == 0)
    return {ceil_div(workers, int64_t{sched::kFlatBlockThreads}), sched::kFlatBlockThreads, 0};
  return {workers, static_cast<int>(kernel.threads), static_cast<int>(kernel.shared_bytes)};
}

ExecutionPlan make_plan(const Program& program, std::span<const EmittedKernel> kernels,
                        std::span<const TensorLayout> input_layouts, std::vector<DataCheck> checks,
                        std::span<const int64_t> output_alignments) {
  return Planner(program, kernels, input_layouts, std::move(checks), output_alignments)();
}

}  // namespace adjit::engine
