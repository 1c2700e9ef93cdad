// An axis of several stages in blocks: what they compute stays the same.
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;
using Axes = std::vector<StageAxis>;

const char* const kRows =
    "def main(float(12, 5) x, float(5) y) -> (m, v) {\n"
    "  s(i, j) = exp(x(i, j)) * y(j)\n"
    "  m(i) max=! s(i, r)\n"
    "  v(j) +=! s(r, j) * x(r, j) where j in 0:5, r in 0:12\n}";

const TensorInfo& tensor(const Program& p, const std::string& name) {
  for (const TensorInfo& info : p.graph.tensors)
    if (info.name == name) return info;
  ADD_FAILURE() << "no tensor " << name;
  return p.graph.tensors.front();
}

TEST(BlockAxis, OfResultsAndSums) {
  const Graph graph = parse_graph(kRows);
  const Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 0}, {2, 1}}, Steps{4});
  EXPECT_EQ(tensor(p, "s").shape, (std::vector<int64_t>{3, 4, 5})) << "only these stages read it";
  EXPECT_EQ(tensor(p, "m").shape, (std::vector<int64_t>{12})) << "an output";
  EXPECT_EQ(tensor(p, "m_blocks").shape, (std::vector<int64_t>{3, 4}));
  const Stage& v = p.graph.stages[stage_of(p, "v")];
  EXPECT_EQ(v.domain.extents, (std::vector<int64_t>{5, 3, 4}));
  EXPECT_TRUE(v.domain.is_box());
  expect_faithful(p, graph);
}

TEST(BlockAxis, OfSeveralSteps) {
  const Graph graph = parse_graph(kRows);
  const Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 0}, {2, 1}}, Steps{6, 3});
  EXPECT_EQ(tensor(p, "s").shape, (std::vector<int64_t>{2, 2, 3, 5}));
  expect_faithful(p, graph);
}

// The last block has points that are none.
TEST(BlockAxis, OfUnequalParts) {
  const Graph graph = parse_graph(kRows);
  for (const Steps& steps : {Steps{5}, Steps{7}, Steps{8, 4}, Steps{10, 5, 1}}) {
    const Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 0}, {2, 1}}, steps);
    EXPECT_FALSE(p.graph.stages[stage_of(p, "v")].domain.is_box());
    expect_faithful(p, graph);
  }
}

// Parts become results, the blocks within them stay a reduction.
TEST(BlockAxis, PartsOfASum) {
  const Graph graph = parse_graph(kRows);
  Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 0}, {2, 1}}, Steps{6, 2});
  const size_t v = stage_of(p, "v");
  p = rfactor(std::move(p), v, 1, 2);
  const Stage& parts = p.graph.stages[stage_of(p, "v_parts")];
  EXPECT_EQ(parts.domain.extents, (std::vector<int64_t>{2, 5, 1, 3, 2}));
  expect_faithful(p, graph);
}

// Readers outside, and those that read other rows than their own, take what is put together.
TEST(BlockAxis, ReadOtherwise) {
  const Graph graph = parse_graph(
      "def main(float(9, 4) x) -> (z, w) {\n"
      "  (a, b)(i, j) = (x(i, j) + 1.0, x(i, j) * 2.0)\n"
      "  z(i, j) = a(i, j) + a(8 - i, j) + b(i, j)\n"
      "  w(i) +=! b(i, r)\n}");
  const Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 0}}, Steps{3});
  EXPECT_EQ(tensor(p, "a").shape, (std::vector<int64_t>{9, 4}));
  EXPECT_EQ(tensor(p, "a_blocks").shape, (std::vector<int64_t>{3, 3, 4}));
  expect_faithful(p, graph);
  const Program inside = split_axis(plain(graph), Axes{{0, 0}, {2, 0}}, Steps{4});
  EXPECT_EQ(tensor(inside, "b").shape, (std::vector<int64_t>{9, 4})) << "z reads it as well";
  expect_faithful(inside, graph);
}

// Zeros around an operand do not stand for rows where another one is infinite.
TEST(BlockAxis, OfMaximaKeepsItsRows) {
  const Graph graph = parse_graph(
      "def main(float(22, 5) x, float(22, 8) z) -> (y) {\n"
      "  m(i) max=! x(i, r)\n  y(j) +=! m(r) * z(r, j) where j in 0:8, r in 0:22\n}");
  const Program p = split_axis(plain(graph), Axes{{0, 0}, {1, 1}}, Steps{7});
  expect_faithful(p, graph);
  Packing zeros;
  zeros.dimensions = {{0, 1, 0}, {1, 1, 0}};
  zeros.padding_before = {0, 0};
  zeros.padding_after = {6, 0};
  zeros.instead_of_rows = true;
  expect_refused([&] { pack(p, stage_of(p, "y"), p.graph.inputs[1], zeros); }, "infinite");
}

TEST(BlockAxis, IsRefused) {
  const Graph graph = parse_graph(kRows);
  const auto refused = [&](const Axes& axes, const Steps& steps, const char* why) {
    expect_refused([&] { split_axis(plain(graph), axes, steps); }, why);
  };
  refused({}, {4}, "needs a stage");
  refused({{0, 0}, {0, 0}}, {4}, "there twice");
  refused({{0, 7}}, {4}, "no such axis");
  refused({{0, 0}, {1, 1}}, {4}, "differ in their extents");
  refused({{0, 0}}, {}, "shorter than the axis");
  refused({{0, 0}}, {12}, "shorter than the axis");
  refused({{0, 0}}, {0}, "1 point or more");
  refused({{0, 0}}, {6, 4}, "divide the one before");
  refused({{0, 0}}, {6, 6}, "divide the one before");
  const Program attached = compute_at(plain(graph), 0, 1, 1);
  (void)attached;
  const Graph running = parse_graph(
      "def main(float(8) x) -> (y) {\n  y(i) +=! x(r_k) where i in 0:8, r_k in 0:8, r_k <= i\n}");
  expect_refused(
      [&] { split_axis(initial_program(running, CpuMachine{2, 512}), Axes{{0, 0}}, Steps{4}); },
      "only compute stages");
}

}  // namespace
}  // namespace adjit::sched
