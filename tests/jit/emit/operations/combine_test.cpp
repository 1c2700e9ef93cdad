// tests/jit/emit/operations/combine_test.cpp -- every combiner on every dtype, in order, in copies,
// in lanes of the result and of the reduction.
#include "jit/emit/operations/combine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr int64_t kRows = 13, kTerms = 37;

// y[i] = combine over r of x[i, r].
Graph reduction(CombinerKind kind, DType dtype) {
  Graph graph;
  const TensorId x = add_input(graph, "x", dtype, {kRows, kTerms});
  const ExprId value = read(graph, x, std::vector<ExprId>{graph.pool.axis(0), graph.pool.axis(1)});
  std::vector<ExprId> bodies{value};
  if (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin)
    bodies.push_back(graph.pool.axis(1));
  Domain domain;
  domain.extents = {kRows, kTerms};
  domain.output_rank = 1;
  Combiner combiner;
  combiner.kind = kind;
  graph.outputs = add_compute(graph, "y", domain, combiner, bodies);
  return graph;
}

// Few values, so that extremes tie; products stay small.
std::vector<Array> terms(const Graph& graph, CombinerKind kind) {
  const TensorInfo& info = graph.info(graph.inputs[0]);
  Array x = Array::zeros(info.dtype, info.shape);
  Random random(static_cast<uint64_t>(kind) + 9);
  for (int64_t k = 0; k < x.element_count(); ++k) {
    const bool small = kind == CombinerKind::Product && is_float(info.dtype);
    const double value = small ? std::ldexp(1 + random.between(0, 1), -1)
                               : static_cast<double>(random.between(-6, 6));
    x.set(k, info.dtype == DType::Bool ? static_cast<double>(random.chance(90)) : value);
  }
  return {x};
}

bool takes_lanes(CombinerKind kind) {
  return kind != CombinerKind::ArgMax && kind != CombinerKind::ArgMin;
}

using Schedule = std::pair<const char*, std::function<Program(Program)>>;

std::vector<Schedule> schedules(bool lanes_of_reduction) {
  const auto order = [](Program p, std::vector<size_t> loops) {
    return reorder(std::move(p), 0, loops);
  };
  std::vector<Schedule> list{
      {"plain", [](Program p) { return p; }},
      {"lanes of the result", [](Program p) { return vectorize(std::move(p), 0, 0, 8); }},
      {"copies of the result", [](Program p) { return unroll(std::move(p), 0, 0, 3); }},
      {"copies and lanes of the result",
       [](Program p) { return unroll(vectorize(std::move(p), 0, 0, 4), 0, 0, 2); }},
      {"copies of the reduction", [](Program p) { return unroll(std::move(p), 0, 1, 4); }},
      {"copies of both", [](Program p) { return unroll(unroll(std::move(p), 0, 0, 2), 0, 1, 5); }},
      {"lanes of the result, copies of the reduction",
       [](Program p) { return unroll(vectorize(std::move(p), 0, 0, 4), 0, 1, 3); }},
      {"resumed",
       [=](Program p) {
         return order(tile(std::move(p), 0, 1, std::vector<int64_t>{10}), {1, 0, 2});
       }},
      {"resumed in lanes",
       [=](Program p) {
         p = order(tile(std::move(p), 0, 1, std::vector<int64_t>{10}), {1, 0, 2});
         return vectorize(std::move(p), 0, 0, 4);
       }},
  };
  if (!lanes_of_reduction) return list;
  list.push_back(
      {"lanes of the reduction", [](Program p) { return vectorize(std::move(p), 0, 1, 8); }});
  list.push_back({"chains of lanes of the reduction",
                  [](Program p) { return unroll(vectorize(std::move(p), 0, 1, 4), 0, 1, 2); }});
  list.push_back({"lanes of the reduction, resumed", [=](Program p) {
                    p = order(tile(std::move(p), 0, 1, std::vector<int64_t>{12}), {1, 0, 2});
                    return vectorize(std::move(p), 0, 1, 4);
                  }});
  for (const int64_t copies : {2, 3, 4, 6, 8, 13})
    list.push_back({"lanes of the reduction, copies of the result", [=](Program p) {
                      return vectorize(unroll(std::move(p), 0, 0, copies), 0, 1, 4);
                    }});
  list.push_back({"lanes of the reduction, copies of both", [](Program p) {
                    p = vectorize(unroll(std::move(p), 0, 0, 4), 0, 1, 8);
                    return unroll(std::move(p), 0, 1, 2);
                  }});
  list.push_back({"lanes of the reduction, copies of the result, resumed", [=](Program p) {
                    p = order(tile(std::move(p), 0, 1, std::vector<int64_t>{12}), {1, 0, 2});
                    return vectorize(unroll(std::move(p), 0, 0, 4), 0, 1, 4);
                  }});
  return list;
}

