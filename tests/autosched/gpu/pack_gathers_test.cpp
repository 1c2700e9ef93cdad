// tests/autosched/gpu/pack_gathers_test.cpp -- which operands are copied into another layout for
// reads at places that data chooses.
#include "autosched/gpu/pack_gathers.hpp"

#include <algorithm>
#include <string>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program packed(const Graph& graph, const GpuMachine& machine = kNarrowGpu) {
  Choices unasked;
  Program p = pack_gathers(initial_program(graph, machine), machine, unasked);
  expect_faithful(p, graph);
  return p;
}
Program packed(const std::string& text, const GpuMachine& machine = kNarrowGpu) {
  return packed(parse_graph("def f(" + text), machine);
}
std::string names(const Program& p) {
  std::string text;
  for (const Stage& stage : p.graph.stages)
    text += (text.empty() ? "" : " ") + stage_name(p.graph, stage);
  return text;
}
std::vector<int64_t> shape_of(const Program& p, const std::string& name) {
  const auto found = std::ranges::find(p.graph.tensors, name, &TensorInfo::name);
  return found == p.graph.tensors.end() ? std::vector<int64_t>{} : found->shape;
}

constexpr const char* kWarp =
    "float(32, 1000) x, int64(500, 8) n) -> (t) {\n t(j, k) +=! x(j, n(k, r))\n}";

TEST(PackGathers, ChannelsOfAWarpLieNextToEachOther) {
  const Program p = packed(kWarp);
  EXPECT_EQ(names(p), "x_packed t_transposed t");
  EXPECT_EQ(shape_of(p, "x_packed"), (std::vector<int64_t>{1000, 32}));
  EXPECT_EQ(shape_of(p, "t_transposed"), (std::vector<int64_t>{500, 32}));
}

TEST(PackGathers, ChannelsOfASumLieNextToEachOther) {
  const Program p = packed(
      "float(32, 1000) x, float(32, 500) g, int64(500, 8) n) -> (t) {\n"
      " t(k) +=! g(q, k) * x(q, n(k, r))\n}");
  EXPECT_EQ(names(p), "x_packed t");
  EXPECT_EQ(shape_of(p, "x_packed"), (std::vector<int64_t>{1000, 32}));
}

constexpr const char* kGrid = "float(12, 8, 100) x, int64(4000) n) -> (t";

TEST(PackGathers, FewPlacesThatDataChoosesFromLieNextToEachOther) {
  const Program p = packed(std::string(kGrid) + ") {\n t(j, k) = x(j, n(k), k // 40)\n}");
  EXPECT_EQ(names(p), "x_packed t");
  EXPECT_EQ(shape_of(p, "x_packed"), (std::vector<int64_t>{12, 100, 8}));
}

TEST(PackGathers, OneCopyServesAllReaders) {
  const Program p = packed(std::string(kGrid) +
                           ", s) {\n t(j, k) = x(j, n(k), k // 40)\n"
                           " s(j, k) = exp(x(j, n(k), k // 40))\n}");
  EXPECT_EQ(names(p), "x_packed t s");
}

TEST(PackGathers, WhatThreadsReadSideBySideStays) {
  for (const char* text : {
           "float(200, 32) x, int64(500) n) -> (t) { t(k, j) = x(n(k), j) }",
           "float(200, 32) x) -> (t) { t(j, k) = x(k, j) }",
           "float(200) x, int64(5000) n) -> (t) { t(k) = x(n(k)) }",
           "float(2, 200) x, int64(5000) n) -> (t) { t(j, k) = x(j, n(k)) }",
       })
    EXPECT_FALSE(has_move(packed(text), "pack")) << text;
}

TEST(PackGathers, ASmallKernelIsNotWorthACopy) {
  EXPECT_FALSE(has_move(packed(kWarp, kGpu), "pack"));
}

TEST(PackGathers, CopiesLargerThanWhatIsReadAreNotMade) {
  EXPECT_FALSE(has_move(
      packed("float(32, 4000) x, int64(100) n) -> (t) {\n t(j, k) = x(j, n(k))\n}"), "pack"));
}

TEST(PackGathers, WhereMemoryIsShortThereAreNoCopies) {
  const Graph graph = parse_graph("def f(" + std::string(kWarp));
  Choices short_of_memory(Answers{{{Decision::EagerOutputs, ""}, 1}});
  EXPECT_FALSE(has_move(
      pack_gathers(initial_program(graph, kNarrowGpu), kNarrowGpu, short_of_memory), "pack"));
}

TEST(PackGathers, StagesThatReadManyOperandsAreLeft) {
  const auto text = [](int operands) {
    std::string inputs, sum;
    for (int k = 0; k < operands; ++k) {
      const std::string x = "x" + std::to_string(k);
      inputs += "float(32, 1000) " + x + ", ";
      sum += (k > 0 ? " + " : "") + x + "(j, n(k))";
    }
    return inputs + "int64(4000) n) -> (t) {\n t(j, k) = " + sum + "\n}";
  };
  EXPECT_TRUE(has_move(packed(text(3)), "pack"));
  EXPECT_FALSE(has_move(packed(text(5)), "pack"));
}

// With a copy the program no longer fits into L2.
TEST(PackGathers, WhatCopiesTakeOfL2Counts) {
  const Graph graph = parse_graph(
      "def f(float(4, 1000000) x, int64(1000000) n, int64(1000000) m) -> (t) {\n"
      "  t(i, j) = x(i, n(j)) * x(i, m(j))\n}");
  EXPECT_FALSE(has_move(default_schedule(graph, kGpu), "pack"));
}

// Points that are sorted by what they write name the places that are read.
TEST(PackGathers, SortedPointsOfAScatterAreGathered) {
  const Graph graph = parse_graph(R"(def f(float(8, 1000) g, int64(1000, 2) n) -> (d) {
    scatter float(8, 500) d(j, n(k, q)) +=[drop] g(j, k) where j in 0:8, k in 0:1000, q in 0:2
  })");
  const Program p = default_schedule(graph, kNarrowGpu);
  expect_faithful(p, graph);
  EXPECT_TRUE(has_move(p, "pack"));
}

}  // namespace
}  // namespace adjit::sched
