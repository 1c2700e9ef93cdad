// tests/runtime/trace/ops/spatial/pooling_test.cpp -- pools against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

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

}  // namespace
}  // namespace adjit::testing
