// jit/engine/plan.cpp -- planning buffers, workspace and steps.
#include "jit/engine/plan.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "autosched/task_chains.hpp"
#include "jit/engine/kernel_list.hpp"
#include "jit/engine/workspace.hpp"

namespace adjit {
namespace {

constexpr size_t kConstantAlignment = 64;

ArraySpec spec_of(const TensorInfo& tensor, const TensorLayout& layout) {
  return {tensor.dtype, tensor.shape, layout.strides};
}

int64_t item_bytes(const TensorInfo& tensor) { return static_cast<int64_t>(size_of(tensor.dtype)); }
int64_t bytes_of(const TensorInfo& tensor) {
  return checked_mul(tensor.element_count(), item_bytes(tensor));
}

// A scatter runs on top of what it starts from: per tensor, the one whose buffer it shares.
std::vector<uint32_t> shared_buffers(const Graph& graph) {
  std::vector<uint32_t> buffer(graph.tensors.size());
  std::iota(buffer.begin(), buffer.end(), 0u);
  for (size_t s = graph.stages.size(); s-- > 0;) {
    const Stage& stage = graph.stages[s];
    if (stage.kind == StageKind::Scatter)
      buffer[stage.initial.value] = buffer[stage.results[0].value];
  }
  return buffer;
}

// Where the workspace tensors of one program lie within its block of memory.
struct Arrangement {
  std::vector<uint32_t> buffer_of;                // per tensor
  std::unordered_map<uint32_t, int64_t> offsets;  // per workspace tensor
  std::unordered_map<uint32_t, Buffer> slots;     // tensors that stay within a chain's tasks
  TaskChains chains;
  std::vector<std::unique_ptr<Arrangement>> steps;  // per kernel: of a scan's program
  std::vector<int64_t> blocks;                      // per kernel: where that one's block begins
  int64_t bytes = 0, slot_bytes = 0;
};

// The slot of a thread while it runs the tasks of one chain: its kernels follow each other there,
// so that buffers live as long as they are used.
class Slots {
 public:
  void use(TensorId id, int64_t bytes, size_t step) {
    const auto [at, fresh] = index_.emplace(id.value, lifetimes_.size());
    if (fresh) {
      lifetimes_.push_back({bytes, step, step});
      tensors_.push_back(id.value);
    }
    lifetimes_[at->second].last = step;
  }

  // At the end of the chain.
  void place(Arrangement& arrangement) {
    const WorkspacePlan placed = plan_workspace(lifetimes_);
    for (size_t k = 0; k < tensors_.size(); ++k)
      arrangement.slots[tensors_[k]] = {Buffer::Kind::Slot, placed.offsets[k], lifetimes_[k].bytes};
    arrangement.slot_bytes = std::max(arrangement.slot_bytes, placed.bytes);
    *this = {};
  }

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<uint32_t> tensors_;
  std::unordered_map<uint32_t, size_t> index_;
};

class Planner {
 public:
  Planner(const Program& program, std::span<const EmittedKernel> kernels,
          std::span<const TensorLayout> input_layouts, std::vector<DataCheck> checks)
      : program_(program), kernels_(kernels), input_layouts_(input_layouts) {
    plan_.checks = std::move(checks);
  }

  ExecutionPlan operator()() {
    const Graph& graph = program_.graph;
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
      if (!check) plan_.outputs.push_back(spec_of(t, contiguous_layout(t.shape)));
    }
    size_t next = 0;
    const std::unique_ptr<Arrangement> arrangement = arrange(program_, nullptr, next);
    plan_.workspace_bytes = arrangement->bytes;
    plan_.slot_bytes = arrangement->slot_bytes;
    plan_.steps =
        steps_of(program_, *arrangement, 0, layouts_of(graph, input_layouts_), std::move(bound))
            .steps;
    return std::move(plan_);
  }

 private:
  size_t add(Buffer::Kind kind, int64_t at) {
    plan_.buffers.push_back({kind, at, 0});
    return plan_.buffers.size() - 1;
  }

