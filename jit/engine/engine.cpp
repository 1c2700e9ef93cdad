// jit/engine/engine.cpp -- memory, disk, compilation: where the code of a request comes from.
#include "jit/engine/engine.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "autosched/cpu/print_passes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/search.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/inspect.hpp"
#include "jit/engine/keys.hpp"
#include "jit/engine/report/dump.hpp"
#include "jit/engine/stopwatch.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::engine {
namespace {

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
  p.adjit_version = ADJIT_VERSION;
  p.title = title_of(request);
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

void report_no_dump(const cache::Log& log, const std::string& title) {
  cache::say(log, cache::Level::Warning,
             "ADJIT_DUMP: '" + title + "' came from the cache and was not compiled, so no files " +
                 "are written; set ADJIT_CACHE=off to see its steps");
}

// One line in the log, and files where ADJIT_DUMP asks for them. `emitted`: the
// schedule that was wanted is the one compiled, not plain loops in its place.
void report_build(const Compiler& compiler, const Request& request, const CompileReport& report,
                  const Graph& graph, const Program& program, bool emitted) {
  const std::string& title = title_of(request);
  const auto ms = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return std::string(text);
  };
  cache::say(compiler.options.log, cache::Level::Info,
             "compiled '" + title + "' (" + report.id.substr(0, 12) + "): derived in " +
                 ms(report.derive_ms) + " ms, scheduled in " + ms(report.schedule_ms) +
                 " ms, compiled in " + ms(report.compile_ms) +
                 " ms; cache miss: " + report.miss_reason);
  for (const std::string& fallback : report.fallbacks)
    cache::say(compiler.options.log, cache::Level::Warning,
               "the schedule of '" + title + "' goes without what was refused: " + fallback);
  const std::string directory = dump_directory();
  if (directory.empty()) return;
  DumpFiles files = {{"1-traced.txt", print(request.computation->base())},
                     {"2-transformations.txt", request.computation->transformations() + "\n"},
                     {"3-derived.txt", print(graph)},
                     {"4-schedule.txt", print(program)},
                     {"4-schedule.json", report.schedule},
                     {"5-llvm.ll", llvm_text(compiler, request, program)},
                     {"6-assembly.s", assembly_text(compiler, request, program)}};
  if (emitted && !is_scheduled(request) && !report.kept_schedule && request.memory_budget <= 0) {
    const std::optional<Candidate> chosen = choice(graph, schedule_target(compiler));
    files.emplace_back("4-passes.txt", print_passes(graph, schedule_target(compiler),
                                                    chosen ? chosen->answers : Answers{}));
  }
  dump(directory, title, report.id, files, compiler.options.log);
}

}  // namespace

Engine::Engine(EngineOptions options)
    : threads_(threads_from(options)),
      store_(options.store),
      compiler_(std::move(options), store_),
      pool_(std::make_shared<ThreadPool>(threads_)),
      executables_(kMaxObjects, share_of_objects) {}

Engine::~Engine() = default;

cache::Key Engine::key(const Request& request) const {
  return code_key(request, target(), options().check_nan);
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
    const std::string* schedule = lookup.entry->section("schedule");
    if (!plan_text || !constants || !objects || !schedule)
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
    report.schedule = *schedule;
    report.kept_schedule = lookup.entry->section("kept schedule") != nullptr;
    report.load_ms = watch.milliseconds();
    if (!dump_directory().empty()) report_no_dump(options().log, lookup.entry->provenance.title);
    return std::make_shared<Executable>(std::move(plan), std::move(code), pool_, std::move(report),
                                        options().float_mode);
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
  CheckedGraph checked = checked_graph(compiler_, request);
  report.derive_ms = deriving.milliseconds();
  const Stopwatch scheduling;
  Program program = schedule_of(compiler_, request, checked.graph);
  report.schedule_ms = scheduling.milliseconds();
  const std::string wanted = program.moves_json;
  // Asked now: another schedule may be kept while this one is compiled.
  const bool kept = request.schedule_json.empty() && wanted == kept_schedule(compiler_, request);
  const Stopwatch compiling;
  CompiledKernels compiled = compile_program(compiler_, request, checked.graph, program);
  report.fallbacks = fallbacks_of(program);
  report.schedule = program.moves_json;
  report.kept_schedule = kept && report.schedule == wanted;
  report.compile_ms = compiling.milliseconds();
  const Stopwatch loading;
  ExecutionPlan plan = plan_of(compiler_, request, program, compiled, std::move(checked.checks));
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
        .add("schedule", report.schedule)
        .add("plan", to_json(plan))
        .add("constants", plan.constants)
        .add("objects", join_objects(compiled.objects));
    if (report.kept_schedule) entry.add("kept schedule", "yes");
    store_.save(std::move(entry));
  }
  report_build(compiler_, request, report, checked.graph, program, report.schedule == wanted);
  return std::make_shared<Executable>(std::move(plan), std::move(code), pool_, std::move(report),
                                      options().float_mode);
}

void Engine::keep_schedule(const Request& request, const std::string& schedule_json) {
  Request by_default = request;
  by_default.schedule_json.clear();
  const CheckedGraph checked = checked_graph(compiler_, request);
  std::string moves;  // as a program writes them down
  if (!schedule_json.empty())
    moves = replay(checked.graph, schedule_json, schedule_target(compiler_)).moves_json;
  compiler_.kept.keep(kept_schedule_key(by_default, target()), moves,
                      provenance_of(by_default, {}, checked.graph));
  // What was compiled with the schedule of before.
  const cache::Key key = this->key(by_default);
  store_.discard(key, "its schedule was tuned");
  executables_.erase(signature_of(key));
}

}  // namespace adjit::engine
