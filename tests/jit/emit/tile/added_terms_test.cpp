// tests/jit/emit/tile/added_terms_test.cpp -- how accumulators take a term.
#include "jit/emit/tile/added_terms.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Graph sums(const std::string& term, const std::string& rows = "") {
  return parse_graph("def main(float(5, 9) x, float(9) w) -> (s) {\n  s(i) +=! " + term +
                     " where i in 0:5, k in 0:9" + rows + "\n}");
}

std::string ir_for_gpu(const Graph& graph) {
  return EmulatedProgram(parallel(initial_program(graph, GpuMachine()), 0, 1)).ir();
}

TEST(AddedTerms, ProductsAreMultiplyAdds) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  const std::string ir = ir_for_gpu(sums("x(i, k) * w(k)"));
  EXPECT_NE(ir.find("llvm.fma.f32"), std::string::npos) << ir;
  EXPECT_EQ(ir.find("fmul"), std::string::npos) << ir;
}

TEST(AddedTerms, AConditionSwitchesAnInstructionOff) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  const std::string product = ir_for_gpu(sums("select(w(k) < 0.5, x(i, k) * w(k), 0.0)"));
  EXPECT_NE(product.find("@$4 fma.rn.f32"), std::string::npos) << product;
  EXPECT_EQ(product.find("select i1"), std::string::npos) << product;
  const std::string sum = ir_for_gpu(sums("select(w(k) < 0.5, x(i, k), 0.0)"));
  EXPECT_NE(sum.find("@$3 add.rn.f32"), std::string::npos) << sum;
  EXPECT_EQ(ir_for_gpu(sums("select(w(k) < 0.5, x(i, k), 1.0)")).find("asm"), std::string::npos);
  const Graph graph = sums("select(w(k) < 0.5, x(i, k), 0.0)");
  EXPECT_EQ(EmittedProgram(plain(graph)).ir().find("asm"), std::string::npos) << "of a CPU";
}

}  // namespace
}  // namespace adjit::testing
