// autosched/cpu/cost/network_inputs.cpp -- what the learned part of the cost model looks at.
#include "autosched/cpu/cost/network_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace adjit::sched {
namespace {

constexpr std::array kNames = {
    // What is done, for each pass over the tile.
    std::string_view("points_per_run"), std::string_view("runs"), std::string_view("steps_per_run"),
    std::string_view("operations"), std::string_view("masks"), std::string_view("loads"),
    std::string_view("stores"), std::string_view("apart"), std::string_view("waits"),
    std::string_view("folds"), std::string_view("loop_steps"),
    // Shares of the analytic terms.
    std::string_view("arithmetic_share"), std::string_view("loads_share"),
    std::string_view("latency_share"), std::string_view("loops_share"),
    std::string_view("L2_share"), std::string_view("L3_share"), std::string_view("memory_share"),
    std::string_view("scattered_share"),
    // Cache lines for each vector that is loaded.
    std::string_view("L2_lines"), std::string_view("L3_lines"), std::string_view("memory_lines"),
    std::string_view("scattered_lines"),
    // The register tile.
    std::string_view("vector_bytes"), std::string_view("lanes"), std::string_view("lanes_used"),
    std::string_view("copies"), std::string_view("accumulators"), std::string_view("registers"),
    std::string_view("spilled"), std::string_view("uniform_loads"), std::string_view("far_rows"),
    std::string_view("colliding_rows"), std::string_view("far_steps"),
    std::string_view("ragged_axes"), std::string_view("nodes"), std::string_view("code"),
    std::string_view("reads"), std::string_view("inner_trips"), std::string_view("tile_cycles"),
    std::string_view("inner_bytes"), std::string_view("around_bytes"),
    std::string_view("reduction_lanes"), std::string_view("inner_reduces"),
    // The nest and its kernel.
    std::string_view("accumulates"), std::string_view("in_memory"), std::string_view("attached"),
    std::string_view("nests"), std::string_view("tasks"), std::string_view("cores"),
    std::string_view("program_bytes")};

double count(double x) { return log2_by_lines(1 + std::max(x, 0.0)); }
double ratio(double a, double b) { return log2_by_lines((a + 1e-9) / (b + 1e-9)); }

// One pass over the tile.
void add_pass(const NestFeatures& f, std::vector<double>& to) {
  const double steps = std::max(f.steps, 1.0), runs = std::max(f.runs, 1.0);
  to.insert(to.end(), {count(f.points / runs), count(runs), count(f.steps / runs)});
  for (double total :
       {f.operations, f.masks, f.loads, f.stores, f.apart, f.waits, f.folds, f.loop_steps})
    to.push_back(count(total / steps));
}

void add_lines(const NestFeatures& f, std::vector<double>& to) {
  const double loads = std::max(f.loads + f.stores, 1.0);
  for (double lines : f.traffic.streamed) to.push_back(count(16 * lines / loads));
  const auto& scattered = f.traffic.scattered;
  to.push_back(count(16 * std::accumulate(scattered.begin(), scattered.end(), 0.0) / loads));
}

void add_tile(const NestFeatures& f, const CostTerms& terms, const CpuMachine& machine,
              std::vector<double>& to) {
  const TileFeatures& t = f.tile;
  const double registers = machine.vector_bits >= 512 ? 32 : 16;
  const double core = *std::max_element(terms.begin(), terms.begin() + 3);
  const double tile_cycles =
      t.tile_cycles > 0 ? ratio(1e-3 * t.tile_cycles * std::max(f.runs, 1.0) / machine.ghz, core)
                        : 0;
  to.insert(to.end(), {f.bytes_per_vector / 64,
                       count(t.lanes),
                       t.lanes_used,
                       count(t.instances),
                       count(t.accumulators),
                       count(t.registers),
                       count(t.registers - registers + 2),
                       count(t.uniform_loads),
                       count(t.far_rows),
                       count(t.colliding_rows),
                       t.far_steps,
                       t.ragged_axes,
                       count(t.nodes),
                       count(t.instances * t.nodes * (1 + t.ragged_axes)),
                       count(t.reads),
                       count(t.inner_trips),
                       std::clamp(tile_cycles, -4.0, 4.0),
                       ratio(t.inner_bytes, static_cast<double>(machine.l1_bytes)),
                       ratio(t.around_bytes, static_cast<double>(machine.l1_bytes)),
                       t.reduction_lanes ? 1.0 : 0.0,
                       t.inner_reduces ? 1.0 : 0.0});
}

}  // namespace

double log2_by_lines(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // 0.5 .. 1
  return exponent - 2 + 2 * mantissa;
}

std::vector<double> network_inputs(const NestFeatures& f, const CostTerms& terms,
                                   const NestPlace& place, const CpuMachine& machine) {
  std::vector<double> inputs;
  inputs.reserve(kNames.size());
  add_pass(f, inputs);
  const double all = std::accumulate(terms.begin(), terms.end(), 1e-9);
  for (double term : terms) inputs.push_back(term / all);
  add_lines(f, inputs);
  add_tile(f, terms, machine, inputs);
  inputs.insert(inputs.end(),
                {f.accumulates ? 1.0 : 0.0, f.in_memory ? 1.0 : 0.0, f.attached ? 1.0 : 0.0,
                 count(place.nests), count(place.tasks), place.cores,
                 ratio(place.program_bytes, static_cast<double>(machine.l2_bytes))});
  return inputs;
}

std::span<const std::string_view> network_input_names() { return kNames; }

}  // namespace adjit::sched
