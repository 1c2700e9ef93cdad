// autosched/gpu/fuse_rows.hpp -- stages whose rows a block computes where it reads them.
//
// A softmax has four stages, each of which goes over rows that no other row needs: as kernels of
// their own they write and read all between them. A block that takes a row keeps it in the memory
// that its threads share.
#pragma once

#include <utility>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether a stage may be one of a block's that computes rows: scatters, scans, contractions,
/// joins, what runs on, and what has a product_tile stay kernels of their own.
bool may_be_computed_by_rows(const Program& program, const Stage& stage, const GpuMachine& machine);

/// A row is what one iteration of the loops around needs: it may be a column of the memory.
/// Attaches stages to their readers, all those of a kernel at one depth, where each iteration of
/// the loops around needs a part of them that no other one does: reductions, and what reads them.
/// What is only read there is kept in shared memory, so far as that has room. Short rows are
/// computed several at once. Contractions and scatters stay kernels of their own.
Program fuse_rows(Program program, const GpuMachine& machine, Choices& choices);
/// With the decisions' own answers.
inline Program fuse_rows(Program program, const GpuMachine& machine) {
  Choices own;
  return fuse_rows(std::move(program), machine, own);
}

}  // namespace adjit::sched
