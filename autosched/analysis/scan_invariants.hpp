// autosched/analysis/scan_invariants.hpp -- what every step of a scan would compute anew with the
// same result.
//
// Worked example: a step multiplies its state by W, and the register tile wants W in panels. The
// copy of W into panels is a kernel of the step's program; it reads nothing that a step changes, so
// it runs once, before the first step.
#pragma once

#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Per kernel of the program of a scan's steps: whether it reads only what the steps are given
/// fixed, constants, and results of other such kernels, and nothing writes its results over: it
/// runs once, before the steps. Results of the steps are made in every step.
std::vector<bool> invariant_kernels(const Program& steps, const Scan& scan);

/// How often a graph runs with the same contents of its last inputs: the body of a scan does with
/// its fixed operands. A graph by itself runs once.
struct Repeats {
  int64_t times = 1;
  size_t first_same = SIZE_MAX;  // inputs from this one on
};
Repeats repeats_of(const Scan& scan);

}  // namespace adjit::sched
