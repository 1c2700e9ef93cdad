// jit/engine/compiler.hpp -- the steps from a request to objects and a plan: each a function from
// one value to the next. They read kept schedules, but no compiled code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"
#include "jit/engine/backends.hpp"
#include "jit/engine/export/export.hpp"
#include "jit/engine/kept_schedules.hpp"
#include "jit/engine/options.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/request.hpp"
#include "runtime/diff/checks/data_checks.hpp"

namespace adjit::engine {

/// What the steps use besides the request. The store, for kept schedules, must outlive it. Any
/// thread may call anything with it.
struct Compiler {
  Compiler(EngineOptions options, cache::Store& store);

  EngineOptions options;
  std::unique_ptr<Backends> backends;
  KeptSchedules kept;
};

/// The machine that a request is for. ErrorCode::Device where it is not there.
Backend& backend_of(const Compiler& compiler, const Request& request);
/// What its schedules aim at.
Target schedule_target(const Compiler& compiler, const Request& request);

/// The kernels of a program of the request, with the layouts of its arguments.
KernelList kernels_of(const Program& program, const Request& request);

/// After derivation, clean-up and contraction: what is scheduled, but for the checks of indices.
Graph final_graph(const Request& request);
/// With these checks, and those for NaN where the compiler is to look for it.
CheckedGraph checked_graph(const Compiler& compiler, const Request& request);

/// The moves that were kept for the request; "": none.
std::string kept_schedule(const Compiler& compiler, const Request& request);
/// By the request's own schedule, the kept one, or the one that is chosen. ErrorCode::Schedule when
/// its own is not legal here. `graph`: the request's checked_graph().
Program schedule_of(const Compiler& compiler, const Request& request, const Graph& graph);
Program schedule_of(const Compiler& compiler, const Request& request);

/// A schedule of our own that the emitter refuses becomes plain loops; returns whether it did.
/// Emits the program to find out. ErrorCode::Schedule where plain loops exceed the request's
/// budget.
bool replace_refused(const Compiler& compiler, const Request& request, const Graph& graph,
                     Program& program);
/// What compiling makes of a request: its schedule_of(), replaced where that is refused.
Program compiled_program(const Compiler& compiler, const Request& request);

/// As replace_refused(), and compiles: then, too, `program` may change.
MachineCode compile_program(const Compiler& compiler, const Request& request, const Graph& graph,
                            Program& program);
ExecutionPlan plan_of(const Compiler& compiler, const Request& request, const Program& program,
                      std::span<const EmittedKernel> kernels, std::vector<DataCheck> checks);

/// All steps, for a library that needs no adjit (export.hpp).
ExportedFunction exported(const Compiler& compiler, const Request& request,
                          const std::string& name);

}  // namespace adjit::engine
