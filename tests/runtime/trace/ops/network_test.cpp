// tests/runtime/trace/ops/network_test.cpp -- softmax, norms, losses, attention, random numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

Values softmax_rows(const Values& x, size_t n) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += n) {
    double total = 0;
    for (size_t k = 0; k < n; ++k) total += std::exp(x[row + k]);
    for (size_t k = 0; k < n; ++k) y[row + k] = std::exp(x[row + k]) / total;
  }
  return y;
}

TEST(Softmax, IsStableAndSumsToOne) {
  const Array x = random_array(DType::Float64, {3, 4}, -2, 2, 1);
  expect_near(run("nn.softmax", {x}), softmax_rows(values(x), 4));
  Values logs;
  for (double p : softmax_rows(values(x), 4)) logs.push_back(std::log(p));
  expect_near(run("nn.log_softmax", {x}), logs);
  expect_near(run("nn.softmax", {f64({2}, {1000, 1000})}), {0.5, 0.5});
  EXPECT_EQ(run("nn.softmax", {f64({2, 0}, {})}).shape, (Shape{2, 0}));
}

TEST(Softmax, TheLargestIsAConstantToTheDerivative) {
  const Graph graph = trace_call("nn.softmax", {f64({2, 3}, Values(6))});
  ASSERT_EQ(graph.stages.size(), 4u);
  EXPECT_TRUE(graph.stages[0].stop_gradient);
  EXPECT_EQ(graph.stages[0].combiner.kind, CombinerKind::Max);
  for (size_t k = 1; k < 4; ++k) EXPECT_FALSE(graph.stages[k].stop_gradient);
}

TEST(Loss, CrossEntropyOfIndices) {
  const Array x = random_array(DType::Float64, {3, 4}, -2, 2, 1);
  const Array t = i64({3}, {2, 0, -100});
  const Values p = softmax_rows(values(x), 4);
  const double first = -std::log(p[2]), second = -std::log(p[4]);
  expect_near(run("nn.cross_entropy", {x, t}), {(first + second) / 2});
  expect_near(run("nn.cross_entropy", {x, t}, R"({"reduction": "none"})"), {first, second, 0});
  const Array w = f64({4}, {2, 1, 0.5, 1});
  expect_near(run("nn.cross_entropy", {x, t, w}), {(first * 0.5 + second * 2) / 2.5});
  double all = 0;
  for (size_t k = 0; k < 4; ++k) all -= std::log(p[k]);
  expect_near(
      run("nn.cross_entropy", {x, t}, R"({"reduction": "none", "label_smoothing": 0.2})"),
      {0.8 * first + 0.05 * all,
       0.8 * second - 0.05 * (std::log(p[4]) + std::log(p[5]) + std::log(p[6]) + std::log(p[7])),
       0});
  EXPECT_THROW(run("nn.cross_entropy", {x, i64({4}, {0, 1, 1, 1})}), Error);
}

TEST(Loss, AClassThatDoesNotExistIsAnIndexOutOfRange) {
  const Array x = random_array(DType::Float64, {3, 4}, -2, 2, 1);
  for (const char* name : {"nn.cross_entropy", "nn.nll_loss"})
    for (double bad : {4.0, -1.0}) {
      try {
        run(name, {x, i64({3}, {0, bad, 1})}, R"({"reduction": "sum"})");
        FAIL() << name;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::Bounds);
        EXPECT_NE(std::string(e.what()).find("index " + std::to_string(static_cast<int>(bad))),
                  std::string::npos)
            << e.what();
      }
    }
  // Whatever stands at the class: it is read, not used.
  const Array odd = f64({2, 2}, {kNaN, 0, kInf, 0});
  const Array losses = run("nn.nll_loss", {odd, i64({2}, {0, 0})}, R"({"reduction": "none"})");
  EXPECT_TRUE(std::isnan(losses.at(0)));
  EXPECT_EQ(losses.at(1), -kInf);
}

TEST(Attention, AQueryWithoutKeysGives0) {
  const Array q = random_array(DType::Float64, {2, 4}, -2, 2, 1);
  const Array bools = array(DType::Bool, {2, 2}, {1, 0, 0, 0});
  const Array added = f64({2, 2}, {0, -kInf, -kInf, -kInf});
  for (const Array& mask : {bools, added}) {
    const Array y = run("nn.scaled_dot_product_attention", {q, q, q, mask});
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_DOUBLE_EQ(y.at(k), q.at(k));
      EXPECT_EQ(y.at(4 + k), 0);
    }
  }
}

