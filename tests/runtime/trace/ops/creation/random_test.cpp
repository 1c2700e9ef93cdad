// tests/runtime/trace/ops/creation/random_test.cpp -- random numbers: known answers, spread,
// repetition.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

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

}  // namespace
}  // namespace adjit::testing
