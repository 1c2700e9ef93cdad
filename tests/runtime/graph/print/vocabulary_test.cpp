#include "runtime/graph/print/vocabulary.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace adjit::graph {
namespace {

TEST(Vocabulary, EveryOperationCanBeWritten) {
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    const OpInfo& row = info(op);
    if (row.rule == TypeRule::Leaf || op == Op::Cast) continue;
    if (std::isalpha(static_cast<unsigned char>(row.name[0]))) {
      EXPECT_EQ(function_from_name(row.name), op);
      EXPECT_TRUE(is_reserved(row.name));
    } else if (row.arity == 2) {
      ASSERT_NE(infix_of(op), nullptr) << row.id;
      EXPECT_EQ(infix_from_spelling(row.name)->op, op);
    } else {
      EXPECT_EQ(row.arity, 1) << row.id;
    }
  }
}

TEST(Vocabulary, CombinersAndModes) {
  for (int k = 0; k <= static_cast<int>(CombinerKind::Custom); ++k) {
    const CombinerKind kind = static_cast<CombinerKind>(k);
    EXPECT_EQ(combiner_from_spelling(spelling_of(kind)), kind);
  }
  for (OutOfRange mode : {OutOfRange::Error, OutOfRange::Drop, OutOfRange::Clip, OutOfRange::Wrap})
    EXPECT_EQ(mode_from_spelling(spelling_of(mode)), mode);
}

TEST(Vocabulary, NamesOfTensorComprehensions) {
  EXPECT_EQ(function_from_name("fmax"), Op::Max);
  EXPECT_EQ(type_from_name("half"), DType::Float16);
  EXPECT_EQ(type_from_name("int"), DType::Int32);
  EXPECT_FALSE(is_reserved("A"));
  EXPECT_TRUE(is_reserved("where"));
}

}  // namespace
}  // namespace adjit::graph
