// jit/engine/report/cost_report.hpp -- the predicted cost of a program as JSON, with what it was
// made of.
#pragma once

#include <string>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/machine/target.hpp"

namespace adjit::engine {

/// JSON object: microseconds, inputs and terms (names), machine (call, pool, task: microseconds
/// before corrections; memory_share: of the machine's bandwidth, what one core can draw;
/// vector_bits) and kernels, in the order of ProgramCost: calls, parallel, tasks, cores,
/// microseconds, and nests with stage (its name), terms, analytic (both microseconds by term),
/// inputs and microseconds.
std::string cost_json(const ProgramCost& cost, const CpuMachine& machine);
/// JSON object: microseconds, terms (names), machine (multiprocessors, launch: microseconds) and
/// kernels, in the order of GpuProgramCost: stage (the name of its root), calls, threads, terms
/// (microseconds) and microseconds.
std::string cost_json(const GpuProgramCost& cost, const GpuMachine& machine);

/// Of what is predicted for the target.
std::string cost_json(const Program& program, const Target& target);

}  // namespace adjit::engine
