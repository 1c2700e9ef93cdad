// tests/jit/engine/compile/equal_kernels_test.cpp -- which kernel stands for its equals, whatever
// the order in which they are shown.
#include "jit/engine/compile/equal_kernels.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "jit/cpu/object.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Kernels 0, 2 and 4 are equal; 1 and 3 are.
class Kernels {
 public:
  Kernels()
      : program_(initial_program(parse_graph(R"(
def main(float(9) x) -> (a, b, c, d, e) {
  a(i) = x(i) * 2.0
  b(i) = x(i) + 2.0
  c(i) = x(i) * 2.0
  d(i) = x(i) + 2.0
  e(i) = x(i) * 2.0
})"),
                                 CpuMachine{2, 512})) {}

  EmittedKernel operator()(size_t k) const {
    return emit_kernel(program_, k, layouts_of(program_.graph, layouts_),
                       from_feature_string("+sse4.1,+avx2,+fma"), "kernel" + std::to_string(k));
  }

 private:
  Program program_;
  std::vector<TensorLayout> layouts_{contiguous_layout(std::vector<int64_t>{9})};
};

TEST(EqualKernels, TheFirstOneStandsForAllInAnyOrder) {
  const Kernels emitted;
  std::vector<size_t> order{0, 1, 2, 3, 4};
  do {
    EqualKernels equal(5);
    std::vector<size_t> even, odd;
    for (size_t k : order) {
      EmittedKernel kernel = emitted(k);
      std::vector<size_t>& alike = k % 2 ? odd : even;
      alike.push_back(k);
      EXPECT_EQ(equal.show(k, kernel), *std::ranges::min_element(alike));
    }
    for (size_t k = 0; k < 5; ++k) EXPECT_EQ(equal.first_of(k), k % 2);
    EXPECT_EQ(equal.different(), 2u);
  } while (std::ranges::next_permutation(order).found);
}

TEST(EqualKernels, AModuleIsAsItWas) {
  const Kernels emitted;
  EqualKernels equal(5);
  EmittedKernel kernel = emitted(3);
  const std::string before = ir_text(*kernel.module);
  equal.show(3, kernel);
  EXPECT_EQ(ir_text(*kernel.module), before);
  EXPECT_NE(before.find("@kernel3("), std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
