// tests/schedules/move_thresholds.cpp -- which numbers decide the schedule of a graph, by halves.
#include "tests/schedules/move_thresholds.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <span>
#include <string_view>

#include "autosched/machine/thresholds.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/machine.hpp"
#include "runtime/process/json.hpp"
#include "tests/schedules/graphs.hpp"

namespace adjit::testing {
namespace {

using MoveCosts = std::function<void(CoreCosts& core)>;

// Thresholds, and what becomes of each machine's costs.
struct Numbers {
  Thresholds thresholds;
  std::vector<MoveCosts> costs;
};

// A graph's moves for every machine; a schedule that fails is told from one that does not.
std::string moves_under(const Graph& graph, const Numbers& numbers) {
  const MovedThresholds during(numbers.thresholds);
  std::string moves;
  for (const Machine& machine : kMachines) {
    CpuMachine moved = machine_of(cpu_of(machine), machine.cores);
    for (const MoveCosts& move_costs : numbers.costs) move_costs(moved.core);
    try {
      moves += chosen_schedule(graph, moved).moves_json;
    } catch (const Error& e) {
      moves += std::string("error: ") + e.what();
    }
  }
  return moves;
}

struct Way {
  const char* name;
  double factor;
};
// A quarter each way; and as if the number were not there, let everything pass or nothing.
constexpr Way kWays[] = {{"down", 0.75}, {"up", 1.25}, {"least", 0}, {"most", 1e3}};

// Whole numbers move by one at least, and stay above 0: some divide. Shares stay below 1: "takes at
// most this share of the time" is asked until nothing does.
template <class Table>
void move(const TableRow<Table>& row, double factor, Table& table) {
  const double value = row.get(table);
  const bool whole = row.set(table, 0.25) != 0.25;
  double wanted = value * factor;
  if (row.unit.starts_with("of ") && value < 1) wanted = std::min(wanted, (1 + value) / 2);
  if (!whole)
    row.set(table, wanted);
  else if (factor < 1)
    row.set(table, std::max(1.0, std::min(wanted, value - 1)));
  else
    row.set(table, std::max(wanted, value + 1));
}

// A row of either table.
struct Movable {
  std::string name;
  std::function<void(double factor, Numbers& numbers)> move;
};

std::vector<Movable> movable_rows(const std::string& only) {
  std::vector<Movable> rows;
  const auto add = [&](std::string_view row, std::function<void(double, Numbers&)> by) {
    const std::string name(row);
    if (only.empty() || ("," + only + ",").find("," + name + ",") != std::string::npos)
      rows.push_back({name, std::move(by)});
  };
  for (const TableRow<Thresholds>& row : threshold_rows())
    add(row.name, [&row](double factor, Numbers& n) { move(row, factor, n.thresholds); });
  for (const TableRow<CoreCosts>& row : core_cost_rows())
    add(row.name, [&row](double factor, Numbers& n) {
      n.costs.push_back([&row, factor](CoreCosts& core) { move(row, factor, core); });
    });
  return rows;
}

// The rows that give the graph other moves: all are moved together, and where that changes
// something, each half of them.
void find_deciding(const Graph& graph, const std::string& usual, std::span<const Movable> rows,
                   double factor, std::vector<std::string>& found) {
  if (rows.empty()) return;
  Numbers numbers;
  for (const Movable& row : rows) row.move(factor, numbers);
  if (moves_under(graph, numbers) == usual) return;
  if (rows.size() == 1) {
    found.push_back(rows.front().name);
    return;
  }
  const size_t half = rows.size() / 2;
  find_deciding(graph, usual, rows.first(half), factor, found);
  find_deciding(graph, usual, rows.subspan(half), factor, found);
}

}  // namespace

int move_thresholds(const std::vector<std::string>& sources, const std::string& ways,
                    const std::string& only) {
  const std::vector<Movable> rows = movable_rows(only);
  for (const std::string& source : sources) {
    const Graph graph = graph_of(source);
    const std::string usual = moves_under(graph, {});
    Json deciding = {{"graph", name_of(source)}};
    for (const Way& way : kWays) {
      if (ways.find(way.name) == std::string::npos) continue;
      std::vector<std::string> found;
      find_deciding(graph, usual, rows, way.factor, found);
      deciding[way.name] = found;
    }
    std::cout << deciding.dump() << std::endl;
  }
  return 0;
}

}  // namespace adjit::testing
