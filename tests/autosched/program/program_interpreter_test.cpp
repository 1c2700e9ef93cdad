// tests/autosched/program/program_interpreter_test.cpp -- races that programs changed by hand have,
// each found; in programs without one, none.
#include "tests/autosched/program_interpreter.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "autosched/program/threads.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;
using Order = std::vector<size_t>;

void expect_race(const Program& p, std::string_view fault) {
  SCOPED_TRACE(print(p));
  for (uint32_t seed : {1, 2, 3}) try {
      interpret(p, some_inputs(p.graph), nullptr, seed);
      ADD_FAILURE() << "nothing was found";
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find(fault), std::string::npos) << error.what();
    }
}

void expect_no_race(const Program& p, const Graph& graph) {
  SCOPED_TRACE(print(p));
  for (uint32_t seed : {1, 2, 3})
    expect_close(interpret(graph, some_inputs(graph)),
                 interpret(p, some_inputs(graph), nullptr, seed));
}

Nest& root(Program& p) { return p.kernels.back().root; }

// e(i) = exp(x(i)), y(i) = e(i) + e of a neighbour: 16 points to 4 threads, e in the block's loop,
// or in the threads' loops, or with all of its results kept in the workspace.
Graph neighbours() {
  return parse_graph(R"(def neighbours(float(16) x) -> (y) {
  e(i) = exp(x(i)) where i in 0:16
  y(i) = e(i) + e(min(i + 1, 15)) where i in 0:16
})");
}
Program neighbours_at(size_t depth) {
  Program p = threads(tile(plain_on_gpu(neighbours()), 1, 0, Steps{8}), 1, 0, 4);
  return compute_at(std::move(p), 0, 1, depth);
}
TensorId e_of(const Program& p) { return p.graph.stages[0].results[0]; }

TEST(ProgramInterpreter, SharesAndKeepsWhatBlocksAndThreadsCompute) {
  const Graph g = neighbours();
  expect_no_race(neighbours_at(1), g);
  expect_no_race(neighbours_at(2), g);
  expect_no_race(neighbours_at(3), g);
  expect_no_race(threads(neighbours_at(1), 0, 0, 3), g);
}

// The threads of the block fill a buffer of which each reads what others made; then there is no
// barrier between.
TEST(ProgramInterpreter, FindsWhatIsReadBeforeTheBlockIsThere) {
  Program p = threads(neighbours_at(2), 0, 0, 4);
  EXPECT_EQ(first_thread_loop(root(p)), 2u);
  expect_no_race(p, neighbours());
  p.scopes[e_of(p).value] = Scope::Workspace;
  expect_no_race(p, neighbours());
  // The same results, one of each thread, in the threads' loops.
  root(p).attached[0].depth = 3;
  Nest& inside = root(p).attached[0].nest;
  inside.axis_base[0] += Affine::variable(root(p).loops[2].variable);
  inside.spans[0] = 1;
  inside.loops.clear();
  expect_race(p, "'e' is");
  p.scopes[e_of(p).value] = Scope::Local;
  expect_race(p, "'e' is one thread's own, and read by another");
}

TEST(ProgramInterpreter, PoisonsWhatTheBlockSharesBeforeItIsMadeAgain) {
  Program p = neighbours_at(1);
  Nest& e = root(p).attached[0].nest;
  e.axis_base[0] += Affine::variable(root(p).loops[0].variable);  // 8 of the 16 elements
  e.spans[0] = e.loops[0].trips = 8;
  const std::vector<Array> y = interpret(p, some_inputs(p.graph));
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(y[0].at(i)), i == 7) << i;
}

TEST(ProgramInterpreter, FindsTwoWritersOfAnElement) {
  // Each thread computes all elements for itself, and then stores them where all others do.
  Program p = neighbours_at(3);
  EXPECT_EQ(root(p).attached[0].nest.spans[0], 16);
  expect_no_race(p, neighbours());
  p.scopes[e_of(p).value] = Scope::Workspace;
  expect_race(p, "of 'e' is");
}