  // Tensors that kernel k reads or writes; `next` is its number in the list when it has a nest.
  std::vector<TensorId> tensors_of(const Program& program, size_t k, size_t& next) const {
    const Kernel& kernel = program.kernels[k];
    if (!kernel.steps) return kernels_[next++].tensors;
    const Stage& scan = program.graph.stages[kernel.root.stage];
    std::vector<TensorId> tensors = scan.operands;
    tensors.insert(tensors.end(), scan.results.begin(), scan.results.end());
    return tensors;
  }

  // Recursive over scans within scans; `scan`: whose steps the program is, or null.
  std::unique_ptr<Arrangement> arrange(const Program& program, const Scan* scan,
                                       size_t& next) const {
    auto result = std::make_unique<Arrangement>();
    const size_t count = program.kernels.size();
    result->buffer_of = shared_buffers(program.graph);
    result->steps.resize(count);
    result->blocks.assign(count, 0);
    result->chains = task_chains(program, scan);
    const std::vector<bool>&before = result->chains.before, &continues = result->chains.continues;
    std::vector<std::vector<TensorId>> used;
    for (size_t k = 0; k < count; ++k) {
      used.push_back(tensors_of(program, k, next));
      if (const auto& steps = program.kernels[k].steps) {
        const Stage& stage = program.graph.stages[program.kernels[k].root.stage];
        result->steps[k] = arrange(*steps, &*stage.scan, next);
        result->slot_bytes = std::max(result->slot_bytes, result->steps[k]->slot_bytes);
      }
    }
    std::vector<size_t> order(count);  // in which kernels run
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_partition(order, [&](size_t k) { return before[k]; });
    std::vector<Lifetime> lifetimes;
    std::vector<uint32_t> tensors;
    std::vector<std::pair<size_t, size_t>> blocks;  // lifetime, kernel
    std::unordered_map<uint32_t, size_t> index;
    size_t first = 0, last = 0;  // of the chain at hand: all its buffers live at once
    Slots slots;
    for (size_t step = 0; step < count; ++step) {
      const size_t kernel = order[step];
      if (before[kernel]) {  // its results stay for all steps
        first = step;
        last = count - 1;
      } else if (!continues[kernel]) {
        slots.place(*result);
        first = last = step;
        while (last + 1 < count && continues[order[last + 1]]) ++last;
      }
      for (TensorId named : used[kernel]) {
        const TensorId id{result->buffer_of[named.value]};
        if (program.scopes[id.value] != Scope::Workspace) continue;
        if (const int64_t slice = result->chains.slices[id.value]; slice > 0) {
          slots.use(id, checked_mul(slice, item_bytes(program.graph.info(id))), step);
          continue;
        }
        const auto [at, fresh] = index.emplace(id.value, lifetimes.size());
        if (fresh) {
          lifetimes.push_back({bytes_of(program.graph.info(id)), first, last});
          tensors.push_back(id.value);
        }
        lifetimes[at->second].last = std::max(lifetimes[at->second].last, last);
      }
      if (!program.kernels[kernel].steps) continue;
      const Stage& inner = program.graph.stages[program.kernels[kernel].root.stage];
      blocks.emplace_back(lifetimes.size(), kernel);
      lifetimes.push_back({spares_end(program.graph, inner, *result->steps[kernel]), step, step});
      tensors.push_back(UINT32_MAX);
    }
    slots.place(*result);
    const WorkspacePlan placed = plan_workspace(lifetimes);
    result->bytes = placed.bytes;
    for (size_t k = 0; k < tensors.size(); ++k)
      if (tensors[k] != UINT32_MAX) result->offsets[tensors[k]] = placed.offsets[k];
    for (const auto& [lifetime, kernel] : blocks) result->blocks[kernel] = placed.offsets[lifetime];
    return result;
  }

  // A scan's block: the workspace of a step, then two spares per carry.
  static int64_t spares_end(const Graph& graph, const Stage& scan, const Arrangement& steps) {
    int64_t end = aligned(steps.bytes);
    for (size_t k = 0; k < scan.scan->carries; ++k)
      end = checked_add(end, 2 * aligned(bytes_of(graph.info(scan.operands[k]))));
    return end;
  }

