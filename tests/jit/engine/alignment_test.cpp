// tests/jit/engine/alignment_test.cpp -- what a GPU's code knows of the addresses of its arguments.
#include "jit/engine/alignment.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Vectors lie in x and y; neither in a few bytes, nor where no element has a neighbour.
Request sample(const std::string& target = "cuda") {
  Request request =
      request_of(parse_graph("def f(float(64, 128) x, float(3) few, float(64, 128) z) -> (y, s) {\n"
                             " y(i, j) = x(i, j) * few(0) + z(i, j)\n s() +=! y(i, j)\n}"));
  request.layouts[2].strides = {256, 2};
  request.target = target;
  return request;
}

std::vector<int64_t> alignments(const Request& request) {
  const ArgumentLayouts layouts = argument_layouts(request);
  std::vector<int64_t> found;
  for (const TensorLayout& layout : layouts.inputs) found.push_back(layout.alignment);
  found.insert(found.end(), layouts.outputs.begin(), layouts.outputs.end());
  return found;
}

TEST(Alignment, IsSixteenBytesWhereAVectorMayLie) {
  Request request = sample();
  EXPECT_EQ(alignments(request), (std::vector<int64_t>{16, 0, 0, 16, 0}));
  EXPECT_EQ(argument_layouts(request).inputs[2].strides, request.layouts[2].strides);
  request.layouts[0].strides = {-200, -1};
  EXPECT_EQ(alignments(request)[0], 16) << "backwards, too";
}

TEST(Alignment, IsAnElementsWhereTheRequestSaysSo) {
  Request request = sample();
  request.unaligned = {0, 3};
  EXPECT_EQ(alignments(request), (std::vector<int64_t>{0, 0, 0, 0, 0}));
  request.unaligned = {3};
  EXPECT_EQ(alignments(request), (std::vector<int64_t>{16, 0, 0, 0, 0}));
}

TEST(Alignment, IsUnknownToAProcessor) {
  EXPECT_EQ(alignments(sample("cpu")), (std::vector<int64_t>(5, 0)));
}

TEST(Alignment, IsTextOfKeys) {
  Request request = sample();
  EXPECT_EQ(alignment_text(request), "16");
  request.unaligned = {0, 3};
  EXPECT_EQ(alignment_text(request), "16 but for 0, 3");
}

}  // namespace
}  // namespace adjit::testing
