// tests/schedules/move_thresholds.cpp -- thresholds moved by a quarter, one after the other.
#include "tests/schedules/move_thresholds.hpp"

#include <algorithm>
#include <iostream>

#include "autosched/machine/thresholds.hpp"
#include "autosched/passes/parallel_for.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/machine.hpp"
#include "jit/cpu/parallel.hpp"
#include "runtime/process/json.hpp"
#include "tests/schedules/graphs.hpp"

namespace adjit::testing {
namespace {

// Per graph, the moves for every machine; a schedule that fails is told from one that does not.
std::vector<std::string> moves_of(const std::vector<Graph>& graphs) {
  std::vector<std::string> moves(graphs.size());
  const auto threads = static_cast<size_t>(ThreadPool::available_threads());
  in_parallel(graphs.size(), threads, [&](size_t k, size_t) {
    for (const Machine& machine : kMachines) {
      try {
        moves[k] +=
            chosen_schedule(graphs[k], machine_of(cpu_of(machine), machine.cores)).moves_json;
      } catch (const Error& e) {
        moves[k] += std::string("error: ") + e.what();
      }
    }
  });
  return moves;
}

struct Move {
  const char* name;
  double factor;
};
// A quarter each way; and as if the threshold were not there, let everything pass or nothing.
constexpr Move kMoves[] = {{"down", 0.75}, {"up", 1.25}, {"least", 0}, {"most", 1e3}};

// Whole numbers move by one at least, and stay above 0: some divide.
Thresholds moved(const ThresholdRow& row, const Move& move) {
  Thresholds thresholds;
  const bool whole = row.set(thresholds, 0.25) != 0.25;
  const double wanted = row.value * move.factor;
  if (!whole)
    row.set(thresholds, wanted);
  else if (move.factor < 1)
    row.set(thresholds, std::max(1.0, std::min(wanted, row.value - 1)));
  else
    row.set(thresholds, std::max(wanted, row.value + 1));
  return thresholds;
}

}  // namespace

int move_thresholds(const std::vector<std::string>& sources, const std::string& only) {
  std::vector<Graph> graphs;
  for (const std::string& source : sources) graphs.push_back(graph_of(source));
  const std::vector<std::string> usual = moves_of(graphs);
  Json all = Json::object();
  for (const ThresholdRow& row : threshold_rows()) {
    const std::string name(row.name);
    if (!only.empty() && ("," + only + ",").find("," + name + ",") == std::string::npos) continue;
    std::cerr << name << ":";
    for (const Move& move : kMoves) {
      const MovedThresholds during(moved(row, move));
      const std::vector<std::string> now = moves_of(graphs);
      Json& changed = all[name][move.name] = Json::array();
      for (size_t k = 0; k < graphs.size(); ++k)
        if (now[k] != usual[k]) changed.push_back(name_of(sources[k]));
      std::cerr << " " << move.name << " " << changed.size();
    }
    std::cerr << " of " << graphs.size() << "\n";
  }
  std::cout << all.dump(1) << "\n";
  return 0;
}

}  // namespace adjit::testing
