// tests/autosched/cpu/passes/loops/partition_matmul_test.cpp -- rows or columns of a matrix product
// as tasks.
#include "autosched/cpu/passes/loops/partition_matmul.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The axis of a product's outermost loop, "rows" or "columns", with tiles of `rows` x 32, of the
// stage at hand.
struct Order {
  Program program;
  size_t stage;
  int64_t rows;
};

Order tiled(Program program, size_t stage, int64_t rows) {
  program = vectorize(std::move(program), stage, 1, 16);
  program = unroll(std::move(program), stage, 0, rows);
  program = unroll(std::move(program), stage, 1, 2);
  return {std::move(program), stage, rows};
}

std::string outer(Order of, const CpuMachine& machine = {.cores = 2}, Choices choices = {}) {
  TileChoice tile;
  tile.vector_axis = 1;
  tile.lanes = 16;
  tile.factors = {of.rows, 2, 1};
  tile.cycles = 4e6;
  const Program ordered =
      order_product(std::move(of.program), of.stage, tile, machine, choices).program;
  return nest_of(ordered, of.stage).loops.front().axis == 0 ? "rows" : "columns";
}

Order product(int64_t m, int64_t n, int64_t k, int64_t rows, int cores = 2) {
  return tiled(initial_program(matmul_graph(m, n, k), CpuMachine{cores, 512}), 0, rows);
}

TEST(ProductTasks, AreOfTheAxisThatComesOutEvenly) {
  EXPECT_EQ(outer(product(126, 512, 256, 14)), "columns") << "9 tiles of rows, 16 of columns";
  EXPECT_EQ(outer(product(112, 512, 256, 14)), "rows") << "8 and 16";
  EXPECT_EQ(outer(product(112, 544, 256, 14)), "rows") << "8 and 17";
}

TEST(ProductTasks, AreOfRowsWhereTheirOperandLeavesTheCache) {
  EXPECT_EQ(outer(product(126, 512, 512, 14), {.cores = 2, .l2_bytes = 256 << 10}), "rows");
}

TEST(ProductTasks, AreOfRowsWhereTheResultIsMostOfTheWork) {
  EXPECT_EQ(outer(product(126, 512, 32, 14)), "rows");
}

TEST(ProductTasks, OneCoreHasNone) {
  EXPECT_EQ(outer(product(126, 512, 256, 14, 1), {.cores = 1}), "rows");
}

TEST(ProductTasks, AreADecision) {
  EXPECT_EQ(outer(product(126, 512, 256, 14), {.cores = 2}, Choices({{{Decision::Order, "C"}, 1}})),
            "rows");
}

// y = x w after a stage that makes one of the two, in tasks of its rows or of its columns.
Order after(const std::string& made, size_t tasks_axis) {
  const bool x = made == "x";
  Program program = initial_program(
      parse_graph(
          "def f(float(112, 256) a, float(256, 512) b) -> (y) { " + made + "(i, j) = 2 * " +
          (x ? "a(i, j) where i in 0:112, j in 0:256" : "b(i, j) where i in 0:256, j in 0:512") +
          "  y(i, j) +=! " + (x ? "x(i, r) * b(r, j)" : "a(i, r) * w(r, j)") +
          " where i in 0:112, j in 0:512, r in 0:256 }"),
      CpuMachine{2, 512});
  if (tasks_axis == 1) program = reorder(std::move(program), 0, std::vector<size_t>{1, 0});
  return tiled(parallel(std::move(program), 0, 1), 1, 14);
}

TEST(ProductTasks, AreOfTheOperandThatAnotherCoreWouldHaveWritten) {
  // Bytes that come slowly from other cores.
  const CpuMachine far{.cores = 2, .l3_bytes_per_cycle = 1};
  EXPECT_EQ(outer(after("w", 1), far), "columns") << "each core its own columns";
  EXPECT_EQ(outer(after("w", 0), far), "rows") << "half of w, either way, and the result later";
  EXPECT_EQ(outer(after("x", 0), far), "rows") << "each core its own rows";
}

// What data adds to has no dimension that its tasks are parts of: here they are parts of the third
// axis of the values, and the tensor has two dimensions.
TEST(ProductTasks, AreOfASumThatDataPlaced) {
  const Graph graph = parse_graph(
      "def f(int64(4, 5) I, float(4, 5, 512) x, float(512, 512) w) -> (y) { float(126, 512) h(I(a, "
      "b), c) += x(a, b, c) y(i, j) +=! h(i, r) * w(r, j) where i in 0:126, j in 0:512, r in 0:512 "
      "}");
  for (const size_t axis : {size_t{0}, size_t{1}, size_t{2}}) {
    Program program = initial_program(graph, CpuMachine{2, 512});
    std::vector<size_t> order{0, 1, 2};
    std::swap(order[0], order[axis]);
    const size_t scatter = program.graph.stages.size() - 2;
    ASSERT_EQ(program.graph.stages[scatter].kind, StageKind::Scatter);
    try {
      program = parallel(with_order(std::move(program), scatter, order), scatter, 1);
    } catch (const Error&) {
      continue;  // points of this axis do not write apart
    }
    EXPECT_EQ(outer(tiled(std::move(program), scatter + 1, 14)), "columns") << "9 tiles of rows";
  }
}

TEST(ProductTasks, OfADefaultSchedulePackAndMultiplyTheSameRows) {
  const Graph graph = product_graph(256, 784, 512, false, true);
  const Program program =
      default_schedule(graph, CpuMachine{.cores = 2, .l2_bytes = 2 << 20, .fma_bits = 1024});
  const std::string text = print(program);
  EXPECT_NE(text.find("packed (workspace), 4 tasks\n  parallel i0 in 0:8:2\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("4 tasks\n  parallel i0 in 0:256:64\n"), std::string::npos) << text;
  const Graph small = product_graph(32, 24, 512, false, true);  // what an interpreter can do
  expect_faithful(
      default_schedule(small, CpuMachine{.cores = 2, .l2_bytes = 2 << 20, .fma_bits = 1024}),
      small);
}

}  // namespace
}  // namespace adjit::sched