TEST(Loss, CrossEntropyOfProbabilitiesAndOfImages) {
  const Array x = random_array(DType::Float64, {2, 3, 2}, -2, 2, 1);
  const Array t = i64({2, 2}, {0, 1, 2, 0});
  Values wanted;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t d = 0; d < 2; ++d) {
      double total = 0;
      for (int64_t c = 0; c < 3; ++c) total += std::exp(x.at((n * 3 + c) * 2 + d));
      const int64_t c = static_cast<int64_t>(t.at(n * 2 + d));
      wanted.push_back(std::log(total) - x.at((n * 3 + c) * 2 + d));
    }
  expect_near(run("nn.cross_entropy", {x, t}, R"({"reduction": "none"})"), wanted);
  const Array y = f64({1, 2}, {0, std::log(3.0)}), q = f64({1, 2}, {0.5, 0.5});
  expect_near(run("nn.cross_entropy", {y, q}), {-0.5 * (std::log(0.25) + std::log(0.75))});
}

TEST(Loss, Elementwise) {
  const Array a = f64({3}, {1, 2, -3}), b = f64({3}, {1.5, 0, -3});
  expect_near(run("nn.mse_loss", {a, b}), {(0.25 + 4) / 3});
  expect_near(run("nn.l1_loss", {a, b}, R"({"reduction": "sum"})"), {2.5});
  expect_near(run("nn.smooth_l1_loss", {a, b}, R"({"reduction": "none"})"), {0.125, 1.5, 0});
  expect_near(run("nn.huber_loss", {a, b}, R"({"reduction": "none", "delta": 0.25})"),
              {0.25 * 0.375, 0.25 * 1.875, 0});
  expect_near(run("nn.binary_cross_entropy_with_logits", {f64({2}, {800, -800}), f64({2}, {0, 0})},
                  R"({"reduction": "none"})"),
              {800, 0});
  expect_near(run("nn.binary_cross_entropy", {f64({2}, {0.25, 0}), f64({2}, {1, 1})},
                  R"({"reduction": "none"})"),
              {-std::log(0.25), 100});
  expect_near(run("nn.kl_div", {f64({2}, {std::log(0.5), std::log(0.5)}), f64({2}, {1, 0})},
                  R"({"reduction": "sum"})"),
              {std::log(2.0)});
}

TEST(Normalization, LayerNormByTheDefinition) {
  const Array x = random_array(DType::Float64, {2, 4}, -2, 2, 3);
  const Array w = f64({4}, {1, 2, 3, 4}), b = f64({4}, {0, 0, 1, 1});
  Values wanted;
  for (int64_t n = 0; n < 2; ++n) {
    double mean = 0, var = 0;
    for (int64_t k = 0; k < 4; ++k) mean += x.at(n * 4 + k) / 4;
    for (int64_t k = 0; k < 4; ++k) var += (x.at(n * 4 + k) - mean) * (x.at(n * 4 + k) - mean) / 4;
    for (int64_t k = 0; k < 4; ++k)
      wanted.push_back((x.at(n * 4 + k) - mean) / std::sqrt(var + 1e-5) * w.at(k) + b.at(k));
  }
  expect_near(run("nn.layer_norm", {x, w, b}, R"({"normalized_shape": [4]})"), wanted);
}

TEST(Normalization, BatchNormUpdatesItsRunningValues) {
  const Array x = f64({2, 1, 2}, {1, 2, 3, 6}), mean = f64({1}, {10}), var = f64({1}, {1});
  const std::vector<Array> out =
      run_all("nn.batch_norm", {x, mean, var}, R"({"training": true, "momentum": 0.5})");
  ASSERT_EQ(out.size(), 3u);
  const double s = std::sqrt(3.5 + 1e-5);
  expect_near(out[0], {-2 / s, -1 / s, 0, 3 / s});
  expect_near(out[1], {6.5});
  expect_near(out[2], {0.5 + 0.5 * 14.0 / 3});
  expect_near(run_all("nn.batch_norm", {x, mean, var})[0],
              {-9 / std::sqrt(1 + 1e-5), -8 / std::sqrt(1 + 1e-5), -7 / std::sqrt(1 + 1e-5),
               -4 / std::sqrt(1 + 1e-5)});
  EXPECT_THROW(run_all("nn.batch_norm", {x}), Error);
}

