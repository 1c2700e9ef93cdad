// jit/engine/plan/arrangement.cpp -- lifetimes of tensors, in the block and in the slots of
// threads.
#include "jit/engine/plan/arrangement.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::engine {
namespace {

int64_t item_bytes(const TensorInfo& tensor) { return static_cast<int64_t>(size_of(tensor.dtype)); }

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
    const WorkspacePlan placed = plan_workspace(lifetimes_, arrangement.alignment);
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

// Tensors in memory that a kernel reads or writes.
std::vector<TensorId> tensors_of(const Program& program, const Kernel& kernel) {
  if (!kernel.steps) return tensors_in_memory(program, kernel);
  const Stage& scan = program.graph.stages[kernel.root.stage];
  std::vector<TensorId> tensors = scan.operands;
  tensors.insert(tensors.end(), scan.results.begin(), scan.results.end());
  return tensors;
}

// A scan's block: the workspace of a step, then two spares per carry.
int64_t spares_end(const LoweredGraph& graph, const Stage& scan, const Arrangement& steps) {
  int64_t end = aligned(steps.bytes, steps.alignment);
  for (size_t k = 0; k < scan.scan->carries; ++k)
    end = checked_add(end, 2 * aligned(bytes_of(graph, scan.operands[k]), steps.alignment));
  return end;
}

class Arranger {
 public:
  Arranger(const Program& program, const Scan* scan) : program_(program) {
    const size_t count = program.kernels.size();
    made_.alignment = alignment_of(program.target);
    made_.buffer_of = shared_buffers(program);
    made_.steps.resize(count);
    made_.blocks.assign(count, 0);
    made_.chains = task_chains(program, scan);
    made_.order.resize(count);
    std::iota(made_.order.begin(), made_.order.end(), size_t{0});
    std::ranges::stable_partition(made_.order,
                                  [&](size_t k) { return bool{made_.chains.before[k]}; });
  }

  Arrangement operator()() {
    for (size_t position = 0; position < made_.order.size(); ++position) {
      const size_t kernel = made_.order[position];
      enter(kernel, position);
      for (TensorId id : tensors_of(program_, program_.kernels[kernel]))
        use(TensorId{made_.buffer_of[id.value]}, kernel, position);
      if (program_.kernels[kernel].steps) add_steps(kernel, position);
    }
    slots_.place(made_);
    place();
    return std::move(made_);
  }

 private:
  // While which other kernels what this one uses lives: its chain's.
  void enter(size_t kernel, size_t position) {
    const size_t count = made_.order.size();
    const std::vector<bool>& continues = made_.chains.continues;
    if (made_.chains.before[kernel]) {  // its results stay for all steps
      first_ = position;
      last_ = count - 1;
    } else if (!continues[kernel]) {
      slots_.place(made_);
      first_ = last_ = position;
      while (last_ + 1 < count && continues[made_.order[last_ + 1]]) ++last_;
    }
  }

  void use(TensorId id, size_t kernel, size_t position) {
    if (program_.scopes[id.value] != Scope::Workspace) return;
    const TensorInfo& info = program_.graph.info(id);
    if (const int64_t slice = made_.chains.slices[id.value]; slice > 0)
      return slots_.use(id, checked_mul(slice, item_bytes(info)), position);
    const auto [at, fresh] = index_.emplace(id.value, made_.occupants.size());
    if (fresh)
      made_.occupants.push_back({id.value, kernel, {bytes_of(program_.graph, id), first_, last_}});
    Lifetime& life = made_.occupants[at->second].life;
    life.last = std::max(life.last, last_);
  }

  void add_steps(size_t kernel, size_t position) {
    const Stage& stage = program_.graph.stages[program_.kernels[kernel].root.stage];
    made_.steps[kernel] =
        std::make_unique<Arrangement>(arrange(*program_.kernels[kernel].steps, &*stage.scan));
    made_.slot_bytes = std::max(made_.slot_bytes, made_.steps[kernel]->slot_bytes);
    const int64_t bytes = spares_end(program_.graph, stage, *made_.steps[kernel]);
    made_.occupants.push_back({UINT32_MAX, kernel, {bytes, position, position}});
  }

  void place() {
    std::vector<Lifetime> lifetimes;
    for (const Occupant& one : made_.occupants) lifetimes.push_back(one.life);
    const WorkspacePlan placed = plan_workspace(lifetimes, made_.alignment);
    made_.bytes = placed.bytes;
    for (size_t k = 0; k < lifetimes.size(); ++k) {
      const Occupant& one = made_.occupants[k];
      if (one.tensor == UINT32_MAX) {
        made_.blocks[one.kernel] = placed.offsets[k];
      } else {
        made_.offsets[one.tensor] = placed.offsets[k];
      }
    }
  }

  const Program& program_;
  Arrangement made_;
  Slots slots_;
  std::unordered_map<uint32_t, size_t> index_;  // of occupants, by tensor
  size_t first_ = 0, last_ = 0;  // of the chain at hand: all its buffers live at once
};

}  // namespace

int64_t bytes_of(const LoweredGraph& graph, TensorId id) {
  return checked_mul(elements_with_gaps(graph, id), item_bytes(graph.info(id)));
}

Arrangement arrange(const Program& program, const Scan* scan) { return Arranger(program, scan)(); }

}  // namespace adjit::engine
