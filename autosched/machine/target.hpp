// autosched/machine/target.hpp -- what a schedule aims at: a processor or a GPU.
//
// Programs, moves and what lowers graphs carry a target and do not know which it is. What decides
// for one machine takes that machine; the search (autosched/search) finds out which it is.
#pragma once

#include <variant>

#include "autosched/machine/cpu_machine.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

using Target = std::variant<CpuMachine, GpuMachine>;

/// The one that this is; ErrorCode::Internal where it is the other.
inline const CpuMachine& cpu_of(const Target& target) {
  const auto* machine = std::get_if<CpuMachine>(&target);
  invariant(machine, "a schedule for a processor is asked of another target");
  return *machine;
}
inline const GpuMachine& gpu_of(const Target& target) {
  const auto* machine = std::get_if<GpuMachine>(&target);
  invariant(machine, "a schedule for a GPU is asked of another target");
  return *machine;
}

/// Bits of the widest vector that one thread computes, or loads at once.
inline int vector_bits_of(const Target& target) {
  const auto* machine = std::get_if<CpuMachine>(&target);
  return machine ? machine->vector_bits : kAccessBits;
}

/// How many tasks may run at once, each with workspace of its own.
inline int workers_of(const Target& target) {
  if (const auto* machine = std::get_if<CpuMachine>(&target)) return machine->cores;
  const GpuMachine& machine = gpu_of(target);
  return machine.multiprocessors * machine.threads;
}

/// Bytes that divide the addresses of a program's own tensors: a processor's lines, what a GPU's
/// driver aligns memory to.
inline int64_t alignment_of(const Target& target) {
  return std::holds_alternative<CpuMachine>(target) ? kLineBytes : kAllocationBytes;
}

/// Whether what the ranges of indices decide is folded where stages are inlined: threads of a GPU
/// compute indices, and choices by them, each for itself, lanes of a processor once for all.
inline bool folds_ranges(const Target& target) {
  return std::holds_alternative<GpuMachine>(target);
}

/// Whether code is made for what divides the addresses of arrays: a processor reads vectors
/// anywhere.
inline bool knows_alignment(const Target& target) {
  return std::holds_alternative<GpuMachine>(target);
}

/// Whether a worker takes its task through several kernels before the next one (task_chains.hpp);
/// else every kernel waits for all tasks of those before it. A GPU's kernels are launched one by
/// one.
inline bool runs_chains(const Target& target) { return std::holds_alternative<CpuMachine>(target); }

}  // namespace adjit::sched
