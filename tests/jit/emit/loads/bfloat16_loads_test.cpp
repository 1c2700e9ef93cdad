// tests/jit/emit/loads/bfloat16_loads_test.cpp -- pairs of bfloat16: one load each.
#include "jit/emit/loads/bfloat16_loads.hpp"

#include <gtest/gtest.h>

#include "jit/cpu/object.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(BFloat16Loads, APairIsANumberOf32Bits) {
  BodyBench b(vectorize(
      plain(parse_graph("def f(bfloat16(4, 2) x, bfloat16(4, 16, 2) w) -> (y) { y(i, j) = "
                        "float(x(i, 0)) * float(w(i, j, 0)) where i in 0:4, j in 0:16 }"),
            1),
      0, 1, 16));
  emit::BFloat16Loads pairs(b.context);
  const ExprPool& pool = b.body.pool();
  const auto read = [&](size_t k) {
    const ExprId factor = b.body.operand(k);
    return pool.is(factor, Op::Cast) ? pool.operand(factor, 0) : factor;
  };
  const emit::Emitted x = pairs(read(0), {}), w = pairs(read(1), {});
  EXPECT_TRUE(x.value->getType()->isIntegerTy(32)) << "equal in all lanes";
  EXPECT_EQ(w.value->getType(), llvm::FixedVectorType::get(b.builder.getInt32Ty(), 16));
  const size_t before = b.instructions();
  EXPECT_EQ(pairs(read(0), {}).value, x.value);
  EXPECT_EQ(b.instructions(), before) << "one load for all who ask";

  const emit::Emitted active{b.unknown_lanes(b.builder.getInt1Ty()), 0};
  EXPECT_EQ(pairs(read(0), {0, active}).value, x.value);
  EXPECT_NE(pairs(read(1), {0, active}).value, w.value);
  EXPECT_EQ(occurrences(ir_text(b.module), "call <16 x i32> @llvm.masked.load"), 1u);
}

}  // namespace
}  // namespace adjit::testing
