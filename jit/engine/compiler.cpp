// jit/engine/compiler.cpp -- derive, clean up, schedule, emit, compile, plan.
#include "jit/engine/compiler.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "autosched/cpu/schedule.hpp"
#include "autosched/lower/final_graph.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/machine.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/keys.hpp"
#include "jit/engine/plan/memory_budget.hpp"
#include "jit/engine/plan/verify_plan.hpp"

namespace adjit::engine {
namespace {

// nullopt: nothing was kept, or another version of the moves.
std::optional<Program> kept_program(const Compiler& compiler, const Request& request,
                                    const Graph& graph, const Target& target) {
  const std::string kept = kept_schedule(compiler, request);
  if (kept.empty()) return std::nullopt;
  try {
    return replay(graph, kept, target);
  } catch (const Error& e) {
    cache::say(compiler.options.log, cache::Level::Warning,
               std::string("a kept schedule is not used: ") + e.what());
    return std::nullopt;
  }
}

// Plain loops in place of a program that the emitter refuses. In the handler of that error, which
// is thrown on where it is no refusal, or the schedule not ours to change.
Program plain_instead(const Compiler& compiler, const Request& request, const Graph& graph,
                      const Error& error) {
  if (is_scheduled(request) || error.code() != ErrorCode::Schedule) throw;
  Program plain = plain_schedule(graph, schedule_target(compiler), error.what());
  if (const int64_t budget = request.memory_budget; budget > 0 && workspace_of(plain) > budget)
    refuse_workspace(plain, budget);
  return plain;
}

}  // namespace

Compiler::Compiler(EngineOptions what, cache::Store& store)
    : options(std::move(what)), machines(cpu_target(options.target_features)), kept(store) {}

Target schedule_target(const Compiler& compiler) {
  return machine_of(compiler.machines.target(), ThreadPool::available_threads());
}

Graph final_graph(const Request& request) {
  const Graph& graph = request.computation->graph();
  // Derivatives come simplified, but for what calls in them, or inside scans, stand for.
  const bool simple = request.computation->is_derivative() &&
                      std::ranges::none_of(graph.stages, [](const Stage& stage) {
                        return stage.kind == StageKind::Call || stage.kind == StageKind::Scan;
                      });
  return sched::final_graph(graph, simple);
}

CheckedGraph checked_graph(const Compiler& compiler, const Request& request) {
  return with_data_checks(final_graph(request), compiler.options.check_nan);
}

std::string kept_schedule(const Compiler& compiler, const Request& request) {
  return compiler.kept.find(kept_schedule_key(request, compiler.machines.target()));
}

Program schedule_of(const Compiler& compiler, const Request& request, const Graph& graph) {
  const Target target = schedule_target(compiler);
  const int64_t budget = request.memory_budget;
  const auto fits = [&](const Program& program) {
    return budget <= 0 || workspace_of(program) <= budget;
  };
  if (is_scheduled(request)) {
    Program given = replay(graph, request.schedule_json, target);
    if (!fits(given)) refuse_workspace(given, budget);
    return given;
  }
  if (request.schedule_json.empty())
    if (std::optional<Program> kept = kept_program(compiler, request, graph, target);
        kept && fits(*kept))
      return *std::move(kept);
  return budget > 0 ? schedule_within(graph, target, budget) : chosen_schedule(graph, target);
}

Program schedule_of(const Compiler& compiler, const Request& request) {
  return schedule_of(compiler, request, checked_graph(compiler, request).graph);
}

bool replace_refused(const Compiler& compiler, const Request& request, const Graph& graph,
                     Program& program) {
  if (is_scheduled(request)) return false;
  try {
    check_emission(KernelList(program, request.layouts), compiler.machines);
    return false;
  } catch (const Error& error) {
    program = plain_instead(compiler, request, graph, error);
    return true;
  }
}

Program compiled_program(const Compiler& compiler, const Request& request) {
  const Graph graph = checked_graph(compiler, request).graph;
  Program program = schedule_of(compiler, request, graph);
  replace_refused(compiler, request, graph, program);
  return program;
}

CompiledKernels compile_program(const Compiler& compiler, const Request& request,
                                const Graph& graph, Program& program, const KernelNames& names) {
  try {
    return compile_kernels(KernelList(program, request.layouts), compiler.machines, names);
  } catch (const Error& error) {
    program = plain_instead(compiler, request, graph, error);
  }
  return compile_kernels(KernelList(program, request.layouts), compiler.machines, names);
}

ExecutionPlan plan_of(const Compiler& compiler, const Request& request, const Program& program,
                      const CompiledKernels& compiled, std::vector<DataCheck> checks) {
  ExecutionPlan plan = make_plan(program, compiled.kernels, request.layouts, std::move(checks));
  if (compiler.options.verify_plans) verify_plan(plan, program, compiled.kernels);
  return plan;
}

ExportedFunction exported(const Compiler& compiler, const Request& request,
                          const std::string& name) {
  CheckedGraph checked = checked_graph(compiler, request);
  Program program = schedule_of(compiler, request, checked.graph);
  CompiledKernels compiled =
      compile_program(compiler, request, checked.graph, program,
                      [&](size_t kernel) { return exported_symbol(name, kernel); });
  ExportedFunction function;
  function.float_mode = compiler.options.float_mode;
  function.name = name;
  for (const Computation::Tensor& input : request.computation->inputs())
    function.inputs.push_back(input.name);
  for (const Computation::Tensor& output : request.computation->outputs())
    function.outputs.push_back(output.name);
  function.plan = plan_of(compiler, request, program, compiled, std::move(checked.checks));
  function.objects = std::move(compiled.objects);
  return function;
}

}  // namespace adjit::engine
