// autosched/gpu/values_in_memory.hpp -- which values kernels should compute again, since storing
// and reading them takes longer.
#pragma once

#include <cstddef>
#include <vector>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Stages without a reduction whose results would be stored by one kernel and read by others, all
/// of them once, though their operands are as near and the operations few: ascending. `program`:
/// with what is fused attached, before loops are scheduled.
std::vector<size_t> values_worth_recomputing(const Program& program, const GpuMachine& machine);
/// The same of values that those who read them need several times, as a window does, by what the
/// model of costs predicts for the kernels that read them. Readers that are products keep theirs.
std::vector<size_t> values_faster_recomputed(const Program& program, const GpuMachine& machine);
/// Whether these may find any: a question that needs no fused program, in linear time.
bool has_large_values(const Program& program, const GpuMachine& machine);

/// Stages of several results, as the parts that a value gives its neighbours, whose operands are
/// fewer: memory is to have these instead, and each reader computes what it reads.
/// Ascending. `program`: before anything is inlined or fused.
std::vector<size_t> values_of_fewer_operands(const Program& program, const GpuMachine& machine);

}  // namespace adjit::sched
