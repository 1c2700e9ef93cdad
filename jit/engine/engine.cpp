// jit/engine/engine.cpp -- memory, disk, compilation: where the code of a request comes from.
#include "jit/engine/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "autosched/moves/moves.hpp"
#include "autosched/search/print_passes.hpp"
#include "autosched/search/search.hpp"
#include "jit/engine/inspect.hpp"
#include "jit/engine/keys.hpp"
#include "jit/engine/report/dump.hpp"
#include "jit/engine/report/stopwatch.hpp"
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
  const Target target = schedule_target(compiler, request);
  if (emitted && !is_scheduled(request) && !report.kept_schedule && request.memory_budget <= 0) {
    const std::optional<Candidate> chosen = choice(graph, target);
    files.emplace_back("4-passes.txt",
                       print_passes(graph, target, chosen ? chosen->answers : Answers{}));
  }
  dump(directory, title, report.id, files, compiler.options.log);
}

}  // namespace

Engine::Engine(EngineOptions options)
    : store_(options.store),
      compiler_(std::move(options), store_),
      executables_(kMaxObjects, share_of_objects) {}

Engine::~Engine() = default;

cache::Key Engine::key(const Request& request) const {
  return code_key(request, backend_of(compiler_, request).code_components(), options().check_nan);
}

// Code of one key is loaded for each device that it runs on.
cache::Signature Engine::place_of(const cache::Key& key, int device) {
  if (device < 0) return signature_of(key);
  cache::Key on_device = key;
  return signature_of(on_device.add("device", std::to_string(device)));
}

Compiled Engine::compile(const Request& request) {
  const cache::Key key = this->key(request);
  bool from_memory = true;
  std::shared_ptr<Executable> executable = executables_.get_or_create(
      place_of(key, backend_of(compiler_, request).device()), [&]() -> std::shared_ptr<Executable> {
        from_memory = false;
        std::string miss_reason;
        if (std::shared_ptr<Executable> loaded = load(request, key, &miss_reason)) return loaded;
        return build(request, key, std::move(miss_reason));
      });
  return {std::move(executable), from_memory};
}

std::shared_ptr<Executable> Engine::load(const Request& request, const cache::Key& key,
                                         std::string* miss_reason) {
  const Stopwatch watch;
  const cache::Lookup lookup = store_.load(key);
  if (!lookup.entry) {
    *miss_reason = lookup.miss_reason;
    return nullptr;
  }
  try {
    const std::vector<cache::Section>& sections = lookup.entry->sections;
    ExecutionPlan plan =
        plan_from_json(section_of(sections, "plan"), section_of(sections, "constants"));
    CompileReport report;
    report.cache = "disk";
    report.derive_ms = lookup.entry->provenance.derive_ms;
    report.schedule_ms = lookup.entry->provenance.schedule_ms;
    report.compile_ms = lookup.entry->provenance.compile_ms;
    report.id = to_hex(signature_of(key));
    report.schedule = section_of(sections, "schedule");
    report.kept_schedule = lookup.entry->section("kept schedule") != nullptr;
    std::shared_ptr<Executable> loaded =
        backend_of(compiler_, request).load(sections, std::move(plan), std::move(report), watch);
    if (!dump_directory().empty()) report_no_dump(options().log, lookup.entry->provenance.title);
    return loaded;
  } catch (const Error& e) {
    // What a machine lacks is no fault of the entry.
    if (e.code() == ErrorCode::Memory || e.code() == ErrorCode::Device) throw;
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
  MachineCode code = compile_program(compiler_, request, checked.graph, program);
  report.fallbacks = fallbacks_of(program);
  report.schedule = program.moves_json;
  report.kept_schedule = kept && report.schedule == wanted;
  report.compile_ms = compiling.milliseconds();
  const Stopwatch loading;
  ExecutionPlan plan =
      plan_of(compiler_, request, program, code.kernels, std::move(checked.checks));
  std::shared_ptr<Executable> executable =
      backend_of(compiler_, request)
          .load(code.sections, std::move(plan), std::move(report), loading);
  if (store_.writable()) save(request, key, checked.graph, *executable, std::move(code.sections));
  report_build(compiler_, request, executable->report(), checked.graph, program,
               executable->report().schedule == wanted);
  return executable;
}

void Engine::save(const Request& request, const cache::Key& key, const Graph& graph,
                  const Executable& made, std::vector<cache::Section> code) {
  cache::Entry entry;
  entry.key = key;
  entry.provenance = provenance_of(request, made.report(), graph);
  // To be read: constants of any size are stored once, where the plan has them.
  entry.add("graph", print(request.computation->base(), LongConstants::Elided))
      .add("text", print(graph, LongConstants::Elided))
      .add("schedule", made.report().schedule)
      .add("plan", to_json(made.plan()))
      .add("constants", made.plan().constants);
  for (cache::Section& section : code) entry.add(std::move(section.name), std::move(section.bytes));
  if (made.report().kept_schedule) entry.add("kept schedule", "yes");
  store_.save(std::move(entry));
}

void Engine::keep_schedule(const Request& request, const std::string& schedule_json) {
  Request by_default = request;
  by_default.schedule_json.clear();
  const CheckedGraph checked = checked_graph(compiler_, request);
  std::string moves;  // as a program writes them down
  if (!schedule_json.empty())
    moves = replay(checked.graph, schedule_json, schedule_target(compiler_, request)).moves_json;
  compiler_.kept.keep(
      kept_schedule_key(by_default, backend_of(compiler_, request).schedule_components()), moves,
      provenance_of(by_default, {}, checked.graph));
  // What was compiled with the schedule of before.
  const cache::Key key = this->key(by_default);
  store_.discard(key, "its schedule was tuned");
  if (is_for_cpu(request))
    executables_.erase(place_of(key, -1));
  else
    for (const int device : compiler_.backends->devices())
      executables_.erase(place_of(key, device));
}

}  // namespace adjit::engine