  struct Steps {
    std::vector<StepPlan> before, steps;
  };

  // `bound`: the buffers of the program's inputs and outputs. Recursive over scans within scans.
  Steps steps_of(const Program& program, const Arrangement& arrangement, int64_t base,
                 const std::vector<TensorLayout>& layouts,
                 std::unordered_map<uint32_t, size_t> bound) {
    for (const ConstantData& constant : program.graph.constants)
      bound[constant.tensor.value] = add_constant(constant);
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
    Steps found;
    for (size_t k = 0; k < program.kernels.size(); ++k) {
      std::vector<StepPlan>& steps = arrangement.chains.before[k] ? found.before : found.steps;
      if (program.kernels[k].steps) {
        const Stage& scan = program.graph.stages[program.kernels[k].root.stage];
        std::vector<size_t> operands, results;
        for (TensorId id : scan.operands) operands.push_back(buffer(id));
        for (TensorId id : scan.results) results.push_back(buffer(id));
        steps.push_back(scan_step(program, k, *arrangement.steps[k], base + arrangement.blocks[k],
                                  layouts, operands, results));
        continue;
      }
      const EmittedKernel& kernel = kernels_[plan_.kernels.size()];
      KernelPlan step{
          kernel.symbol, {}, kernel.tasks, kernel.tasks > 1, arrangement.chains.continues[k]};
      for (TensorId id : kernel.tensors) step.tensors.push_back(buffer(id));
      steps.push_back({false, plan_.kernels.size()});
      plan_.kernels.push_back(std::move(step));
    }
    return found;
  }

  StepPlan scan_step(const Program& outer, size_t k, const Arrangement& arrangement, int64_t base,
                     const std::vector<TensorLayout>& layouts, std::span<const size_t> operands,
                     std::span<const size_t> results) {
    const Program& program = *outer.kernels[k].steps;
    const Stage& stage = outer.graph.stages[outer.kernels[k].root.stage];
    const Scan& scan = *stage.scan;
    const Graph& body = program.graph;
    ScanPlan plan;
    plan.trips = scan.trips;
    plan.reverse = scan.reverse;
    plan.conditional = scan.conditional;
    std::unordered_map<uint32_t, size_t> bound;
    int64_t spare = base + aligned(arrangement.bytes);
    for (size_t c = 0; c < scan.carries; ++c) {
      const int64_t size = bytes_of(outer.graph.info(stage.operands[c])), bytes = aligned(size);
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
      slice(body.outputs[s], results[s], bytes_of(body.info(body.outputs[s])));
    plan.tasks = arrangement.chains.tasks;
    Steps steps =
        steps_of(program, arrangement, base,
                 layouts_of(body, step_layouts(outer.graph, stage, layouts)), std::move(bound));
    plan.before = std::move(steps.before);
    plan.steps = std::move(steps.steps);
    plan_.scans.push_back(std::move(plan));
    return {true, plan_.scans.size() - 1};
  }

  size_t add_constant(const ConstantData& constant) {
    plan_.constants.resize(
        ceil_div(static_cast<int64_t>(plan_.constants.size()), int64_t{kConstantAlignment}) *
        int64_t{kConstantAlignment});
    const size_t buffer = add(Buffer::Kind::Constant, static_cast<int64_t>(plan_.constants.size()));
    plan_.constants.append(reinterpret_cast<const char*>(constant.bytes.data()),
                           constant.bytes.size());
    return buffer;
  }

  const Program& program_;
  std::span<const EmittedKernel> kernels_;
  std::span<const TensorLayout> input_layouts_;
  ExecutionPlan plan_;
};

}  // namespace

ExecutionPlan make_plan(const Program& program, std::span<const EmittedKernel> kernels,
                        std::span<const TensorLayout> input_layouts,
                        std::vector<DataCheck> checks) {
  return Planner(program, kernels, input_layouts, std::move(checks))();
}

}  // namespace adjit
