// tests/runtime/diff/table.hpp -- the forwards that the tests of this folder share.
#pragma once

#include <string>
#include <vector>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"

namespace adjit::testing {

struct ForwardCase {
  std::string name;
  std::function<Graph(Forward&)> build;
};
const std::vector<ForwardCase>& forward_table();
/// The case of that name, built; fails with std::out_of_range when there is none.
Graph forward_named(const std::string& name);

/// Convolutions and pools of any size. x: N C H W, w: O C/g k k; zero padding by a guarded read.
struct ConvSize {
  int64_t n = 2, channels = 2, filters = 2, size = 6, kernel = 3;
  int64_t stride = 1, dilation = 1, groups = 1, padding = 0;
  int64_t out() const { return (size + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1; }
};
Graph conv2d(Forward& f, const ConvSize& s, DType dtype = DType::Float64);
Graph pool(Forward& f, CombinerKind kind, Ties ties, int64_t size, int64_t stride, int64_t kernel,
           DType dtype = DType::Float64);

}  // namespace adjit::testing
