// tests/runtime/diff/golden_test.cpp -- adjoints as text. ADJIT_UPDATE_GOLDEN=1 rewrites the files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/node_order.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, AdjointReadsAsStored) {
  const std::string text = print(adjoint(forward_named(GetParam())));
  const std::string path = std::string(ADJIT_TEST_SOURCE_DIR) + "/golden/" + GetParam() + ".txt";
  const char* update = std::getenv("ADJIT_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") std::ofstream(path) << text;
  if (kNodesInAnotherOrder && GetParam() == std::string("gram"))
    GTEST_SKIP() << "recorded with g++";
  std::ifstream file(path);
  std::ostringstream stored;
  stored << file.rdbuf();
  EXPECT_EQ(text, stored.str()) << "run with ADJIT_UPDATE_GOLDEN=1 to accept";
}

INSTANTIATE_TEST_SUITE_P(Adjoints, Golden,
                         ::testing::Values("matmul", "conv2d", "conv2d_stride2_padded",
                                           "conv2d_dilated", "conv2d_groups", "softmax",
                                           "max_pool_first", "max_pool_overlap", "max_pool_even",
                                           "flatten", "gram", "product", "gather_by_data",
                                           "stencil", "triangular", "masked", "conv1d_rows",
                                           "network"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace adjit::testing
