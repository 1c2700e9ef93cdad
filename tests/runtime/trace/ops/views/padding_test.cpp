// tests/runtime/trace/ops/views/padding_test.cpp -- padding by its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/counted.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

// NumPy's definition, position by position.
int64_t padded_source(int64_t t, int64_t n, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(t, 0, n - 1);
  if (mode == "wrap") return ((t % n) + n) % n;
  const int64_t period = mode == "reflect" ? 2 * (n - 1) : 2 * n;
  const int64_t m = ((t % period) + period) % period;
  if (mode == "reflect") return m < n ? m : period - m;
  return m < n ? m : period - 1 - m;
}

TEST(Padding, AllModes) {
  for (const std::string mode : {"edge", "wrap", "reflect", "symmetric"})
    for (int64_t before : {0, 1, 3, 7})
      for (int64_t behind : {0, 2, 9}) {
        const Array x = counting({4});
        Values wanted;
        for (int64_t t = -before; t < 4 + behind; ++t)
          wanted.push_back(static_cast<double>(padded_source(t, 4, mode)));
        const std::string attributes = R"({"mode": ")" + mode + R"(", "pad_width": [[)" +
                                       std::to_string(before) + "," + std::to_string(behind) +
                                       "]]}";
        expect(run("pad", {x}, attributes), {4 + before + behind}, wanted);
      }
  expect(run("pad", {counting({1, 2})}, R"({"pad_width": [[0, 1], [1, 0]], "constant_values": 9})"),
         {2, 3}, {9, 0, 1, 9, 9, 9});
  expect(run("nn.pad", {counting({2, 2})}, R"({"pad": [-1, 1]})"), {2, 2}, {1, 0, 3, 0});
}

}  // namespace
}  // namespace adjit::testing
