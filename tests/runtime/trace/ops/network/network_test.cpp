// tests/runtime/trace/ops/network/network_test.cpp -- softmax, norms, losses, attention, random
// numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

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
