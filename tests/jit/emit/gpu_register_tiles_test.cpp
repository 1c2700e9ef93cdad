// tests/jit/emit/gpu_register_tiles_test.cpp -- kernels whose threads compute several results each,
// and such as gather what data names, as a GPU runs them thread by thread.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

TEST(GpuRegisterTiles, ComputeWhatTheGraphSays) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  int tiled = 0;
  for (const char* text :
       {"def f(float(40, 3) x, float(72, 3) y, float(72, 4) v) -> (s) {\n"
        "  d(i, j) +=! (x(i, k) - y(j, k)) * (x(i, k) - y(j, k))\n"
        "  s(i, c) +=! exp(-d(i, j)) * v(j, c)\n}",
        "def f(float(2, 4, 12, 12) x) -> (y) { y(n, c, i, j) max=! x(n, c, i + p - 1, j + q - 1)\n"
        "  where i in 0:12, j in 0:12, p in 0:3, q in 0:3, i + p >= 1, i + p <= 12, j + q >= 1, "
        "j + q <= 12 }",
        "def f(float(2, 3, 14, 20) x, float(3, 3, 3) w) -> (y) { y(n, c, i, j) +=! "
        "x(n, c, i + p - 1, j + q - 1) * w(c, p, q)\n"
        "  where i in 0:14, j in 0:20, p in 0:3, q in 0:3, i + p >= 1, i + p <= 14, j + q >= 1, "
        "j + q <= 20 }",
        "def f(float(48, 64) x, float(64, 48) z) -> (y) { y(i, j) = x(j, i) * z(i, j) }",
        "def f(float(3, 33, 40) x, float(3, 29, 32) g) -> (w) {\n"
        "  w(p, q) +=! x(b, i + p, j + q) * g(b, i, j) where p in 0:5, q in 0:9 }",
        "def f(float(3, 17, 70) x, float(3, 17, 70) g) -> (w) {\n"
        "  w(c, p, q) +=! x(c, i + p - 1, j + q - 1) * g(c, i, j)\n"
        "  where p in 0:3, q in 0:3, i + p >= 1, i + p <= 17, j + q >= 1, j + q <= 70 }",
        "def f(float(64, 32) x, float(8, 32, 32) l) -> (y) {\n"
        "  y(n, c, i) +=! x(n, k) * l(c, i, k) where n in 0:64, c in 0:8, i in 0:32, k in 0:32, "
        "k <= i }",
        "def f(float(2, 3, 12, 16) x) -> (y) {\n"
        "  s(n, c, i, j) +=! x(n, c, i + p - 1, j + q - 1)\n"
        "    where i in 0:12, j in 0:16, p in 0:3, q in 0:3, i + p >= 1, i + p <= 12, j + q >= 1, "
        "j + q <= 16\n  y(n, c, i, j) = s(n, c, i, j) / 9.0 + x(n, c, i, j)\n}",
        "def f(float(7, 22, 16) x, float(5) w) -> (y) {\n"
        "  s(i, j, l) +=! x(i, j + p, l) * w(p) where j in 0:18\n"
        "  y(i, j, l) = max(s(i, j, l), 0.0)\n}",
        "def f(double(40, 66) x) -> (y) { y(i, a) +=! x(i, r) * x(a, r) where a in 0:6 }"}) {
    const Graph graph = parse_graph(text);
    const sched::Program p = sched::default_schedule(graph, sched::kSlowGpu);
    EXPECT_TRUE(sched::fallbacks_of(p).empty()) << sched::fallbacks_of(p).front();
    tiled += p.moves_json.find("unroll") != std::string::npos;
    const std::vector<Array> inputs = small_inputs(graph, 3);
    for (const int64_t alignment : {0, 16})
      EXPECT_EQ(difference(interpret(graph, inputs), EmulatedProgram(p, alignment)(inputs), 1e-4),
                "")
          << print(p);
  }
  EXPECT_GE(tiled, 9);
}

// Terms of which a condition chooses some are added by predicated instructions, as the interpreter
// adds them; what is chosen away may be no number.
TEST(GpuRegisterTiles, TermsOrZeros) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const char* type : {"float", "double", "bfloat16"})
    for (const char* term :
         {"select(x(k) < t(i), x(k) * v(i), 0.0)", "select(x(k) < t(i), x(k), 0.0)",
          "select(x(k) < t(i), x(k) / v(i), -0.0)", "select(x(k) < t(i), 0.0, x(k))",
          "select(x(k) < t(i), x(k), 0.5)"}) {
      const std::string of = type;
      const Graph graph = parse_graph(
          "def f(" + of + "(70) x, " + of + "(40) t, " + of + "(40) v) -> (s, z) {\n  s(i) +=! " +
          term + " where i in 0:40, k in 0:70, k <= i + 30\n  z(i) = s(i) / 2.0\n}");
      SCOPED_TRACE(print(graph));
      std::vector<Array> inputs = small_inputs(graph, 3);
      inputs[0].set(5, std::numeric_limits<double>::quiet_NaN());
      inputs[0].set(69, std::numeric_limits<double>::infinity());
      inputs[2].set(7, std::numeric_limits<double>::infinity());
      const EmulatedProgram emulated(sched::default_schedule(graph, sched::kSlowGpu));
      EXPECT_EQ(difference(interpret(graph, inputs), emulated(inputs), 1e-4), "");
    }
}

TEST(GpuRegisterTiles, OfRandomGraphs) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph =
        random_graph(seed, {.stages = 4, .max_extent = 12, .all_dtypes = seed % 5 == 0});
    const sched::Program p = sched::default_schedule(graph, sched::kSlowGpu);
    const std::vector<Array> inputs = small_inputs(graph, seed);
    EXPECT_EQ(difference(interpret(graph, inputs), EmulatedProgram(p)(inputs), 1e-4), "")
        << seed << print(p);
  }
}

// Reads at places that data chooses, in layouts made for them.
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
