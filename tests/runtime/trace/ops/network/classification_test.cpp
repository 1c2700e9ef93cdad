// tests/runtime/trace/ops/network/classification_test.cpp -- losses over classes.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/softmax_rows.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(Classification, CrossEntropyOfIndices) {
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

TEST(Classification, AClassThatDoesNotExistIsAnIndexOutOfRange) {
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

TEST(Classification, CrossEntropyOfProbabilitiesAndOfImages) {
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

}  // namespace
}  // namespace adjit::testing
