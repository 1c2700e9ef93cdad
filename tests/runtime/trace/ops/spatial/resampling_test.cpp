// tests/runtime/trace/ops/spatial/resampling_test.cpp -- resampling by its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

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