TEST(ProgramInterpreter, FindsReductionsOfSeveralThreadsThroughMemory) {
  const Graph g = column_sum_graph(8, 6);
  Program p = plain_on_gpu(g);
  root(p).loops[1].kind = LoopKind::Thread;
  expect_no_race(p, g);
  std::swap(root(p).loops[0], root(p).loops[1]);  // thread r, serial j
  expect_race(p, "update one element of 's'");
  root(p).loops[1].kind = LoopKind::Thread;  // thread r, thread j
  expect_no_race(p, g);
  root(p).loops[0].kind = LoopKind::Serial;  // serial r, thread j
  expect_no_race(p, g);
  root(p).loops[0].kind = LoopKind::Parallel;  // tasks in turn
  expect_no_race(p, g);
  root(p).loops[0].kind = LoopKind::Thread;
  root(p).loops[1].kind = LoopKind::Unrolled;  // thread r, unrolled j
  expect_no_race(p, g);
}

TEST(ProgramInterpreter, FindsNestsThatAreNeitherTheBlocksNorAThreads) {
  Program p = neighbours_at(2);
  ASSERT_EQ(root(p).loops[1].kind, LoopKind::Serial);
  root(p).loops[1].kind = LoopKind::Thread;
  root(p).loops[1].trips = 1;
  root(p).loops[0].kind = LoopKind::Serial;
  expect_race(p, "attached between two thread loops");
  Program inside = neighbours_at(3);
  root(inside).attached[0].nest.loops[0].kind = LoopKind::Thread;
  expect_race(inside, "one thread runs a thread loop");
}

TEST(ProgramInterpreter, FindsThreadsThatReduceWhatHasNoPartialResults) {
  const Graph g =
      parse_graph("def f(float(4, 5) x) -> (v, n) { (v, n)(i) argmax=! (x(i, s), 4 - s) }");
  Program p = plain_on_gpu(g);
  root(p).loops[0].kind = LoopKind::Thread;
  expect_no_race(p, g);
  root(p).loops[1].kind = LoopKind::Thread;
  expect_race(p, "no partial results");
}

TEST(ProgramInterpreter, CombinesWhatThreadsReduce) {
  for (const char* combine : {"+=!", "*=!", "max=!", "min=!"}) {
    const Graph g = parse_graph("def f(float(3, 7, 5) x) -> (s) { s(i) " + std::string(combine) +
                                " x(i, r, k) }");
    Program p = plain_on_gpu(g);
    root(p).loops[1].kind = root(p).loops[2].kind = LoopKind::Thread;
    expect_no_race(p, g);
    root(p).loops[0].kind = LoopKind::Thread;
    expect_no_race(p, g);
  }
}

// Whoever has the first of equal values, and the first NaN.
TEST(ProgramInterpreter, CombinesTheWinnersOfThreads) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double low = -std::numeric_limits<double>::infinity();
  const Graph g = parse_graph("def f(float(4, 6) x) -> (v, n) { (v, n)(i) argmax=! (x(i, s), s) }");
  Array x = Array::zeros(DType::Float32, {4, 6});
  const double values[] = {1,   3,   2,   3,   3,   0,   1,   nan, 2, nan, 3, 0,
                           low, low, low, low, low, low, low, 1,   1, 1,   1, 1};
  for (int64_t k = 0; k < 24; ++k) x.set(k, values[k]);
  const std::vector<Array> inputs{x};
  Program p = plain_on_gpu(g);
  root(p).loops[1].kind = LoopKind::Thread;
  for (uint32_t seed = 1; seed < 4; ++seed) {
    const std::vector<Array> found = interpret(p, inputs, nullptr, seed);
    for (const auto& [row, first] :
         {std::pair(0, 1.), std::pair(1, 1.), std::pair(2, 0.), std::pair(3, 1.)})
      EXPECT_EQ(found[1].at(row), first) << row;
  }
}

// A product by tiles: the block copies what its threads read at each step of the reduction.
TEST(ProgramInterpreter, RunsTiledProducts) {
  const Graph g = parse_graph(R"(def product(float(8, 12) a, float(12, 8) b) -> (c) {
  u(i, k) = 2.0 * a(i, k)
  c(i, j) +=! u(i, k) * b(k, j)
})");
  Program p = plain_on_gpu(g);
  for (const size_t axis : {0, 1}) p = threads(std::move(p), 1, axis, 4);
  p = tile(std::move(p), 1, 2, Steps{3});
  p = reorder(std::move(p), 1, Order{0, 2, 4, 1, 3, 5});
  p = compute_at(std::move(p), 0, 1, 3);
  p = threads(threads(std::move(p), 0, 0, 4), 0, 1, 3);
  p = parallel(std::move(p), 1, 2);
  expect_faithful(p, g);
  expect_no_race(p, g);
  EXPECT_EQ(block_threads(p.kernels[0]), 32);
}

}  // namespace
}  // namespace adjit::sched
