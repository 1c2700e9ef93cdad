// tests/runtime/trace/ops/reduction_test.cpp -- reductions, running reductions and contractions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

const Array kMatrix = f64({2, 3}, {1, 5, 2, -3, 4, 0.5});

TEST(Reduction, AxesAndKeepdims) {
  expect_near(run("sum", {kMatrix}), {9.5});
  expect_near(run("sum", {kMatrix}, R"({"axis": -1})"), {8, 1.5});
  const Array kept = run("sum", {kMatrix}, R"({"axis": 0, "keepdims": true})");
  EXPECT_EQ(kept.shape, (Shape{1, 3}));
  expect_near(kept, {-2, 9, 2.5});
  expect_near(run("max", {kMatrix}, R"({"axis": [1]})"), {5, 4});
  expect_near(run("min", {kMatrix}), {-3});
  expect_near(run("prod", {kMatrix}, R"({"axis": 1})"), {10, -6});
  expect_near(run("sum", {kMatrix}, R"({"axis": []})"), {1, 5, 2, -3, 4, 0.5});
  EXPECT_THROW(run("sum", {kMatrix}, R"({"axis": [1, -1]})"), Error);
}

TEST(Reduction, Moments) {
  const double mean = 9.5 / 6;
  double squares = 0;
  for (double x : values(kMatrix)) squares += (x - mean) * (x - mean);
  expect_near(run("mean", {kMatrix}), {mean});
  expect_near(run("var", {kMatrix}), {squares / 6});
  expect_near(run("std", {kMatrix}, R"({"correction": 1})"), {std::sqrt(squares / 5)});
}

TEST(Reduction, AveragesOfIntegersAndBoolsAreFloat64) {
  for (const Array& x : {i64({4}, {1, 2, 3, 4}), array(DType::UInt8, {4}, {1, 2, 3, 4})}) {
    EXPECT_EQ(run("mean", {x}).dtype, DType::Float64);
    expect_near(run("mean", {x}), {2.5});
    expect_near(run("var", {x}), {1.25});
    expect_near(run("std", {x}), {std::sqrt(1.25)});
  }
  expect_near(run("mean", {array(DType::Bool, {4}, {1, 0, 1, 1})}), {0.75});
}

TEST(Reduction, ExtremesOfBools) {
  const Array x = array(DType::Bool, {3, 2}, {0, 0, 0, 1, 1, 1});
  expect_near(run("max", {x}, R"({"axis": 1})"), {0, 1, 1});
  expect_near(run("min", {x}, R"({"axis": 1})"), {0, 0, 1});
  expect_near(run("argmax", {x}, R"({"axis": 1})"), {0, 1, 0});
  expect_near(run("argmin", {x}, R"({"axis": 1})"), {0, 0, 0});
}

TEST(Reduction, LogsumexpOfNothing) {
  expect_near(run("logsumexp", {f64({2, 0}, {})}, R"({"axis": 1})"), {-kInf, -kInf});
  EXPECT_EQ(run("logsumexp", {f64({2, 0}, {})}, R"({"axis": 1, "keepdims": true})").shape,
            (Shape{2, 1}));
}

TEST(Reduction, LogsumexpIsStable) {
  expect_near(run("logsumexp", {f64({2}, {1000, 1000})}), {1000 + std::log(2.0)});
  EXPECT_EQ(run("logsumexp", {f64({2}, {-kInf, -kInf})}).at(0), -kInf);
  EXPECT_EQ(run("logsumexp", {kMatrix}, R"({"axis": 1, "keepdims": true})").shape, (Shape{2, 1}));
}

TEST(Reduction, IntegersSumInInt64) {
  const Array bytes = array(DType::UInt8, {3}, {200, 200, 200});
  EXPECT_EQ(run("sum", {bytes}).dtype, DType::Int64);
  expect_near(run("sum", {bytes}), {600});
  expect_near(run("sum", {array(DType::Bool, {3}, {1, 0, 1})}), {2});
  expect_near(run("count_nonzero", {kMatrix}), {6});
}

TEST(Reduction, Positions) {
  expect_near(run("argmax", {kMatrix}), {1});
  expect_near(run("argmin", {kMatrix}, R"({"axis": 1})"), {0, 0});
  expect_near(run("argmax", {f64({4}, {1, 3, 3, 2})}, R"({"axis": 0})"), {1});
  expect_near(run("argmax", {f64({3}, {1, std::nan(""), 3})}), {1});
  EXPECT_EQ(run("argmax", {kMatrix}, R"({"keepdims": true})").shape, (Shape{1, 1}));
}

TEST(Reduction, EmptyAxes) {
  const Array empty = f64({0, 3}, {});
  expect_near(run("sum", {empty}, R"({"axis": 0})"), {0, 0, 0});
  expect_near(run("prod", {empty}, R"({"axis": 0})"), {1, 1, 1});
  EXPECT_EQ(run("max", {empty}, R"({"axis": 1})").shape, (Shape{0}));
  try {
    run("max", {empty}, R"({"axis": 0})");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Shape);
    EXPECT_NE(std::string(e.what()).find("(0, 3)"), std::string::npos) << e.what();
  }
}

TEST(Cumulative, RunningFolds) {
  const Array x = f64({2, 3}, {1, 2, 3, 3, 1, 2});
  expect_near(run("cumsum", {x}, R"({"axis": 1})"), {1, 3, 6, 3, 4, 6});
  expect_near(run("cumsum", {x}, R"({"axis": 1, "reverse": true})"), {6, 5, 3, 6, 3, 2});
  expect_near(run("cumsum", {x}), {1, 3, 6, 9, 10, 12});
  expect_near(run("cumprod", {x}, R"({"axis": 1})"), {1, 2, 6, 3, 3, 6});
  expect_near(run("cummax", {x}, R"({"axis": 1})"), {1, 2, 3, 3, 3, 3});
  expect_near(run("cummin", {x}, R"({"axis": 0})"), {1, 2, 3, 1, 1, 2});
  const double e1 = std::log(std::exp(1.0) + std::exp(2.0));
  expect_near(run("logcumsumexp", {f64({2}, {1, 2})}, R"({"axis": 0})"), {1, e1});
}

