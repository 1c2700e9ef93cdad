// tests/libfuzzer/literal_run.hpp -- graphs that are walked in a moment, and whether a schedule of
// one gives what the graph means.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "autosched/program/program.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/libfuzzer/fuzzing.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::fuzz {

inline bool is_small(const Graph& graph, int64_t most = 3000) {
  for (const TensorInfo& tensor : graph.tensors)
    if (tensor.element_count() > most) return false;
  int64_t points = 0;
  for (const Stage& stage : graph.stages) {
    if (stage.kind == StageKind::Call || (stage.scan && stage.scan->conditional)) return false;
    int64_t own = stage.domain.box_points();
    if (stage.scan) {
      if (stage.scan->trips > 20 || !is_small(*stage.scan->body, most / 10)) return false;
      own = most / 10;
    }
    if (own > most) return false;
    points += own;
  }
  return points <= 10 * most;
}

/// Whether sums may be written in another order without overflow: no number is extreme.
inline bool is_moderate(const Graph& graph) {
  constexpr double kLargest = 1e4;
  for (size_t k = 0; k < graph.pool.size(); ++k) {
    const Node& node = graph.pool[ExprId{static_cast<uint32_t>(k)}];
    if (node.op != Op::Constant) continue;
    const double value = is_float(node.dtype)
                             ? std::bit_cast<double>(node.payload)
                             : static_cast<double>(static_cast<int64_t>(node.payload));
    const double size = std::abs(value);
    if (!(size <= kLargest) || (size > 0 && size < 1 / kLargest)) return false;
  }
  return std::ranges::all_of(graph.stages, [](const Stage& stage) {
    return !stage.scan || is_moderate(*stage.scan->body);
  });
}

/// Values of graphs that were checked to be moderate: where float64 gives what the graph's types
/// give, every order of a sum does.
inline void require_same(const std::vector<Array>& exact, const std::vector<Array>& wide,
                         const std::vector<Array>& found, const std::string& context) {
  for (size_t k = 0; k < exact.size(); ++k)
    for (int64_t i = 0; i < exact[k].element_count(); ++i) {
      const double a = exact[k].at(i), b = found[k].at(i), w = wide[k].at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double scale = std::max({1.0, std::abs(a), std::abs(w)});
      if (!(std::abs(a - w) < 1e-4 * scale) || scale > 1e6) continue;
      require(std::abs(a - b) < 1e-2 * scale, "a program gives another value",
              "output " + std::to_string(k) + ", element " + std::to_string(i) + ": " +
                  std::to_string(b) + " instead of " + std::to_string(a) + "\n" + context);
    }
}

/// Runs the program literally on small inputs.
inline void require_meaning(const Graph& graph, const Program& program) {
  if (!is_small(graph) || !is_moderate(graph)) return;
  const std::vector<Array> inputs = testing::small_inputs(graph, 1);
  std::vector<Array> exact, wide;
  try {
    exact = interpret(graph, inputs);
    wide = interpret_in_double(graph, inputs);
  } catch (const Error&) {
    return;  // an index out of range, which compiled programs report by checks beside them
  }
  require_same(exact, wide, interpret(program, inputs),
               print(graph) + print(program) + program.moves_json);
}

}  // namespace adjit::fuzz
