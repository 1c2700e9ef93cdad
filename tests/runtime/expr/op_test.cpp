#include "runtime/expr/op.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace adjit::expr {
namespace {

TEST(Op, TheTableFollowsTheEnumeration) {
  EXPECT_EQ(info(Op::Constant).id, "Constant");
  EXPECT_EQ(info(Op::FloorDiv).name, "//");
  EXPECT_EQ(info(Op::Fma).arity, 3);
  EXPECT_EQ(info(Op::Read).arity, -1);
  EXPECT_EQ(static_cast<int>(Op::Cast), op_count() - 1);
}

TEST(Op, NamesAreUniquePerArity) {
  std::set<std::pair<std::string, int>> seen;
  for (int k = 0; k < op_count(); ++k) {
    const OpInfo& row = info(static_cast<Op>(k));
    EXPECT_TRUE(seen.emplace(row.name, row.arity).second) << row.name;
  }
}

}  // namespace
}  // namespace adjit::expr
