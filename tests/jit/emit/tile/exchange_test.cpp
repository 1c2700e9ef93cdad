// tests/jit/emit/tile/exchange_test.cpp -- values that threads get from each other.
#include "jit/emit/tile/exchange.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/block_programs.hpp"

namespace adjit::testing {
namespace {

// Numbers of 64 bits are shuffled in two words, narrower ones in one, and truth values are bytes in
// memory.
TEST(Exchange, MovesNumbersOfAllWidths) {
  for (const char* type : {"double", "int64", "half", "int8", "bool"})
    for (const int64_t count : {32, 64}) {
      const bool truth = std::string(type) == "bool";
      Program p = program_of("def main(" + std::string(type) + "(3, 128) x) -> (s) { s(i) " +
                             (truth ? "any" : "max") + "=! x(i, r) where i in 0:3, r in 0:128 }");
      p = parallel(threads(std::move(p), 0, 1, count), 0, 1);
      expect_right_in_blocks(p, 1e-2);
    }
}

}  // namespace
}  // namespace adjit::testing
