// tests/fuzz/shrink.cpp -- a smaller program that fails as a given one does, and its text.
#include "tests/fuzz/shrink.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Without the inputs that nothing reads.
FuzzProgram without_unused(FuzzProgram program) {
  program.graph = compact(program.graph);
  std::set<uint32_t> used;
  for (const Stage& stage : program.graph.stages)
    for (TensorId id : tensors_read(program.graph, stage)) used.insert(id.value);
  for (TensorId id : program.graph.outputs) used.insert(id.value);
  std::vector<TensorId> kept;
  std::vector<Array> values;
  for (size_t k = 0; k < program.graph.inputs.size(); ++k) {
    if (!used.contains(program.graph.inputs[k].value)) continue;
    kept.push_back(program.graph.inputs[k]);
    values.push_back(std::move(program.inputs[k]));
  }
  program.graph.inputs = std::move(kept);
  program.inputs = std::move(values);
  program.graph = compact(program.graph);
  return program;
}

// The values of all tensors that stages give.
std::vector<Array> all_values(const FuzzProgram& program) {
  Graph graph = program.graph;
  graph.outputs.clear();
  for (const Stage& stage : graph.stages)
    graph.outputs.insert(graph.outputs.end(), stage.results.begin(), stage.results.end());
  return interpret(graph, program.inputs);
}

/// Tries one change after the other.
class Shrinking {
 public:
  Shrinking(FuzzProgram program, const std::function<bool(const FuzzProgram&)>& fails,
            double seconds)
      : program_(without_unused(std::move(program))),
        fails_(fails),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  FuzzProgram operator()() {
    for (bool smaller = true; smaller && may_try();) {
      smaller = drop_outputs();
      smaller = expand() || smaller;
      smaller = cut_stages() || smaller;
      smaller = shorten_bodies() || smaller;
    }
    return std::move(program_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostTries = 600;

  bool may_try() const { return tries_ < kMostTries && Clock::now() < end_; }

  bool take(FuzzProgram candidate) {
    if (!may_try()) return false;
    ++tries_;
    try {
      candidate = without_unused(std::move(candidate));
      verify(candidate.graph);
      if (!fails_(candidate)) return false;
    } catch (const std::exception&) {
      return false;
    }
    program_ = std::move(candidate);
    return true;
  }

  bool drop_outputs() {
    bool any = false;
    for (size_t k = 0; program_.graph.outputs.size() > 1 && k < program_.graph.outputs.size();) {
      FuzzProgram candidate = program_;
      candidate.graph.outputs.erase(candidate.graph.outputs.begin() +
                                    static_cast<std::ptrdiff_t>(k));
      if (take(std::move(candidate)))
        any = true;
      else
        ++k;
    }
    // A stage before it may do as the output.
    if (program_.graph.outputs.size() == 1)
      for (size_t s = 0; s + 1 < program_.graph.stages.size(); ++s) {
        FuzzProgram candidate = program_;
        candidate.graph.outputs = {candidate.graph.stages[s].results[0]};
        if (take(std::move(candidate))) return true;
      }
    return any;
  }

  bool expand() {
    if (std::ranges::none_of(program_.graph.stages,
                             [](const Stage& s) { return s.kind == StageKind::Call; }))
      return false;
    FuzzProgram candidate = program_;
    candidate.graph = expand_calls(candidate.graph);
    return take(std::move(candidate));
  }

  // Later stages first: what led to them goes with them.
  bool cut_stages() {
    bool any = false;
    for (size_t s = program_.graph.stages.size(); s-- > 0;) {
      if (s >= program_.graph.stages.size()) continue;
      const std::vector<Array> values = all_values(program_);
      size_t first = 0;
      for (size_t k = 0; k < s; ++k) first += program_.graph.stages[k].results.size();
      FuzzProgram candidate = program_;
      const std::vector<TensorId> results = candidate.graph.stages[s].results;
      candidate.graph.stages.erase(candidate.graph.stages.begin() + static_cast<std::ptrdiff_t>(s));
      for (size_t k = 0; k < results.size(); ++k) {
        candidate.graph.inputs.push_back(results[k]);
        candidate.inputs.push_back(values[first + k]);
      }
      any = take(std::move(candidate)) || any;
    }
    return any;
  }

  // A body becomes one of its parts of the same type.
  bool shorten_bodies() {
    bool any = false;
    for (size_t s = 0; s < program_.graph.stages.size(); ++s)
      for (size_t b = 0; b < program_.graph.stages[s].bodies.size(); ++b)
        for (bool again = true; again;) again = shorten_body(s, b) && (any = true);
    return any;
  }
  bool shorten_body(size_t s, size_t b) {
    if (s >= program_.graph.stages.size() || b >= program_.graph.stages[s].bodies.size())
      return false;
    const ExprPool& pool = program_.graph.pool;
    const ExprId body = program_.graph.stages[s].bodies[b];
    for (ExprId part : pool.operands(body)) {
      if (pool.dtype(part) != pool.dtype(body) || pool.is(body, Op::Read)) continue;
      FuzzProgram candidate = program_;
      candidate.graph.stages[s].bodies[b] = part;
      if (take(std::move(candidate))) return true;
    }
    return false;
  }

  FuzzProgram program_;
  const std::function<bool(const FuzzProgram&)>& fails_;
  const Clock::time_point end_;
  int tries_ = 0;
};

std::string shortest(double value) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

}  // namespace

FuzzProgram shrunk(FuzzProgram program, const std::function<bool(const FuzzProgram&)>& fails,
                   double seconds) {
  return Shrinking(std::move(program), fails, seconds)();
}

std::string test_of(const FuzzProgram& program, uint64_t seed, const std::string& failure) {
  std::string text = "// " + failure + "\nTEST(Found, Seed" + std::to_string(seed) +
                     ") {\n  expect_right(R\"(\n" + print(program.graph) + ")\",\n               {";
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    const Array& array = program.inputs[k];
    text += (k ? ",\n                " : "") + std::string("Array::of(*dtype_from_name(\"") +
            std::string(name_of(array.dtype)) + "\"), {";
    for (size_t d = 0; d < array.shape.size(); ++d)
      text += (d ? ", " : "") + std::to_string(array.shape[d]);
    text += "}, Values{";
    for (int64_t e = 0; e < array.element_count(); ++e)
      text += (e ? ", " : "") + shortest(array.at(e));
    text += "})";
  }
  return text + "},\n               " + std::to_string(seed) + ");\n}\n";
}

}  // namespace adjit::testing
