// tests/schedules/move_thresholds.cpp -- thresholds moved by a quarter, one after the other.
#include "tests/schedules/move_thresholds.hpp"

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

// Whole numbers move by one at least.
double moved(const ThresholdRow& row, double share) {
  Thresholds scratch;
  const double by = row.set(scratch, row.value * (1 + share));
  return by != row.value ? by : row.value + (share < 0 ? -1 : 1);
}

}  // namespace

int move_thresholds(const std::vector<std::string>& sources) {
  std::vector<Graph> graphs;
  for (const std::string& source : sources) graphs.push_back(graph_of(source));
  const std::vector<std::string> usual = moves_of(graphs);
  Json all = Json::object();
  for (const ThresholdRow& row : threshold_rows()) {
    for (const double share : {-0.25, 0.25}) {
      Thresholds thresholds;
      row.set(thresholds, moved(row, share));
      const MovedThresholds during(thresholds);
      const std::vector<std::string> now = moves_of(graphs);
      Json& changed = all[std::string(row.name)][share < 0 ? "down" : "up"] = Json::array();
      for (size_t k = 0; k < graphs.size(); ++k)
        if (now[k] != usual[k]) changed.push_back(name_of(sources[k]));
    }
    std::cerr << row.name << ": " << all[std::string(row.name)]["down"].size() << " and "
              << all[std::string(row.name)]["up"].size() << " of " << graphs.size() << "\n";
  }
  std::cout << all.dump(1) << "\n";
  return 0;
}

}  // namespace adjit::testing
