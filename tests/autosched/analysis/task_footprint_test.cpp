// What tasks of kernels write and read, compared.
#include "autosched/analysis/task_footprint.hpp"

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TensorId named(const Program& p, const std::string& name) {
  for (uint32_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.graph.tensors[t].name == name) return TensorId{t};
  return {};
}

// Stages over 6 rows, two rows a task.
Program in_pairs(const std::string& text) {
  Program p = initial_program(parse_graph(text), CpuMachine{2, 512});
  for (size_t s = 0; s < p.graph.stages.size(); ++s)
    p = parallel(tile(std::move(p), s, 0, std::vector<int64_t>{2}), s, 1);
  return p;
}

TEST(TaskRegions, PartsAndWhatPassesThemOn) {
  const Program p = in_pairs(
      "def f(float(6, 4) x) -> (b, c) {\n a(i, j) = x(i, j) * 2.0\n b(i, j) = x(i, j) + 1.0\n"
      " c(i, j) = a(i, j) + 3.0\n}");
  const TaskRegions regions(p);
  EXPECT_TRUE(regions.same_loops(0, 2, 1));
  EXPECT_TRUE(regions.follows(0, 2, 1));
  EXPECT_EQ(regions.slice(0, named(p, "a")), 2 * 4);
  EXPECT_EQ(regions.writer_of(named(p, "c")), 2u);
  EXPECT_EQ(regions.writer_of(named(p, "x")), SIZE_MAX) << "an input";
  EXPECT_EQ(regions.connected(0, 2), std::pair(size_t{2}, size_t{2})) << "b reads nothing of a";
  EXPECT_EQ(regions.connected(0, 3), std::pair(size_t{0}, size_t{3}));
}

// An input is read by the rows that the same task of a kernel writes of a tensor of its shape.
TEST(TaskRegions, InputsAgainstResults) {
  const auto covered = [](const std::string& body) {
    const Program p =
        in_pairs("def f(float(6, 4) x) -> (a) { a(i, j) = " + body + " where i in 0:6, j in 0:4 }");
    return TaskRegions(p).covered(0, named(p, "x"), named(p, "a"), 1);
  };
  EXPECT_TRUE(covered("x(i, j) * 2.0"));
  EXPECT_TRUE(covered("x(i, 3 - j) * 2.0"));
  EXPECT_FALSE(covered("x(5 - i, j) * 2.0"));
  EXPECT_FALSE(covered("x(i, j) + x(0, j)"));
}

// What has been made before does not count.
TEST(TaskRegions, KernelsApart) {
  const Program p = in_pairs(
      "def f(float(6, 4) x) -> (c) {\n a(i, j) = x(i, j) * 2.0\n b(i, j) = x(5 - i, j)\n"
      " c(i, j) = a(i, j) + b(5 - i, j)\n}");
  const TaskRegions regions(p);
  EXPECT_FALSE(regions.follows(0, 2, 1));
  EXPECT_TRUE(regions.follows(0, 2, 1, {false, true, false}));
}

}  // namespace
}  // namespace adjit::sched
