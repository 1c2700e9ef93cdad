// autosched/cpu/passes/tile_fusion/apply.hpp -- large tensors between contractions that exist in
// blocks of rows only.
//
// The weights of attention are a matrix for every head, which products write and read: of 2,048
// tokens 16 MB, too much for a core's cache even of one head. Rows of it are independent but for
// the sums over them (gradients of keys and values). So
//
//   S[h, i, j] = sum over d of q[h, i, d] k[h, j, d];   ... row by row ...
//   u[h, i, d] = sum over j of S[h, i, j] v[h, j, d];   w[h, j, d] = sum over i of S[h, i, j] x[h,
//   i, d]
//
// becomes a chain of kernels (task_chains.hpp) whose tasks are the heads and, in turn, the blocks b
// of rows i = b * rows + r:
//
//   S[h, b, r, j] = ...   a thread has room for one block of it
//   u[h, b, r, d] = ...   the same rows
//   w[h, j, d] += sum over r of S[h, b, r, j] x[h, b * rows + r, d]   goes on from block to block
//
// Where heads are few, the blocks are shared out in parts, which have a w each and a sum over them.
// Parts and blocks follow from the shapes and the caches, not from the number of cores, so results
// do not either. Which stages form a chain row_dependence.hpp says, and what one level of them
// passes to another spill_or_recompute.hpp.
//
// The blocks of rows are those of FlashAttention's backward (Dao et al., 2022; it has blocks of
// columns, too, and computes the products again for the sums over them).
#pragma once

#include <vector>

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Takes rows apart so, where what the tensors between contractions take of the memory's time is
/// a clear part of that of the contractions. All nests must have plain loops.
Program block_rows(const Program& program, const CpuMachine& machine, const ReductionPlans& plans,
                   TaskAxes& task_axes, Choices& choices);

/// Puts the kernels of each chain next to each other, with copies that were made meanwhile of what
/// passes in it, and the loops of tasks outermost: how many these are, by the first result of each
/// kernel's stage. All nests must have plain loops.
Program gather_blocks(Program program, const TaskAxes& task_axes, TaskLoops& tasks);

}  // namespace adjit::sched
