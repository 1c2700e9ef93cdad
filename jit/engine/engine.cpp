// jit/engine/engine.cpp -- derive, clean up, schedule, emit, compile, load; and the caches around
// it.
#include "jit/engine/engine.hpp"

#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "autosched/cpu/print_passes.hpp"
#include "autosched/lower/final_graph.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/explain.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/machine.hpp"
#include "jit/cpu/object.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/plan/memory_budget.hpp"
#include "jit/engine/plan/verify_plan.hpp"
#include "jit/engine/report/dump.hpp"
#include "jit/engine/stopwatch.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::engine {

extern const char kCodeRevision[];  // the build writes it: cmake/code_revision.cmake

namespace {

constexpr const char* kVersion = ADJIT_VERSION;
// Executables kept at hand, and how many loaded objects they may have together: an object takes two
// of a process's mappings, of which Linux allows 65,530 (vm.max_map_count): three engines have
// room.
constexpr size_t kMaxExecutables = 4096, kMaxObjects = 8192;
static_assert(3 * 2 * kMaxObjects < 65'530);
size_t share_of_objects(const Executable& executable) {
  return std::max(executable.object_count(), kMaxObjects / kMaxExecutables);
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

std::string layouts_text(const Request& request) {
  std::string text;
  for (size_t k = 0; k < request.layouts.size(); ++k) {
    if (request.layouts[k] == contiguous_layout(request.computation->inputs()[k].shape)) continue;
    text += std::to_string(k) + ":";
    for (int64_t stride : request.layouts[k].strides) text += std::to_string(stride) + ",";
    text += ";";
  }
  return text;
}

cache::Provenance provenance_of(const Request& request, const CompileReport& report,
                                const Graph& graph) {
  cache::Provenance p;
  p.trace_ms = request.trace_ms;
  p.derive_ms = report.derive_ms;
  p.schedule_ms = report.schedule_ms;
  p.compile_ms = report.compile_ms;
  p.created_unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  p.adjit_version = kVersion;
  p.title = request.title.empty() ? request.computation->name() : request.title;
  constexpr size_t kMostLines = 32;
  for (const Stage& stage : graph.stages)
    for (const SourceLine& line : stage.lines) {
      const std::string text = to_string(line);
      if (p.source_lines.size() >= kMostLines) return p;
      if (text.empty()) continue;
      if (std::ranges::find(p.source_lines, text) == p.source_lines.end())
        p.source_lines.push_back(text);
    }
  return p;
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      threads_(threads_from(options_)),
      machines_(cpu_target(options_.target_features)),
      store_(options_.store),
      pool_(std::make_shared<ThreadPool>(threads_)),
      executables_(kMaxObjects, share_of_objects) {}

Engine::~Engine() = default;

const char* Engine::llvm_version() { return LLVM_VERSION_STRING; }

cache::Key Engine::key(const Request& request) const {
  const CpuTarget& target = machines_.target();
  cache::Key key;
  key.add("adjit", std::string(kVersion) + "/" + kCodeRevision)
      .add("graph", request.computation->base_hash())
      .add("transformations", request.computation->transformations())
      .add("strides", layouts_text(request))
      .add("schedule", request.schedule_json.empty() ? "default" : "given " + request.schedule_json)
      .add("cores", std::to_string(ThreadPool::available_threads()))
      .add("triple", target.triple)
      .add("cpu", target.cpu)
      .add("features", target.features)
      .add("llvm", llvm_version());
  if (options_.check_nan) key.add("checks", "nan");
  if (request.memory_budget > 0) key.add("memory budget", std::to_string(request.memory_budget));
  return key;
}

Compiled Engine::compile(const Request& request) {
  const cache::Key key = this->key(request);
  bool from_memory = true;
  std::shared_ptr<Executable> executable =
      executables_.get_or_create(signature_of(key), [&]() -> std::shared_ptr<Executable> {
        from_memory = false;
        std::string miss_reason;
        if (std::shared_ptr<Executable> loaded = load(key, &miss_reason)) return loaded;
        return build(request, key, std::move(miss_reason));
      });
  return {std::move(executable), from_memory};
}

std::shared_ptr<Executable> Engine::load(const cache::Key& key, std::string* miss_reason) {
  const Stopwatch watch;
  const cache::Lookup lookup = store_.load(key);
  if (!lookup.entry) {
    *miss_reason = lookup.miss_reason;
    return nullptr;
  }
  try {
    const std::string* plan_text = lookup.entry->section("plan");
    const std::string* constants = lookup.entry->section("constants");
    const std::string* objects = lookup.entry->section("objects");
    if (!plan_text || !constants || !objects)
      throw Error(ErrorCode::Cache, "the entry lacks a section");
    ExecutionPlan plan = plan_from_json(*plan_text, *constants);
    std::vector<std::shared_ptr<LoadedCode>> code =
        load_objects(loader_, split_objects(*objects), plan);
    CompileReport report;
    report.cache = "disk";
    report.derive_ms = lookup.entry->provenance.derive_ms;
    report.schedule_ms = lookup.entry->provenance.schedule_ms;
    report.compile_ms = lookup.entry->provenance.compile_ms;
    report.id = to_hex(signature_of(key));
    const std::string* kept = lookup.entry->section("kept schedule");
    report.kept_schedule = kept ? *kept : "";
    report.load_ms = watch.milliseconds();
    return std::make_shared<Executable>(std::move(plan), std::move(code), pool_, std::move(report),
                                        options_.float_mode);
  } catch (const Error& e) {
    *miss_reason = std::string("the entry cannot be used: ") + e.what();
    store_.discard(key, *miss_reason);
    return nullptr;
  }
}

std::shared_ptr<Executable> Engine::build(const Request& request, const cache::Key& key,
                                          std::string miss_reason) {
  CompileReport report;
  report.miss_reason = std::move(miss_reason);
  report.id = to_hex(signature_of(key));
  const Stopwatch deriving;
  CheckedGraph checked = checked_graph(request);
  report.derive_ms = deriving.milliseconds();
  const Stopwatch scheduling;
  Program program = schedule_of(checked.graph, request);
  report.schedule_ms = scheduling.milliseconds();
  if (request.schedule_json.empty() && program.moves_json == kept_schedule(request))
    report.kept_schedule = program.moves_json;
  const Stopwatch compiling;
  CompiledKernels compiled = compile_kernels_of(program, checked.graph, request);
  report.fallbacks = fallbacks_of(program);
  report.compile_ms = compiling.milliseconds();
  const Stopwatch loading;
  ExecutionPlan plan =
      make_plan(program, compiled.kernels, request.layouts, std::move(checked.checks));
  if (options_.verify_plans) verify_plan(plan, program, compiled.kernels);
  std::vector<std::shared_ptr<LoadedCode>> code = load_objects(loader_, compiled.objects, plan);
  report.load_ms = loading.milliseconds();

  if (store_.writable()) {
    cache::Entry entry;
    const Graph& graph = checked.graph;
    entry.key = key;
    entry.provenance = provenance_of(request, report, graph);
    // To be read: constants of any size are stored once, where the plan has them.
    entry.add("graph", print(request.computation->base(), LongConstants::Elided))
        .add("text", print(graph, LongConstants::Elided))
        .add("schedule", program.moves_json)
        .add("plan", to_json(plan))
        .add("constants", plan.constants)
        .add("objects", join_objects(compiled.objects));
    if (!report.kept_schedule.empty()) entry.add("kept schedule", report.kept_schedule);
    store_.save(std::move(entry));
  }
  report_build(request, report, checked.graph, program);
  return std::make_shared<Executable>(std::move(plan), std::move(code), pool_, std::move(report),
                                      options_.float_mode);
}

// What the emitter refuses of a schedule of our own becomes plain loops.
CompiledKernels Engine::compile_kernels_of(Program& program, const Graph& graph,
                                           const Request& request, const KernelNames& names) const {
  try {
    return compile_kernels(KernelList(program, request.layouts), machines_, names);
  } catch (const Error& error) {
    const bool given = !request.schedule_json.empty() && request.schedule_json != kOwnSchedule;
    if (given || error.code() != ErrorCode::Schedule) throw;
    program = plain_schedule(graph, schedule_target(), error.what());
  }
  return compile_kernels(KernelList(program, request.layouts), machines_, names);
}

// One line in the log, and files where ADJIT_DUMP asks for them.
void Engine::report_build(const Request& request, const CompileReport& report, const Graph& graph,
                          const Program& program) const {
  const std::string& title = request.title.empty() ? request.computation->name() : request.title;
  const auto ms = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return std::string(text);
  };
  cache::say(options_.log, cache::Level::Info,
             "compiled '" + title + "' (" + report.id.substr(0, 12) + "): derived in " +
                 ms(report.derive_ms) + " ms, scheduled in " + ms(report.schedule_ms) +
                 " ms, compiled in " + ms(report.compile_ms) + " ms; not cached because " +
                 report.miss_reason);
  for (const std::string& fallback : report.fallbacks)
    cache::say(options_.log, cache::Level::Warning,
               "the schedule of '" + title + "' goes without what was refused: " + fallback);
  const std::string directory = dump_directory();
  if (directory.empty()) return;
  DumpFiles files = {{"1-traced.txt", print(request.computation->base())},
                     {"2-transformations.txt", request.computation->transformations() + "\n"},
                     {"3-derived.txt", print(graph)},
                     {"4-schedule.txt", print(program)},
                     {"4-schedule.json", program.moves_json},
                     {"5-llvm.ll", llvm(request)},
                     {"6-assembly.s", assembly(request)}};
  const bool given = !request.schedule_json.empty() && request.schedule_json != kOwnSchedule;
  if (!given && report.kept_schedule.empty() && request.memory_budget <= 0) {
    const std::optional<Candidate> chosen = choice(graph, schedule_target());
    files.emplace_back("4-passes.txt", print_passes(graph, schedule_target(),
                                                    chosen ? chosen->answers : Answers{}));
  }
  dump(directory, title, report.id, files, options_.log);
}

Graph Engine::final_graph(const Request& request) const {
  const Graph& graph = request.computation->graph();
  // Derivatives come simplified, but for what calls in them, or inside scans, stand for.
  const bool simple = request.computation->is_derivative() &&
                      std::ranges::none_of(graph.stages, [](const Stage& stage) {
                        return stage.kind == StageKind::Call || stage.kind == StageKind::Scan;
                      });
  return sched::final_graph(graph, simple);
}

CheckedGraph Engine::checked_graph(const Request& request) const {
  return with_data_checks(final_graph(request), options_.check_nan);
}

Target Engine::schedule_target() const {
  return machine_of(machines_.target(), ThreadPool::available_threads());
}

Program Engine::schedule_of(const Graph& graph, const Request& request) const {
  const Target target = schedule_target();
  const int64_t budget = request.memory_budget;
  const auto fits = [&](const Program& program) {
    return budget <= 0 || workspace_of(program) <= budget;
  };
  if (request.schedule_json.empty()) {
    if (std::optional<Program> kept = kept_program(graph, request); kept && fits(*kept))
      return *std::move(kept);
  } else if (request.schedule_json != kOwnSchedule) {
    Program given = replay(graph, request.schedule_json, target);
    if (!fits(given)) refuse_workspace(given, budget);
    return given;
  }
  return budget > 0 ? schedule_within(graph, target, budget) : chosen_schedule(graph, target);
}

// nullopt: nothing was kept, or another version of the moves.
std::optional<Program> Engine::kept_program(const Graph& graph, const Request& request) const {
  const std::string kept = kept_schedule(request);
  if (kept.empty()) return std::nullopt;
  const Target target = schedule_target();
  try {
    return replay(graph, kept, target);
  } catch (const Error& e) {
    cache::say(options_.log, cache::Level::Warning,
               std::string("a kept schedule is not used: ") + e.what());
    return std::nullopt;
  }
}

Program Engine::schedule(const Request& request) const {
  return schedule_of(checked_graph(request).graph, request);
}

std::string Engine::explain(const Request& request) const {
  const Program program = schedule(request);
  const Target target = schedule_target();
  std::string text = print(predict(program, target), target);
  if (!request.schedule_json.empty() && request.schedule_json != kOwnSchedule) return text;
  if (request.memory_budget > 0) return text;  // alternatives need other memory
  constexpr size_t kPrinted = 8;
  const Graph graph = checked_graph(request).graph;
  const std::vector<Candidate> found = search(graph, target, {});
  if (!request.schedule_json.empty() || kept_schedule(request).empty())
    if (const std::optional<Candidate> chosen = choice(graph, target))
      text += print_choice(*chosen, found.front());
  return text + print_rejected(found, kPrinted);
}

std::vector<Engine::Proposal> Engine::proposals(const Request& request, size_t count,
                                                uint64_t seed) const {
  const Graph graph = checked_graph(request).graph;
  const Target target = schedule_target();
  std::vector<Candidate> candidates = search(graph, target, {2 * count, 3, 3});
  if (candidates.size() > (count + 1) / 2) candidates.resize((count + 1) / 2);
  if (std::optional<Candidate> own = choice(graph, target)) {
    candidates.front().changes = "the default schedule";
    own->changes.clear();
    candidates.insert(candidates.begin(), *std::move(own));
  }
  for (Candidate& one : random_candidates(graph, target, count, seed))
    if (!one.answers.empty()) candidates.push_back(std::move(one));
  std::vector<Proposal> found;
  std::set<std::string> seen;
  const int64_t budget = request.memory_budget;
  if (budget > 0) {
    const Program within = schedule_within(graph, target, budget);
    seen.insert(within.moves_json);
    found.push_back({within.moves_json, "", predict(within, target).microseconds});
  }
  for (const Candidate& candidate : candidates) {
    const Program program = program_of(graph, target, candidate);
    if (found.size() >= count || (budget > 0 && workspace_of(program) > budget)) continue;
    if (seen.insert(program.moves_json).second)
      found.push_back({program.moves_json, candidate.changes, candidate.microseconds});
  }
  return found;
}

// Of the computation, the layouts and the processor: not of the code that would be generated.
cache::Key Engine::kept_schedule_key(const Request& request) const {
  const CpuTarget& target = machines_.target();
  cache::Key key;
  key.add("kept schedule", "1")
      .add("graph", request.computation->base_hash())
      .add("transformations", request.computation->transformations())
      .add("strides", layouts_text(request))
      .add("cores", std::to_string(ThreadPool::available_threads()))
      .add("cpu", target.cpu)
      .add("features", target.features);
  return key;
}

std::string Engine::kept_schedule(const Request& request) const {
  const cache::Key key = kept_schedule_key(request);
  const std::string id = to_hex(signature_of(key));
  {
    const BriefLock lock(kept_mutex_);
    if (const auto found = kept_.find(id); found != kept_.end()) return found->second;
  }
  const cache::Lookup lookup = store_.load(key);
  const std::string* schedule = lookup.entry ? lookup.entry->section("schedule") : nullptr;
  return schedule ? *schedule : "";
}

void Engine::keep_schedule(const Request& request, const std::string& schedule_json) {
  Request by_default = request;
  by_default.schedule_json.clear();
  const CheckedGraph checked = checked_graph(request);
  const Target target = schedule_target();
  std::string moves;  // as a program writes them down
  if (!schedule_json.empty()) moves = replay(checked.graph, schedule_json, target).moves_json;
  const cache::Key key = kept_schedule_key(by_default);
  {
    const BriefLock lock(kept_mutex_);
    kept_[to_hex(signature_of(key))] = moves;
  }
  const char* const reason = "its schedule was tuned";
  if (moves.empty()) {
    store_.discard(key, reason);
  } else if (store_.writable()) {
    cache::Entry entry;
    entry.key = key;
    entry.provenance = provenance_of(by_default, {}, checked.graph);
    entry.add("schedule", moves);
    store_.save(std::move(entry));
  }
  // What was compiled with the schedule of before.
  store_.discard(this->key(by_default), reason);
  executables_.erase(signature_of(this->key(by_default)));
}

std::string Engine::llvm(const Request& request) const {
  const Program program = schedule(request);
  std::string text;
  for_each_different(
      KernelList(program, request.layouts), machines_,
      [&](const EmittedKernel& kernel, CodegenLevel) { text += ir_text(*kernel.module); });
  return text;
}

std::string Engine::assembly(const Request& request) const {
  const Program program = schedule(request);
  std::string text;
  for_each_different(KernelList(program, request.layouts), machines_,
                     [&](const EmittedKernel& kernel, CodegenLevel level) {
                       text += assembly_of(*kernel.module, machines_, level);
                     });
  return text;
}

ExportedFunction Engine::exported(const Request& request, const std::string& name) const {
  CheckedGraph checked = checked_graph(request);
  Program program = schedule_of(checked.graph, request);
  CompiledKernels compiled =
      compile_kernels_of(program, checked.graph, request,
                         [&](size_t kernel) { return exported_symbol(name, kernel); });
  ExportedFunction function;
  function.float_mode = options_.float_mode;
  function.name = name;
  for (const Computation::Tensor& input : request.computation->inputs())
    function.inputs.push_back(input.name);
  for (const Computation::Tensor& output : request.computation->outputs())
    function.outputs.push_back(output.name);
  function.plan = make_plan(program, compiled.kernels, request.layouts, std::move(checked.checks));
  if (options_.verify_plans) verify_plan(function.plan, program, compiled.kernels);
  function.objects = std::move(compiled.objects);
  return function;
}

}  // namespace adjit::engine
