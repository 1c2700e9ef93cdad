// jit/engine/compiler.cpp -- derive, clean up, schedule, emit, compile, plan.
#include "jit/engine/compiler.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "autosched/lower/final_graph.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/fallbacks.hpp"
#include "autosched/search/search.hpp"
#include "jit/engine/alignment.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
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
  Program plain = plain_schedule(graph, schedule_target(compiler, request), error.what());
  if (const int64_t budget = request.memory_budget; budget > 0 && workspace_of(plain) > budget)
    refuse_workspace(plain, budget);
  return plain;
}

// Of a GPU's code, the quickest to load first.
std::vector<std::string> images_of(std::vector<cache::Section> sections) {
  std::vector<std::string> images;
  for (const std::string_view name : {"bitcode", "cubin", "ptx"})
    for (cache::Section& section : sections)
      if (section.name == name) images.push_back(std::move(section.bytes));
  return images;
}

// compile(list) of the program's kernels, or of plain loops where these are refused.
template <typename Compile>
auto compiled_or_plain(const Compiler& compiler, const Request& request, const Graph& graph,
                       Program& program, Compile&& compile) {
  try {
    return compile(kernels_of(program, request));
  } catch (const Error& error) {
    program = plain_instead(compiler, request, graph, error);
  }
  return compile(kernels_of(program, request));
}

int threads_from(const EngineOptions& options) {
  if (options.threads > 0) return options.threads;
  const char* variable = std::getenv("ADJIT_NUM_THREADS");
  const std::string_view text = variable == nullptr ? "" : variable;
  if (!text.empty()) {
    int wanted = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
    if (error != std::errc() || end != text.data() + text.size() || wanted < 1 || wanted > 4096)
      throw Error(ErrorCode::Invalid, "ADJIT_NUM_THREADS is '" + std::string(text) +
                                          "'; it must be a number of threads from 1 to 4096");
    return wanted;
  }
  return ThreadPool::available_threads();
}

}  // namespace

Compiler::Compiler(EngineOptions what, cache::Store& store)
    : options(std::move(what)),
      backends(std::make_unique<Backends>(cpu_target(options.target_features),
                                          threads_from(options), options.float_mode)),
      kept(store) {}

Backend& backend_of(const Compiler& compiler, const Request& request) {
  return compiler.backends->named(request.target);
}

Target schedule_target(const Compiler& compiler, const Request& request) {
  return backend_of(compiler, request).schedule_target();
}

KernelList kernels_of(const Program& program, const Request& request) {
  const ArgumentLayouts layouts = argument_layouts(request);
  return {program, layouts.inputs, layouts.outputs};
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
  return compiler.kept.find(
      kept_schedule_key(request, backend_of(compiler, request).schedule_components()));
}

Program schedule_of(const Compiler& compiler, const Request& request, const Graph& graph) {
  const Target target = schedule_target(compiler, request);
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
    backend_of(compiler, request).check_emission(kernels_of(program, request));
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

MachineCode compile_program(const Compiler& compiler, const Request& request, const Graph& graph,
                            Program& program) {
  return compiled_or_plain(compiler, request, graph, program, [&](const KernelList& list) {
    return backend_of(compiler, request).compile(list);
  });
}

ExecutionPlan plan_of(const Compiler& compiler, const Request& request, const Program& program,
                      std::span<const EmittedKernel> kernels, std::vector<DataCheck> checks) {
  const ArgumentLayouts layouts = argument_layouts(request);
  ExecutionPlan plan =
      make_plan(program, kernels, layouts.inputs, std::move(checks), layouts.outputs);
  if (compiler.options.verify_plans) verify_plan(plan, program, kernels);
  return plan;
}

ExportedFunction exported(const Compiler& compiler, const Request& request,
                          const std::string& name) {
  CheckedGraph checked = checked_graph(compiler, request);
  Program program = schedule_of(compiler, request, checked.graph);
  ExportedFunction function;
  std::vector<EmittedKernel> kernels;
  if (is_for_cpu(request)) {
    CompiledKernels compiled =
        compiled_or_plain(compiler, request, checked.graph, program, [&](const KernelList& list) {
          return compile_kernels(list, compiler.backends->cpu().machines(),
                                 [&](size_t kernel) { return exported_symbol(name, kernel); });
        });
    kernels = std::move(compiled.kernels);
    function.objects = std::move(compiled.objects);
  } else {
    MachineCode code = compile_program(compiler, request, checked.graph, program);
    kernels = std::move(code.kernels);
    function.images = images_of(std::move(code.sections));
  }
  function.float_mode = compiler.options.float_mode;
  function.name = name;
  for (const Computation::Tensor& input : request.computation->inputs())
    function.inputs.push_back(input.name);
  for (const Computation::Tensor& output : request.computation->outputs())
    function.outputs.push_back(output.name);
  function.plan = plan_of(compiler, request, program, kernels, std::move(checked.checks));
  return function;
}

}  // namespace adjit::engine
