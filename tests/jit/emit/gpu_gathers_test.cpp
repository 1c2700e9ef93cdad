// tests/jit/emit/gpu_gathers_test.cpp -- reads at places that data chooses, in layouts made for
// them, as a GPU runs them thread by thread.
#include <gtest/gtest.h>

#include <string>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

TEST(GpuGathers, ComputeWhatTheGraphSays) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const char* text :
       {"def f(float(32, 1000) x, int64(500, 8) n) -> (t) { t(j, k) +=! x(j, (n(k, r) * 317 + k * "
        "53) % 1000) }",
        "def f(half(31, 1000) x, int64(501, 8) n) -> (t) { t(j, k) +=! float(x(j, (n(k, r) * 317 + "
        "k * 53) % 1000)) }",
        "def f(double(2, 12, 40, 31) x, int64(2, 333, 4) n, int64(2, 333, 4) m) -> (t) {\n"
        "  t(b, j, k) max=! x(b, j, (m(b, k, r) + k) % 40, (n(b, k, r) * 7 + k) % 31) * 2.0 }",
        "def f(float(32, 1000) x, float(32, 501) g, int64(501, 8) n) -> (t) {\n"
        "  t(k) +=! g(q, k) * x(q, (n(k, r) * 317 + k * 53) % 1000) }",
        "def f(float(12, 8, 100) x, int64(4000) n) -> (t, s) {\n"
        "  t(j, k) = x(j, (n(k) + k) % 8, k // 40)\n  s(j, k) = exp(x(j, (n(k) + k) % 8, k // 40)) "
        "}",
        "def f(float(9, 1000) g, int64(1000, 2) n) -> (d) {\n"
        "  scatter float(9, 500) d(j, (n(k, q) * 31 + k * 3) % 600) +=[drop] g(j, k) where j in "
        "0:9, k in 0:1000, "
        "q in 0:2\n}"}) {
    const Graph graph = parse_graph(text);
    const sched::Program p = sched::default_schedule(graph, sched::kNarrowGpu);
    EXPECT_TRUE(sched::fallbacks_of(p).empty()) << sched::fallbacks_of(p).front();
    EXPECT_NE(p.moves_json.find("\"pack\""), std::string::npos) << text;
    const std::vector<Array> inputs = small_inputs(graph, 3);
    for (const int64_t alignment : {0, 16})
      EXPECT_EQ(difference(interpret(graph, inputs), EmulatedProgram(p, alignment)(inputs), 1e-4),
                "")
          << print(p);
  }
}

}  // namespace
}  // namespace adjit::testing