TEST(Normalization, TheOthers) {
  const Array x = f64({1, 2, 2}, {3, 4, 0, 0});
  expect_near(run("nn.normalize", {x}, R"({"dim": 2})"), {0.6, 0.8, 0, 0});
  expect_near(run("nn.rms_norm", {f64({2}, {3, 4})}, R"({"normalized_shape": 2, "eps": 0.0})"),
              {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  expect_near(run("nn.local_response_norm", {f64({1, 3, 1}, {1, 2, 3})},
                  R"({"size": 3, "alpha": 3.0, "beta": 1.0})"),
              {1.0 / 6, 2.0 / 15, 3.0 / 14});
  const double s = 1 / std::sqrt(0.25 + 1e-5);
  expect_near(run("nn.instance_norm", {f64({1, 2, 2}, {0, 1, 5, 6})}),
              {-0.5 * s, 0.5 * s, -0.5 * s, 0.5 * s});
}

TEST(Attention, CausalRowsSeeThePast) {
  const Array q = random_array(DType::Float64, {1, 3, 2}, -1, 1, 1);
  const Array k = random_array(DType::Float64, {1, 3, 2}, -1, 1, 2);
  const Array v = random_array(DType::Float64, {1, 3, 2}, -1, 1, 3);
  Values wanted;
  for (int64_t i = 0; i < 3; ++i) {
    Values weight;
    double total = 0;
    for (int64_t j = 0; j <= i; ++j) {
      const double score =
          (q.at(i * 2) * k.at(j * 2) + q.at(i * 2 + 1) * k.at(j * 2 + 1)) / std::sqrt(2.0);
      weight.push_back(std::exp(score));
      total += weight.back();
    }
    for (int64_t d = 0; d < 2; ++d) {
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j)
        sum += weight[static_cast<size_t>(j)] / total * v.at(j * 2 + d);
      wanted.push_back(sum);
    }
  }
  expect_near(run("nn.scaled_dot_product_attention", {q, k, v}, R"({"is_causal": true})"), wanted);
}

TEST(Embedding, ReadsRows) {
  const Array w = f64({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_near(run("nn.embedding", {i64({2}, {2, 0}), w}, R"({"padding_idx": 0})"), {5, 6, 1, 2});
  EXPECT_THROW(run("nn.embedding", {i64({1}, {3}), w}), Error);
}

// Known answers of Philox4x32-10 (Random123's kat_vectors): counter 0, key 0.
TEST(Random, PhiloxKnownAnswer) {
  expect_near(run("random.bits", {i64({2}, {0, 0})}, R"({"shape": [1]})"), {0x6627e8d5});
}

TEST(Random, DrawsAreSpreadAndRepeat) {
  const Array key = run("random.key", {i64({}, {42})});
  expect_near(key, {42, 0});
  const Array u = run("random.uniform", {key}, R"({"shape": [1000], "dtype": "float64"})");
  double mean = 0;
  for (double x : values(u)) {
    EXPECT_GE(x, 0);
    EXPECT_LT(x, 1);
    mean += x / 1000;
  }
  EXPECT_NEAR(mean, 0.5, 0.03);
  EXPECT_EQ(values(u),
            values(run("random.uniform", {key}, R"({"shape": [1000], "dtype": "float64"})")));
  const Array keys = run("random.split", {key}, R"({"num": 4})");
  const Values words = values(keys);
  EXPECT_EQ(std::set<double>(words.begin(), words.end()).size(), 8u);
  const Array z = run("random.normal", {key}, R"({"shape": [2000], "dtype": "float64"})");
  double second = 0;
  for (double x : values(z)) second += x * x / 2000;
  EXPECT_NEAR(second, 1, 0.1);
}

TEST(Random, DropoutScalesWhatItKeeps) {
  const Array key = i64({2}, {1, 2});
  const Array y = run("nn.dropout", {f64({1000}, Values(1000, 1)), key}, R"({"p": 0.25})");
  int kept = 0;
  for (double x : values(y)) {
    EXPECT_TRUE(x == 0 || std::abs(x - 4.0 / 3) < 1e-12);
    kept += x != 0;
  }
  EXPECT_NEAR(kept, 750, 50);
  expect_near(run("nn.dropout", {f64({2}, {1, 2})}, R"({"training": false})"), {1, 2});
  EXPECT_THROW(run("nn.dropout", {f64({2}, {1, 2})}), Error);
}

TEST(Network, RunningValuesHaveOneElementPerChannel) {
  const Array x = f64({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), right = f64({2}, {0, 1});
  for (const Array& wrong : {f64({}, {0}), f64({3}, {0, 1, 2}), f64({2, 2}, {0, 1, 2, 3})}) try {
      trace_call("nn.batch_norm", {x, right, wrong}, R"({"training": true})");
      FAIL() << to_string(wrong.shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Shape) << e.what();
    }
}

}  // namespace
}  // namespace adjit::testing