// c[b, m, n] = sum_k a[b, m, k] * b[b, k, n] by three loops.
TEST(Contraction, MatmulRankRules) {
  const Array a = random_array(DType::Float64, {2, 1, 3, 4}, -1, 1, 1);
  const Array b = random_array(DType::Float64, {5, 4, 2}, -1, 1, 2);
  const Array c = run("matmul", {a, b});
  ASSERT_EQ(c.shape, (Shape{2, 5, 3, 2}));
  for (int64_t p = 0; p < 2; ++p)
    for (int64_t q = 0; q < 5; ++q)
      for (int64_t m = 0; m < 3; ++m)
        for (int64_t n = 0; n < 2; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k)
            sum += a.at((p * 3 + m) * 4 + k) * b.at((q * 4 + k) * 2 + n);
          EXPECT_NEAR(c.at(((p * 5 + q) * 3 + m) * 2 + n), sum, 1e-12);
        }
  const Array v = f64({3}, {1, 2, 3}), w = f64({3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(run("matmul", {v, v}).shape, (Shape{}));
  expect_near(run("matmul", {v, v}), {14});
  expect_near(run("matmul", {v, w}), {4, 5});
  expect_near(run("matmul", {run("transpose", {w}), v}), {4, 5});
  EXPECT_EQ(
      run("matmul", {random_array(DType::Float64, {2, 3, 4}, 0, 1, 3), f64({4}, {1, 1, 1, 1})})
          .shape,
      (Shape{2, 3}));
  EXPECT_THROW(run("matmul", {f64({}, {1}), v}), Error);
  expect_near(run("matmul", {f64({2, 0}, {}), f64({0, 2}, {})}), {0, 0, 0, 0});
}

TEST(Contraction, MatmulIsOneStage) {
  const Graph graph = trace_call("matmul", {f32({2, 3}, Values(6)), f32({3, 4}, Values(12))});
  ASSERT_EQ(graph.stages.size(), 1u);
  EXPECT_EQ(graph.stages[0].domain.extents, (Shape{2, 4, 3}));
  EXPECT_TRUE(graph.stages[0].domain.is_box());
  EXPECT_EQ(graph.stages[0].combiner.kind, CombinerKind::Sum);
  EXPECT_EQ(graph.stages[0].lines.at(0).operation, "matmul");
}

TEST(Contraction, Einsum) {
  const Array a = f64({2, 2}, {1, 2, 3, 4}), b = f64({2, 2}, {5, 6, 7, 8});
  const auto einsum = [&](const std::vector<Array>& inputs, const std::string& subscripts) {
    return run("einsum", inputs, R"({"subscripts": ")" + subscripts + "\"}");
  };
  expect_near(einsum({a, b}, "ij,jk->ik"), {19, 22, 43, 50});
  expect_near(einsum({a, b}, "ij,jk"), {19, 22, 43, 50});
  expect_near(einsum({a}, "ii"), {5});
  expect_near(einsum({a}, "ii->i"), {1, 4});
  expect_near(einsum({a}, "ji"), {1, 3, 2, 4});
  expect_near(einsum({a, b}, "ij,kl->"), {10 * 26});
  expect_near(einsum({a, b}, "ij,ij->i"), {17, 53});
  expect_near(einsum({a, b, a}, "ij,jk,kl->il"), {19 + 66, 38 + 88, 43 + 150, 86 + 200});
  expect_near(einsum({f64({2}, {1, 10}), a, f64({2}, {1, 100})}, "i,ij,j->"), {201 + 4030});
  expect_near(einsum({f64({2}, {1, 10}), a, f64({2}, {1, 100})}, "i,ij,j->ji"), {1, 30, 200, 4000});
  expect_near(einsum({a, b}, "...j,...j"), {17, 53});
  expect_near(einsum({a}, "...->..."), {1, 2, 3, 4});
  // The narrow ones overflow if they meet before the wide one.
  const Array large = array(DType::Int32, {1}, {100000});
  expect_near(einsum({i64({1}, {1}), large, large}, "i,i,i->i"), {1e10});
  EXPECT_THROW(einsum({a, b}, "ij->ij"), Error);
  EXPECT_THROW(einsum({a}, "ijk"), Error);
  EXPECT_THROW(einsum({a}, "ij->ik"), Error);
  EXPECT_THROW(einsum({a, f64({3}, {1, 2, 3})}, "ij,j->i"), Error);
}

TEST(Contraction, TheOthers) {
  const Array a = f64({2, 2}, {1, 2, 3, 4}), v = f64({2}, {1, 10});
  expect_near(run("outer", {v, v}), {1, 10, 10, 100});
  expect_near(run("dot", {a, v}), {21, 43});
  expect_near(run("dot", {f64({}, {2}), v}), {2, 20});
  expect_near(run("vecdot", {a, v}), {21, 43});
  expect_near(run("tensordot", {a, a}), {30});
  expect_near(run("tensordot", {a, v}, R"({"axes": 0})"), {1, 10, 2, 20, 3, 30, 4, 40});
  expect_near(run("tensordot", {a, v}, R"({"axes": [[0], [0]]})"), {31, 42});
  expect_near(run("nn.linear", {v, a, f64({2}, {1, 2})}), {22, 45});
}

}  // namespace
}  // namespace adjit::testing
