// tests/runtime/trace/ops/window_test.cpp -- convolutions, pools and resampling against plain
// loops.
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

// A pool by its definition over one dimension; `count` tells what an average divides by.
struct PlainPool {
  int64_t kernel, stride, padding, dilation;
  bool ceil_mode, include;
};
Values plain_pool(const Values& x, const PlainPool& p, bool max) {
  const int64_t n = static_cast<int64_t>(x.size());
  const double room = static_cast<double>(n + 2 * p.padding - p.dilation * (p.kernel - 1) - 1) /
                      static_cast<double>(p.stride);
  int64_t count = static_cast<int64_t>(p.ceil_mode ? std::ceil(room) : std::floor(room)) + 1;
  if (p.ceil_mode && (count - 1) * p.stride >= n + p.padding) --count;
  Values y;
  for (int64_t h = 0; h < count; ++h) {
    double best = -std::numeric_limits<double>::infinity(), sum = 0;
    int64_t seen = 0, counted = 0;
    for (int64_t k = 0; k < p.kernel; ++k) {
      const int64_t t = h * p.stride + k * p.dilation - p.padding;
      if (t < n + p.padding) ++counted;
      if (t < 0 || t >= n) continue;
      ++seen;
      best = std::max(best, x[static_cast<size_t>(t)]);
      sum += x[static_cast<size_t>(t)];
    }
    y.push_back(max ? best : sum / static_cast<double>(p.include ? counted : seen));
  }
  return y;
}

TEST(Pooling, AgreesWithLoops) {
  const Array line = random_array(DType::Float64, {1, 1, 11}, -3, -1, 4);
  for (const PlainPool& p :
       {PlainPool{3, 3, 0, 1, false, true}, PlainPool{3, 2, 1, 1, false, true},
        PlainPool{2, 3, 1, 1, true, true}, PlainPool{3, 2, 1, 1, true, false},
        PlainPool{2, 2, 1, 1, true, true}, PlainPool{4, 3, 2, 1, true, false}}) {
    const std::string shared = R"("kernel_size": )" + std::to_string(p.kernel) + R"(, "stride": )" +
                               std::to_string(p.stride) + R"(, "padding": )" +
                               std::to_string(p.padding) + R"(, "ceil_mode": )" +
                               (p.ceil_mode ? "true" : "false");
    SCOPED_TRACE(shared);
    EXPECT_EQ(values(run("nn.max_pool1d", {line}, "{" + shared + "}")),
              plain_pool(values(line), p, true));
    const Array average =
        run("nn.avg_pool1d", {line},
            "{" + shared + R"(, "count_include_pad": )" + (p.include ? "true}" : "false}"));
    const Values wanted = plain_pool(values(line), p, false);
    ASSERT_EQ(average.element_count(), static_cast<int64_t>(wanted.size()));
    for (size_t k = 0; k < wanted.size(); ++k)
      EXPECT_NEAR(average.at(static_cast<int64_t>(k)), wanted[k], 1e-12);
  }
}

TEST(Pooling, TwoDimensionsAndTies) {
  const Array x = f64({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(values(run("nn.max_pool2d", {x}, R"({"kernel_size": 2})")), (Values{6, 8}));
  EXPECT_EQ(values(run("nn.max_pool2d", {x}, R"({"kernel_size": 2, "ceil_mode": true})")),
            (Values{6, 8, 10, 12}));
  EXPECT_EQ(values(run("nn.max_pool2d", {x}, R"({"kernel_size": [2, 1], "dilation": [2, 1]})")),
            (Values{9, 10, 11, 12}));
  const Graph graph = trace_call("nn.max_pool2d", {x}, R"({"kernel_size": 2})");
  ASSERT_EQ(graph.stages.size(), 1u);
  EXPECT_EQ(graph.stages[0].combiner.ties, Ties::First);
  EXPECT_THROW(run("nn.max_pool2d", {x}, R"({"kernel_size": 2, "padding": 2})"), Error);
}

TEST(Pooling, Adaptive) {
  const Array x = f64({1, 1, 5}, {1, 2, 3, 4, 5});
  // Windows [0, 2), [1, 4), [3, 5).
  EXPECT_EQ(values(run("nn.adaptive_avg_pool1d", {x}, R"({"output_size": 3})")),
            (Values{1.5, 3, 4.5}));
  EXPECT_EQ(values(run("nn.adaptive_max_pool1d", {x}, R"({"output_size": 3})")), (Values{2, 4, 5}));
  EXPECT_EQ(values(run("nn.global_avg_pool", {x})), (Values{3}));
}

// One dimension by its definition, positions in floating point.
Values plain_resize(const Values& x, int64_t size, const std::string& method,
                    const std::string& mode) {
  const int64_t n = static_cast<int64_t>(x.size());
  const auto at = [&](int64_t t) {
    return x[static_cast<size_t>(std::clamp<int64_t>(t, 0, n - 1))];
  };
  Values y;
  for (int64_t i = 0; i < size; ++i) {
    const double scale = static_cast<double>(n) / static_cast<double>(size);
    double p = static_cast<double>(i) * scale;
    if (mode == "half_pixel") p = (static_cast<double>(i) + 0.5) * scale - 0.5;
    if (mode == "align_corners")
      p = size > 1
              ? static_cast<double>(i) * static_cast<double>(n - 1) / static_cast<double>(size - 1)
              : 0;
    const int64_t left = static_cast<int64_t>(std::floor(p + 1e-12));
    const double t = p - static_cast<double>(left);
    if (method == "nearest") {
      y.push_back(at(static_cast<int64_t>(mode == "asymmetric" ? std::floor(p + 1e-12)
                                                               : std::floor(p + 0.5 + 1e-12))));
    } else if (method == "bilinear") {
      y.push_back(at(left) * (1 - t) + at(left + 1) * t);
    } else {
      const auto kernel = [](double d) {
        d = std::abs(d);
        return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
      };
      double sum = 0;
      for (int64_t k = -1; k <= 2; ++k) sum += at(left + k) * kernel(t - static_cast<double>(k));
      y.push_back(sum);
    }
  }
  return y;
}

TEST(Resampling, AgreesWithTheDefinition) {
  const Array x = f64({1, 1, 5}, {1, 4, 2, 8, 3});
  for (const std::string method : {"nearest", "bilinear", "bicubic"})
    for (const std::string mode : {"half_pixel", "align_corners", "asymmetric"})
      for (int64_t size : {1, 3, 4, 7, 10}) {
        SCOPED_TRACE(method + " " + mode + " " + std::to_string(size));
        const Array y = run("image.resize", {x},
                            R"({"size": )" + std::to_string(size) + R"(, "method": ")" + method +
                                R"(", "coordinate_mode": ")" + mode + "\"}");
        const Values wanted = plain_resize(values(x), size, method, mode);
        for (size_t k = 0; k < wanted.size(); ++k)
          EXPECT_NEAR(y.at(static_cast<int64_t>(k)), wanted[k], 1e-9) << k;
      }
  const Array image = f64({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values(run("image.upsample", {image}, R"({"scale_factor": 2})")),
            (Values{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

}  // namespace
}  // namespace adjit::testing
