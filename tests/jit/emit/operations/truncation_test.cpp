// tests/jit/emit/operations/truncation_test.cpp -- floats as integers on a GPU.
#include "jit/emit/operations/truncation.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/emit/emulated_program.hpp"

namespace adjit::testing {
namespace {

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::string ptx_of_cast(const std::string& from, const std::string& to) {
  const Graph graph = parse_graph("def f(" + from + "(64) x) -> (y) { y(i) = " + to + "(x(i)) }");
  return EmulatedProgram(parallel(initial_program(graph, GpuMachine()), 0, 1)).ptx();
}

// The values are those of Operations.Casts.
TEST(Truncation, TakesOneConversionAndOneChoice) {
  if (!kEmulates) GTEST_SKIP() << "no emulator under sanitizers";
  for (const char* from : {"float", "double"})
    for (const char* to : {"int32", "int64"}) {
      const std::string ptx = ptx_of_cast(from, to);
      EXPECT_EQ(count_of(ptx, "cvt.rzi"), 1u) << from << " to " << to << ptx;
      const bool nan_is_zero = from == std::string("float") && to == std::string("int32");
      EXPECT_EQ(count_of(ptx, "selp"), nan_is_zero ? 0u : 1u) << from << " to " << to << ptx;
    }
}

}  // namespace
}  // namespace adjit::testing
