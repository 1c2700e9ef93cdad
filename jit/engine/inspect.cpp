// jit/engine/inspect.cpp -- predictions, alternatives, LLVM and assembly of a request.
#include "jit/engine/inspect.hpp"

#include <optional>
#include <set>
#include <utility>

#include "autosched/search/explain.hpp"
#include "autosched/search/prediction.hpp"
#include "autosched/search/search.hpp"
#include "jit/engine/plan/memory_budget.hpp"

namespace adjit::engine {

std::string explain(const Compiler& compiler, const Request& request) {
  const Target target = schedule_target(compiler, request);
  const Graph graph = checked_graph(compiler, request).graph;
  Program program = schedule_of(compiler, request, graph);
  const bool refused = replace_refused(compiler, request, graph, program);
  std::string text = print_prediction(program, target);
  for (const std::string& fallback : fallbacks_of(program))
    text += "without what was refused: " + fallback + "\n";
  if (refused || is_scheduled(request)) return text;
  if (request.memory_budget > 0) return text;  // alternatives need other memory
  constexpr size_t kPrinted = 8;
  const std::vector<Candidate> found = search(graph, target, {});
  if (!request.schedule_json.empty() || kept_schedule(compiler, request).empty())
    if (const std::optional<Candidate> chosen = choice(graph, target))
      text += print_choice(*chosen, found.front());
  return text + print_rejected(found, kPrinted);
}

std::vector<Proposal> proposals(const Compiler& compiler, const Request& request, size_t count,
                                uint64_t seed) {
  const Target target = schedule_target(compiler, request);
  const Graph graph = checked_graph(compiler, request).graph;
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
  // The first is what compiling makes, so that others are compared with that.
  const auto add = [&](Program program, const std::string& changes, double predicted) {
    if (found.empty() && replace_refused(compiler, request, graph, program))
      predicted = predict(program, target).microseconds;
    if (budget > 0 && workspace_of(program) > budget) return;
    if (seen.insert(program.moves_json).second)
      found.push_back({program.moves_json, changes, predicted});
  };
  if (budget > 0) {
    Program within = schedule_within(graph, target, budget);
    const double predicted = predict(within, target).microseconds;
    add(std::move(within), "", predicted);
  }
  for (const Candidate& candidate : candidates)
    if (found.size() < count)
      add(program_of(graph, target, candidate), candidate.changes, candidate.microseconds);
  return found;
}

std::string llvm_text(const Compiler& compiler, const Request& request, const Program& program) {
  return backend_of(compiler, request).llvm_text(kernels_of(program, request));
}

std::string assembly_text(const Compiler& compiler, const Request& request,
                          const Program& program) {
  return backend_of(compiler, request).assembly_text(kernels_of(program, request));
}

std::string llvm_text(const Compiler& compiler, const Request& request) {
  return llvm_text(compiler, request, compiled_program(compiler, request));
}

std::string assembly_text(const Compiler& compiler, const Request& request) {
  return assembly_text(compiler, request, compiled_program(compiler, request));
}

}  // namespace adjit::engine
