// tests/libfuzzer/schedule_fuzzer.cpp -- schedules that a user gives: replayed, priced and run
// literally, or refused as schedules. The first byte chooses the program that they are for.
#include <cmath>
#include <string_view>
#include <vector>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/libfuzzer/literal_run.hpp"

namespace {

using namespace adjit;        // NOLINT: a program of its own
using namespace adjit::fuzz;  // NOLINT

const std::vector<Graph>& programs() {
  static const std::vector<Graph> all = [] {
    std::vector<Graph> graphs;
    for (const char* text : {R"(
def product(float(6, 8) A, float(8, 5) B) -> (C) {
  C(i, j) +=! A(i, r_k) * B(r_k, j) where i in 0:6, j in 0:5, r_k in 0:8
})",
                             R"(
def softmax(float(4, 9) x) -> (y) {
  m(i) max=! x(i, r_j) where i in 0:4, r_j in 0:9
  s(i) +=! exp(x(i, r_j) - m(i)) where i in 0:4, r_j in 0:9
  y(i, j) = exp(x(i, j) - m(i)) / s(i) where i in 0:4, j in 0:9
})",
                             R"(
def taps(float(12) x, float(3) w) -> (z) {
  y(i) +=! x(i + r_k) * w(r_k) where i in 0:10, r_k in 0:3
  z(i) = max(y(i), 0.0) where i in 0:10
})",
                             R"(
def scattered(float(7) x, int64(9) k, float(9) v) -> (s, t) {
  y(i) = x(i) * 2.0 where i in 0:7
  scatter float(7) s(k(i)) +=[clip] v(i) * y(6 - i % 7) from y where i in 0:9
  t(i) = s(i) + y(i) where i in 0:7
})",
                             R"(
def chain(float(5, 8) x, float(8, 8) w) -> (o) {
  a(i, j) +=! x(i, r_k) * w(r_k, j) where i in 0:5, j in 0:8, r_k in 0:8
  b(i, j) = tanh(a(i, j)) where i in 0:5, j in 0:8
  o(i, j) +=! b(i, r_k) * w(j, r_k) where i in 0:5, j in 0:8, r_k in 0:8
})"})
      graphs.push_back(parse_graph(text));
    return graphs;
  }();
  return all;
}

void check(const Graph& graph, std::string_view moves) {
  try {
    const Program program = replay(graph, moves, CpuMachine{2, 512});
    fuzz::require(std::isfinite(predict(program, CpuMachine{.cores = 2}).microseconds),
                  "a schedule without a price", program.moves_json);
    fuzz::require_meaning(graph, program);
  } catch (const Error& error) {
    fuzz::require(error.code() == ErrorCode::Schedule, error.what(), std::string(moves));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Graph& graph = programs()[data[0] % programs().size()];
  check(graph, {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
