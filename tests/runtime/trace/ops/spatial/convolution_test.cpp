// tests/runtime/trace/ops/spatial/convolution_test.cpp -- convolutions against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

struct Plain {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
  std::string json() const {
    return R"({"stride": )" + std::to_string(stride) + R"(, "padding": )" +
           std::to_string(padding) + R"(, "dilation": )" + std::to_string(dilation) +
           R"(, "groups": )" + std::to_string(groups) + "}";
  }
};

// The definition, zero padding included as zeros.
Array plain_conv2d(const Array& x, const Array& w, const Plain& p) {
  const int64_t N = x.shape[0], C = x.shape[1], H = x.shape[2], W = x.shape[3];
  const int64_t O = w.shape[0], Cg = w.shape[1], KH = w.shape[2], KW = w.shape[3];
  const int64_t OH = (H + 2 * p.padding - p.dilation * (KH - 1) - 1) / p.stride + 1;
  const int64_t OW = (W + 2 * p.padding - p.dilation * (KW - 1) - 1) / p.stride + 1;
  Array y = Array::zeros(DType::Float64, {N, O, OH, OW});
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t h = 0; h < OH; ++h)
        for (int64_t v = 0; v < OW; ++v) {
          double sum = 0;
          for (int64_t c = 0; c < Cg; ++c)
            for (int64_t a = 0; a < KH; ++a)
              for (int64_t b = 0; b < KW; ++b) {
                const int64_t s = h * p.stride + a * p.dilation - p.padding;
                const int64_t t = v * p.stride + b * p.dilation - p.padding;
                if (s < 0 || s >= H || t < 0 || t >= W) continue;
                const int64_t channel = o / (O / p.groups) * Cg + c;
                sum += x.at(((n * C + channel) * H + s) * W + t) *
                       w.at(((o * Cg + c) * KH + a) * KW + b);
              }
          y.set(((n * O + o) * OH + h) * OW + v, sum);
        }
  return y;
}

TEST(Convolution, AgreesWithLoops) {
  const Array x = random_array(DType::Float64, {2, 4, 7, 6}, -1, 1, 1);
  for (const Plain& p : {Plain{}, Plain{2, 0, 1, 1}, Plain{1, 1, 1, 1}, Plain{2, 1, 1, 2},
                         Plain{1, 2, 2, 1}, Plain{3, 2, 2, 4}}) {
    const Array w = random_array(DType::Float64, {4, 4 / p.groups, 3, 2}, -1, 1, 2);
    SCOPED_TRACE(p.json());
    expect_near(run("nn.conv2d", {x, w}, p.json()), plain_conv2d(x, w, p));
  }
}

TEST(Convolution, IsOneStageWithRowsOnlyForPadding) {
  const std::vector<Array> inputs{f32({1, 2, 8, 8}, Values(128)), f32({3, 2, 3, 3}, Values(54))};
  const Graph plain = trace_call("nn.conv2d", inputs);
  ASSERT_EQ(plain.stages.size(), 1u);
  EXPECT_TRUE(plain.stages[0].domain.is_box());
  EXPECT_EQ(plain.stages[0].domain.extents, (Shape{1, 3, 6, 6, 2, 3, 3}));
  const Graph padded = trace_call("nn.conv2d", inputs, R"({"padding": 1})");
  ASSERT_EQ(padded.stages.size(), 1u);
  EXPECT_EQ(padded.stages[0].domain.inequalities.size(), 4u);
  EXPECT_TRUE(padded.stages[0].domain.divisions.empty());
}

TEST(Convolution, SameBiasAndMissingBatch) {
  const Array x = random_array(DType::Float64, {2, 5, 5}, -1, 1, 1);
  const Array w = random_array(DType::Float64, {3, 2, 3, 3}, -1, 1, 2);
  const Array y = run("nn.conv2d", {x, w, f64({3}, {1, 2, 3})}, R"({"padding": "same"})");
  Array batched = x;
  batched.shape = {1, 2, 5, 5};
  Array wanted = plain_conv2d(batched, w, {1, 1, 1, 1});
  for (int64_t k = 0; k < wanted.element_count(); ++k)
    wanted.set(k, wanted.at(k) + static_cast<double>(k / 25 + 1));
  wanted.shape = {3, 5, 5};
  expect_near(y, wanted);
}

TEST(Convolution, ChannelsLast) {
  const Array x = random_array(DType::Float64, {2, 3, 5, 6}, -1, 1, 1);
  const Array w = random_array(DType::Float64, {4, 3, 2, 2}, -1, 1, 2);
  const Array last = run("permute_dims", {x}, R"({"axes": [0, 2, 3, 1]})");
  const Array y = run("nn.conv2d", {last, w}, R"({"layout": "NHWC"})");
  expect_near(run("permute_dims", {y}, R"({"axes": [0, 3, 1, 2]})"), plain_conv2d(x, w, {}));
}

TEST(Convolution, Refuses) {
  const Array x = f64({1, 2, 3, 3}, Values(18));
  EXPECT_THROW(run("nn.conv2d", {x, f64({1, 2, 4, 4}, Values(32))}), Error);
  EXPECT_THROW(run("nn.conv2d", {x, f64({1, 3, 2, 2}, Values(12))}), Error);
  EXPECT_THROW(
      run("nn.conv2d", {x, f64({1, 2, 2, 2}, Values(8))}, R"({"padding": "same", "stride": 2})"),
      Error);
}

// Every input element times every tap is added where it lands.
TEST(Convolution, TransposedScattersEveryTap) {
  const int64_t C = 4, O = 2, groups = 2, H = 3, K = 3, stride = 2, pad = 1, extra = 1;
  const Array x = random_array(DType::Float64, {1, C, H}, -1, 1, 1);
  const Array w = random_array(DType::Float64, {C, O / groups, K}, -1, 1, 2);
  const int64_t OH = (H - 1) * stride - 2 * pad + K - 1 + extra + 1;
  Array wanted = Array::zeros(DType::Float64, {1, O, OH});
  for (int64_t c = 0; c < C; ++c)
    for (int64_t o = 0; o < O / groups; ++o)
      for (int64_t i = 0; i < H; ++i)
        for (int64_t k = 0; k < K; ++k) {
          const int64_t h = i * stride + k - pad;
          if (h < 0 || h >= OH) continue;
          const int64_t at = (c / (C / groups) * (O / groups) + o) * OH + h;
          wanted.set(at, wanted.at(at) + x.at(c * H + i) * w.at((c * (O / groups) + o) * K + k));
        }
  expect_near(run("nn.conv_transpose1d", {x, w},
                  R"({"stride": 2, "padding": 1, "output_padding": 1, "groups": 2})"),
              wanted);
}

}  // namespace
}  // namespace adjit::testing
