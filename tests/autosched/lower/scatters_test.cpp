// tests/autosched/lower/scatters_test.cpp -- a lowered scatter has an initial tensor of its own,
// accumulates widely, and writes in range or is told so by a negative target.
#include "autosched/lower/scatters.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/verify.hpp"
#include "autosched/program/points.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Array whole(std::vector<double> values) {
  return Array::of(DType::Int64, {static_cast<int64_t>(values.size())}, values);
}

const Stage& scatter_of(const Graph& graph) {
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scatter) return stage;
  throw std::logic_error("there is no scatter");
}

// What every lowered scatter is.
void expect_lowered(const Graph& graph) {
  const Stage& scatter = scatter_of(graph);
  ASSERT_TRUE(scatter.initial.valid());
  EXPECT_NE(defining_stages(graph)[scatter.initial.value], SIZE_MAX);
  EXPECT_EQ(scatter.out_of_range, OutOfRange::Drop);
  size_t readers = 0;
  for (const Stage& stage : graph.stages)
    for (TensorId t : tensors_read(graph, stage)) readers += t == scatter.initial;
  EXPECT_EQ(readers, 1u);
  const DType dtype = graph.info(scatter.results[0]).dtype;
  EXPECT_EQ(accumulator_of(dtype), dtype);
}

Graph lowered(const std::string& body, const std::vector<Array>& inputs,
              const std::string& arguments = "float(6) x, int64(6) n, float(4) h0") {
  const LoweredGraph graph(parse_graph("def f(" + arguments + ") -> (h) {\n" + body + "\n}"));
  const Graph result = lower_scatters(LoweredGraph(graph));
  verify(result);
  expect_lowered(result);
  expect_close(interpret(graph, inputs), interpret(result, inputs));
  return result;
}

std::vector<Array> inputs_with(std::vector<double> indices) {
  return {Array::of(DType::Float32, {6}, std::vector<double>{1, 2, 4, 8, 16, 32}),
          whole(std::move(indices)),
          Array::of(DType::Float32, {4}, std::vector<double>{100, 200, 300, 400})};
}

TEST(LowerScatters, EveryModeAndStart) {
  for (const char* mode : {"drop", "clip", "wrap"})
    for (const char* start : {"", " from h0"})
      for (const char* combiner : {"+", "max", ""}) {
        SCOPED_TRACE(std::string(combiner) + mode + start);
        lowered("scatter float(4) h(n(i)) " + std::string(combiner) + "=[" + mode + "] x(i)" +
                    start + " where i in 0:6",
                inputs_with({0, -3, 3, 4, 9, 0}));
      }
  lowered("scatter float(4) h(n(i)) += x(i) from h0 where i in 0:6",
          inputs_with({0, 1, 3, 3, 2, 0}));
}

TEST(LowerScatters, WhatAStageMadeForItIsUpdatedInPlace) {
  const Graph own =
      lowered("s(i) = h0(i) * 2\nscatter float(4) h(n(i)) +=[drop] x(i) from s where i in 0:6",
              inputs_with({0, -3, 3, 4, 9, 0}));
  EXPECT_EQ(own.info(scatter_of(own).initial).name, "s");
  const Graph shared = lowered(
      "s(i) = h0(i) * 2\nscatter float(4) g(n(i)) +=[drop] x(i) from s where i in 0:6\n"
      "h(i) = g(i) + s(i)",
      inputs_with({0, -3, 3, 4, 9, 0}));
  EXPECT_NE(shared.info(scatter_of(shared).initial).name, "s");
}

TEST(LowerScatters, ProvenTargetsStayAffine) {
  const Graph graph = lowered("scatter float(4) h(3 - i // 2) += x(i) where i in 0:6",
                              inputs_with({0, 0, 0, 0, 0, 0}));
  Domain domain = scatter_of(graph).domain;
  EXPECT_TRUE(as_affine(graph.pool, scatter_of(graph).target[0], domain).has_value());
  // An axis beside an index by data still makes up its coordinate alone.
  const Graph rows =
      lowered("scatter float(4, 6) h(n(i), j) +=[drop] x(i) * x(j) where i in 0:6, j in 0:6",
              inputs_with({0, -3, 3, 4, 9, 0}));
  EXPECT_TRUE(rows.pool.is(scatter_of(rows).target[1], Op::Axis));
  EXPECT_TRUE(rows.pool.is(scatter_of(rows).target[0], Op::Select));
}

TEST(LowerScatters, HalvesAreRoundedOnce) {
  const Graph graph =
      lowered("scatter half(2) h(0 * i) += x(i) where i in 0:3000",
              {Array::of(DType::Float16, {3000}, std::vector<double>(3000, 1))}, "half(3000) x");
  EXPECT_EQ(graph.info(scatter_of(graph).results[0]).dtype, DType::Float32);
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Float16);
}

TEST(LowerScatters, OneThatNeverWritesVisitsNothing) {
  const Graph graph = lowered("scatter float(4) h(i + 4) +=[drop] x(i) from h0 where i in 0:6",
                              inputs_with({0, 0, 0, 0, 0, 0}));
  const Graph constant = lowered("scatter float(4) h(7) +=[drop] x(i) from h0 where i in 0:6",
                                 inputs_with({0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(scatter_of(constant).domain.box_points(), 0);
  EXPECT_EQ(scatter_of(graph).domain.box_points(), 6);  // what only the points tell
}

TEST(LowerScatters, OtherGraphsStayAsTheyAre) {
  const LoweredGraph graph(matmul_graph(2, 3, 4));
  EXPECT_EQ(print(lower_scatters(graph)), print(graph));
}

}  // namespace
}  // namespace adjit::sched
