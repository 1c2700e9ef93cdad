// autosched/gpu/pack_gathers.hpp -- layouts in which neighbouring threads read what data names from
// one line.
//
// With channels j and places y(p) that data chooses, the threads of a warp, one for each p, read
//   t[j, p] = w(p) * x[j, y(p)]
// from as many lines. With channels innermost, one for each j, they read rows:
//   X[y, j] = x[j, y],   T[p, j] = w(p) * X[y(p), j],   t[j, p] = T[p, j].
// Where data chooses from few places, as the depths of a grid, these are put next to each other.
#pragma once

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Copies operands of stages whose neighbouring results read places that data chooses into layouts
/// with another dimension innermost (pack), and computes results so (transpose_output), where that
/// is predicted to be faster than without, with what reads these results. One copy serves all
/// stages that read it. Nothing where memory is short. Before anything is attached, or has loops.
Program pack_gathers(Program program, const GpuMachine& machine, Choices& choices);

}  // namespace adjit::sched
