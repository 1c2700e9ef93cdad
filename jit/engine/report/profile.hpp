// jit/engine/report/profile.hpp -- the measured time of each kernel beside what it does.
#pragma once

#include <span>
#include <string>

#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/kernel_time.hpp"

namespace adjit::engine {

/// JSON array, one object per kernel of the plan made of `program`, in order: symbol (which
/// kernels of the same code share), stages (the names of what it computes), calls, microseconds (of
/// all calls in one run), tasks, parallel, flops (of all calls; null when counting takes too long),
/// bytes (of every array that it reads or writes outside its own loops, once a call), predicted
/// (microseconds of as many calls by autosched/cpu/cost/cost.hpp; null for a GPU) and roofline (the
/// least that its flops and bytes take on all cores).
std::string profile_json(const Program& program, std::span<const TensorLayout> input_layouts,
                         const ExecutionPlan& plan, std::span<const KernelTime> times,
                         const Target& target);

}  // namespace adjit::engine
