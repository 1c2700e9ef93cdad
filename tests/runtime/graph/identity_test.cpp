// tests/runtime/graph/identity_test.cpp -- what combiners start from.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/graph/identity.hpp"

namespace adjit::graph {
namespace {

TEST(Identity, LeavesEveryValueWhatItIs) {
  struct Row {
    CombinerKind kind;
    Op op;
  };
  for (const Row& row : {Row{CombinerKind::Sum, Op::Add}, Row{CombinerKind::Product, Op::Mul},
                         Row{CombinerKind::Max, Op::Max}, Row{CombinerKind::Min, Op::Min}})
    for (const DType dtype :
         {DType::Float32, DType::Float64, DType::Int8, DType::UInt8, DType::Int32, DType::Int64}) {
      std::vector<Scalar> tried{lowest_of(dtype), highest_of(dtype)};
      for (const int64_t v : {0, 1, 7})
        tried.push_back(is_float(dtype) ? Scalar::of_float(static_cast<double>(v))
                                        : Scalar::of_int(v));
      for (const Scalar& value : tried) {
        const Scalar operands[] = {identity_of(row.kind, dtype), value};
        EXPECT_EQ(apply(row.op, dtype, dtype, operands).i, value.i) << name_of(row.kind);
      }
    }
}

TEST(Identity, IsAConstantOfItsDType) {
  ExprPool pool;
  EXPECT_EQ(identity_of(pool, CombinerKind::Max, DType::Int16),
            pool.constant_int(INT16_MIN, DType::Int16));
  EXPECT_EQ(identity_of(pool, CombinerKind::ArgMin, DType::Float32),
            pool.constant_float(std::numeric_limits<double>::infinity(), DType::Float32));
  EXPECT_EQ(identity_of(pool, CombinerKind::All, DType::Bool), pool.constant_int(1, DType::Bool));
  EXPECT_EQ(identity_of(pool, CombinerKind::None, DType::Float64),
            pool.constant_float(0, DType::Float64));
}

}  // namespace
}  // namespace adjit::graph
