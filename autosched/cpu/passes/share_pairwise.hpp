// autosched/cpu/passes/share_pairwise.hpp -- costly values of pairs, computed once for sums over
// either of them.
//
// A kernel sum u[i] = sum over j of f(x[i], y[j]) b[j] (Gaussian kernels, forces between bodies)
// has gradients that sum over j for every i and over i for every j. All of them need f, or what f
// is made of, for every pair; there are too many pairs to store, so that each sum computes f again.
// Instead:
//
//   F[i, j]        = f(x[i], y[j])                 in tasks of a block of rows i
//   u[i]           = sum over j of F[i, j] * ...   in the same tasks
//   v_parts[p, j]  = sum over the i of block p of F[i, j] * ...   in the same tasks
//   v[j]           = sum over p of v_parts[p, j]
//
// The first three are a chain (task_chains.hpp): a thread has room for one block of F, which stays
// in its second-level cache, and F never exists as a whole. Every pair is evaluated once.
// Invariant: a task reads only the rows of F that it wrote. The parts follow from the shapes and
// the cache, not from the number of cores, so results do not either.
//
// Partial sums are Halide's rfactor (Suriana, Adams, Kamil: Parallel associative reductions in
// Halide, CGO 2017); keeping one block of a matrix of pairs is what the backward of FlashAttention
// does (Dao et al., 2022), which computes it twice.
#pragma once

#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Shapes of stored pairs that leave a second-level cache and that a reduction reads: what might be
/// shared where readers compute them again.
Shapes shapes_of_pairs(const Program& program, const CpuMachine& machine);

/// Rewrites groups of reductions so, where what it saves in evaluations is clearly more than what
/// it takes in loads, stores and partial sums. Tiles and tasks of the group are noted in `plans`.
/// All nests must have plain loops.
Program share_pairs(Program program, const CpuMachine& machine, ReductionPlans& plans,
                    Choices& choices);

}  // namespace adjit::sched
