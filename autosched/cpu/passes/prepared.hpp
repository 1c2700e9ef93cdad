// autosched/cpu/passes/prepared.hpp -- a program between the passes over its stages and those over
// its loops.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/cpu/passes/tile_fusion/apply.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A program before its loops are scheduled: its stages are inlined, fused, split and packed.
struct Prepared {
  Program program;
  ReductionPlans plans;
  TaskAxes task_axes = {};  // of chains in blocks of rows
  TaskLoops tasks = {};     // the loops over them, once these are there
};
}  // namespace adjit::sched
