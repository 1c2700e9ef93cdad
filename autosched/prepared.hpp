// autosched/prepared.hpp -- a program between the passes over its stages and those over its loops.
#pragma once

#include "autosched/program.hpp"
#include "autosched/row_blocks.hpp"
#include "autosched/stage_plans.hpp"

namespace adjit::sched {

/// A program before its loops are scheduled: its stages are inlined, fused, split and packed.
struct Prepared {
  Program program;
  ReductionPlans plans;
  TaskAxes task_axes = {};  // of chains in blocks of rows
  TaskLoops tasks = {};     // the loops over them, once these are there
};
}  // namespace adjit::sched