void check(CombinerKind kind, DType dtype) {
  const Graph graph = reduction(kind, dtype);
  const std::vector<Array> inputs = terms(graph, kind);
  const std::vector<Array> expected = interpret(graph, inputs);
  for (const auto& [name, schedule] : schedules(takes_lanes(kind))) {
    Program program = initial_program(graph, CpuMachine{1, 512});
    try {
      program = schedule(std::move(program));
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what();
      continue;
    }
    const bool half = dtype == DType::Float16 || dtype == DType::BFloat16;
    EXPECT_EQ(difference(expected, EmittedProgram(program)(inputs), half ? 1e-2 : 1e-6), "")
        << name_of(kind) << " of " << name_of(dtype) << ", " << name;
  }
}

class Combiners : public ::testing::TestWithParam<DType> {};

TEST_P(Combiners, UnderEverySchedule) {
  using enum CombinerKind;
  if (GetParam() == DType::Bool) {
    for (CombinerKind kind : {Any, All, Max, Min}) check(kind, DType::Bool);
    return;
  }
  for (CombinerKind kind : {Sum, Product, Max, Min, ArgMax, ArgMin}) check(kind, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes, Combiners,
                         ::testing::Values(DType::Bool, DType::UInt8, DType::Int8, DType::Int16,
                                           DType::Int32, DType::Int64, DType::Float16,
                                           DType::BFloat16, DType::Float32, DType::Float64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Combine, ArgMaxAndCustomHaveNoLanesOfTheReduction) {
  const Graph argmax = reduction(CombinerKind::ArgMax, DType::Float32);
  expect_refused([&] { vectorize(initial_program(argmax, CpuMachine{1, 512}), 0, 1, 8); }, "");
  const Graph custom = parse_graph(
      "def main(float(3, 20) x) -> (m, n) {"
      " (m, n)(i) custom=! (x(i, r), 1) combine (a, b), (c, d) -> (max(a, c), b + d)"
      " identity (-inf, 0) }");
  expect_refused([&] { vectorize(initial_program(custom, CpuMachine{1, 512}), 0, 1, 8); }, "");
}

TEST(Combine, OnlineSoftmaxInLanesOfTheResult) {
  const Graph graph = parse_graph(
      "def main(float(21, 30) x) -> (m, s) {"
      " (m, s)(i) custom=! (x(i, r), 1.0) combine (m0, s0), (m1, s1) -> let top = max(m0, m1);"
      " (top, s0 * exp(m0 - top) + s1 * exp(m1 - top)) identity (-1e30, 0.0) }");
  const std::vector<Array> inputs = small_inputs(graph, 4);
  const std::vector<Array> expected = interpret(graph, inputs);
  for (const auto& [name, schedule] : schedules(false))
    EXPECT_EQ(
        difference(expected,
                   EmittedProgram(schedule(initial_program(graph, CpuMachine{1, 512})))(inputs),
                   1e-5),
        "")
        << name;
}

// NaN wins, the first NaN keeps its place, of equal values the first does.
TEST(Combine, ArgumentsOfSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Graph graph = parse_graph(
      "def main(float(6, 5) x) -> (v, at, w, to) {"
      " (v, at)(i) argmax=! (x(i, r), r) (w, to)(i) argmin=! (x(i, r), r) }");
  const std::vector<Array> inputs{
      Array::of(DType::Float32, {6, 5},
                std::vector<double>{1,    nan,  7,    nan,  9,    nan,  1,   2,   3,   4,
                                    -inf, -inf, -inf, -inf, -inf, inf,  inf, inf, inf, inf,
                                    0,    -0.0, 0,    -0.0, 0,    -inf, nan, inf, 5,   nan})};
  for (const bool lanes : {false, true}) {
    Program program = initial_program(graph, CpuMachine{1, 512});
    if (lanes)
      for (size_t s : {0, 1}) program = vectorize(std::move(program), s, 0, 4);
    EXPECT_EQ(check_emitted(program, inputs), "");
  }
}

// The first point that is visited counts, even where its value equals the identity.
TEST(Combine, ArgumentsOfWindowsThatSkipTheirFirstPoints) {
  const double inf = std::numeric_limits<double>::infinity();
  const Graph graph = parse_graph(
      "def main(float(33) x) -> (v, at, w, to) {"
      " (v, at)(i) argmax=! (x(r), r) where i in 0:35, r in 0:33, r >= i\n"
      " (w, to)(i) argmin=! (-x(r), 5 - r) where i in 0:35, r in 0:33, i <= 40 }");
  for (const bool finite : {false, true}) {
    std::vector<double> values(33, -inf);
    values[0] = 9;
    if (finite) values[20] = 3;
    const std::vector<Array> inputs{Array::of(DType::Float32, {33}, values)};
    const std::vector<Array> expected = interpret(graph, inputs);
    for (const auto& [name, schedule] : schedules(false))
      EXPECT_EQ(
          difference(expected,
                     EmittedProgram(schedule(initial_program(graph, CpuMachine{1, 512})))(inputs),
                     0),
          "")
          << name;
    // Passes of passes, the last of them short.
    Program program =
        tile(initial_program(graph, CpuMachine{1, 512}), 0, 1, std::vector<int64_t>{20, 5});
    program = reorder(std::move(program), 0, std::vector<size_t>{1, 2, 0, 3});
    EXPECT_EQ(difference(expected, EmittedProgram(program)(inputs), 0), "");
  }
}

// Payloads of 32 bits, as derivatives number the points of a window; copies along its last axis.
TEST(Combine, ArgumentsOf32Bits) {
  const double inf = std::numeric_limits<double>::infinity();
  const Graph graph = parse_graph(
      "def main(float(9, 41) x) -> (v, at) {"
      " (v, at)(i, j) argmax=! (x(2 * i + a - 1, 2 * j + b - 1), int32(3 * a + b))"
      " where i in 0:5, j in 0:21, a in 0:3, b in 0:3,"
      " 2 * i + a >= 1, 2 * j + b >= 1, 2 * i + a <= 9, 2 * j + b <= 41 }");
  EXPECT_EQ(graph.info(graph.outputs[1]).dtype, DType::Int32);
  EXPECT_EQ(print(parse_graph(print(graph))), print(graph));
  for (const double filler : {-inf, 0.0, std::nan("")}) {
    std::vector<double> values(9 * 41, filler);
    for (size_t k = 0; k < values.size(); k += 5) values[k] = static_cast<double>(k % 7);
    const std::vector<Array> inputs{Array::of(DType::Float32, {9, 41}, values)};
    for (const bool copies : {false, true}) {
      Program program = vectorize(initial_program(graph, CpuMachine{1, 256}), 0, 1, 8);
      if (copies) program = unroll(std::move(program), 0, 3, 3);
      EXPECT_EQ(check_emitted(program, inputs), "");
    }
  }
}

// Data may be the integer that marks an empty payload of 32 bits: it is kept in 64.
TEST(Combine, PayloadsOfDataStay64Bits) {
  const Graph graph = parse_graph(
      "def main(float(8, 3) x, int64(8, 3) p) -> (v, at) { (v, at)(i) argmax=! (x(i, r), "
      "int32(p(i, r))) }");
  EXPECT_EQ(graph.info(graph.outputs[1]).dtype, DType::Int64);
  std::vector<double> values(24, 1), payloads(24, 2);
  for (size_t k = 0; k < 24; k += 3) values[k] = 5, payloads[k] = -2147483648.0;
  const std::vector<Array> inputs{Array::of(DType::Float32, {8, 3}, values),
                                  Array::of(DType::Int64, {8, 3}, payloads)};
  EXPECT_EQ(check_emitted(vectorize(initial_program(graph, CpuMachine{1, 256}), 0, 0, 8), inputs),
            "");
}

TEST(Combine, NothingReducedIsTheIdentity) {
  for (const char* statement : {"+=! x(i, r)", "*=! x(i, r)", "max=! x(i, r)", "min=! x(i, r)",
                                "any=! x(i, r) > 0.0", "all=! x(i, r) > 0.0"}) {
    const Graph graph = parse_graph(std::string("def main(float(5, 0) x) -> (y) { y(i) ") +
                                    statement + " where i in 0:5, r in 0:0 }");
    const std::vector<Array> inputs{Array::zeros(DType::Float32, {5, 0})};
    EXPECT_EQ(difference(interpret(graph, inputs),
                         EmittedProgram(initial_program(graph, CpuMachine{1, 512}))(inputs), 0),
              "")
        << statement;
  }
}

// Half types accumulate in float32: 4096 ones are 4096, though 2048 + 1 is no half.
TEST(Combine, HalvesAccumulateInFloat) {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    Graph graph;
    const TensorId x = add_input(graph, "x", dtype, {4096});
    Domain domain;
    domain.extents = {16, 4096};
    domain.output_rank = 1;
    Combiner sum;
    sum.kind = CombinerKind::Sum;
    graph.outputs = add_compute(graph, "y", domain, sum,
                                {read(graph, x, std::vector<ExprId>{graph.pool.axis(1)})});
    const std::vector<Array> inputs{Array::of(dtype, {4096}, std::vector<double>(4096, 1.0))};
    for (const auto& [name, schedule] : schedules(true)) {
      if (std::string_view(name).find("resumed") != std::string_view::npos) continue;
      const std::vector<Array> y =
          EmittedProgram(schedule(initial_program(graph, CpuMachine{1, 512})))(inputs);
      EXPECT_EQ(y[0].at(1), 4096) << name_of(dtype) << ", " << name;
    }
  }
}

// Sums of products are fused; lanes of a reduction are folded by shuffles, not through memory.
TEST(Combine, SumsStayInRegisters) {
  const Graph graph = matmul_graph(8, 16, 40);
  const EmittedProgram plain(initial_program(graph, CpuMachine{1, 512}));
  EXPECT_EQ(occurrences(plain.ir(), target_has_fma() ? "call float @llvm.fma.f32" : "fmul float"),
            1u);
  EXPECT_EQ(occurrences(plain.ir(), "store float"), 1u);
  const EmittedProgram lanes(
      vectorize(initial_program(total_graph(4, 64), CpuMachine{1, 512}), 0, 1, 16));
  EXPECT_EQ(occurrences(lanes.ir(), "shufflevector"), 8u) << "16 lanes halve four times";
  EXPECT_EQ(occurrences(lanes.ir(), "store float"), 1u);
  EXPECT_EQ(occurrences(lanes.ir(), "alloca"), 0u);
}

// Results of copies that lie one behind the other are folded and stored together; others are folded
// together, too.
TEST(Combine, LanesOfSeveralResultsAreFoldedTogether) {
  const auto sums = [](int64_t rows, int64_t columns = 1) {
    const std::string m = std::to_string(rows), n = std::to_string(columns);
    Program p = initial_program(
        parse_graph("def f(float(" + m + ", " + n + ", 64) x) -> (y) { y(i, j) +=! x(i, j, r) }"),
        CpuMachine{1, 512});
    return checked_ir(vectorize(unroll(std::move(p), 0, 0, rows), 0, 2, 16));
  };
  const std::string eight = sums(8);
  EXPECT_EQ(occurrences(eight, "store <8 x float>"), 1u) << eight;
  EXPECT_EQ(occurrences(eight, "store float"), 0u);
  EXPECT_EQ(occurrences(eight, "shufflevector"), 2u * (4 + 2 + 1 + 1)) << "halves of pairs";
  EXPECT_EQ(occurrences(sums(16), "store <16 x float>"), 1u);
  const std::string six = sums(6);
  EXPECT_EQ(occurrences(six, "store <4 x float>"), 1u) << six;
  EXPECT_EQ(occurrences(six, "store <2 x float>"), 1u);
  const std::string apart = sums(8, 5);
  EXPECT_EQ(occurrences(apart, "shufflevector"), 2u * (4 + 2 + 1 + 1)) << apart;
  EXPECT_EQ(occurrences(apart, "store <"), 0u);
}

}  // namespace
}  // namespace adjit::testing
