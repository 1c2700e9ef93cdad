#include "runtime/expr/expr.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/expr/error.hpp"

namespace adjit::expr {
namespace {

constexpr DType kF = DType::Float32;

ExprId element(ExprPool& pool, uint32_t tensor, ExprId index, ExprId predicate = {}) {
  return pool.read(TensorId{tensor}, kF, std::span(&index, 1), predicate);
}

TEST(ExprPool, EqualExpressionsAreEqualIds) {
  ExprPool pool;
  const ExprId a = pool.mul(element(pool, 0, pool.axis(0)), element(pool, 1, pool.axis(1)));
  const size_t size = pool.size();
  const ExprId b = pool.mul(element(pool, 0, pool.axis(0)), element(pool, 1, pool.axis(1)));
  EXPECT_EQ(a, b);
  EXPECT_EQ(pool.size(), size);
  EXPECT_NE(a, pool.mul(element(pool, 1, pool.axis(1)), element(pool, 0, pool.axis(0))));
}

TEST(ExprPool, OperandsHaveSmallerIds) {
  ExprPool pool;
  ExprId x = element(pool, 0, pool.axis(0));
  for (int k = 0; k < 1000; ++k) x = pool.add(pool.make(Op::Sin, {x}), x);
  for (uint32_t id = 0; id < pool.size(); ++id)
    for (ExprId operand : pool.operands(ExprId{id})) EXPECT_LT(operand.value, id);
}

TEST(ExprPool, GuardedAndUnguardedReadsDiffer) {
  ExprPool pool;
  const ExprId i = pool.axis(0);
  const ExprId guard = pool.make(Op::Lt, {i, pool.constant_int(3)});
  const ExprId plain = element(pool, 0, i), guarded = element(pool, 0, i, guard);
  EXPECT_NE(plain, guarded);
  EXPECT_EQ(pool.read_index(guarded).size(), 1u);
  EXPECT_EQ(pool.read_predicate(guarded), guard);
  EXPECT_FALSE(pool.read_predicate(plain).valid());
  EXPECT_EQ(pool.read_tensor(guarded), TensorId{0});
}

TEST(ExprPool, ConstantPredicatesDisappear) {
  ExprPool pool;
  const ExprId i = pool.axis(0);
  EXPECT_EQ(element(pool, 0, i, pool.constant_int(1, DType::Bool)), element(pool, 0, i));
  EXPECT_EQ(element(pool, 0, i, pool.constant_int(0, DType::Bool)), pool.constant(0, kF));
}

TEST(ExprPool, ConstantsAreRoundedAndWrapped) {
  ExprPool pool;
  EXPECT_EQ(pool.value(pool.constant_float(0.1, kF)), static_cast<double>(0.1f));
  EXPECT_EQ(pool.int_value(pool.constant_int(300, DType::UInt8)), 44);
  EXPECT_NE(pool.constant_float(0.0, kF), pool.constant_float(-0.0, kF));
  EXPECT_NE(pool.constant_float(1.0, kF), pool.constant_float(1.0, DType::Float64));
}

TEST(ExprPool, WrongDTypesNameTheOperation) {
  ExprPool pool;
  const ExprId x = element(pool, 0, pool.axis(0));
  const auto message = [&](Op op, std::initializer_list<ExprId> operands) {
    try {
      pool.make(op, operands);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DType);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message(Op::Add, {x, pool.constant_float(1, DType::Float64)}).find("'+'"),
            std::string::npos);
  EXPECT_NE(message(Op::Exp, {pool.axis(0)}).find("'exp'"), std::string::npos);
  EXPECT_NE(message(Op::And, {x, x}).find("'&&'"), std::string::npos);
  EXPECT_NE(message(Op::Select, {x, x, x}).find("'select'"), std::string::npos);
  const ExprId half = pool.cast(x, DType::Float16);
  EXPECT_NE(message(Op::Mul, {half, half}).find("float32"), std::string::npos);
  EXPECT_THROW(pool.read(TensorId{0}, kF, std::span(&x, 1)), Error);
}

TEST(ExprPool, CastOfConstantsFolds) {
  ExprPool pool;
  EXPECT_EQ(pool.cast(pool.constant_float(2.7, kF), DType::Int32),
            pool.constant_int(2, DType::Int32));
  EXPECT_EQ(pool.cast(pool.axis(0), DType::Int64), pool.axis(0));
}

TEST(Rebuilder, CopiesAChainThatIsTooDeepForRecursion) {
  ExprPool pool;
  ExprId x = element(pool, 0, pool.axis(0));
  for (int k = 0; k < 100'000; ++k) x = pool.make(Op::Sin, {x});
  ExprPool copy;
  Rebuilder rebuild(pool, copy, [](ExprId, std::span<const ExprId>) { return ExprId{}; });
  rebuild(x);
  EXPECT_EQ(copy.size(), pool.size());
}

TEST(Rebuilder, ReplacesLeavesInTheSamePool) {
  ExprPool pool;
  const ExprId i = pool.axis(0), j = pool.axis(1);
  const ExprId body = pool.mul(element(pool, 0, i), element(pool, 1, i));
  Rebuilder swap(pool, pool,
                 [&](ExprId leaf, std::span<const ExprId>) { return leaf == i ? j : ExprId{}; });
  EXPECT_EQ(swap(body), pool.mul(element(pool, 0, j), element(pool, 1, j)));
}

TEST(Rebuilder, KeepsPredicates) {
  ExprPool pool;
  const ExprId i = pool.axis(0);
  const ExprId guarded = element(pool, 0, i, pool.make(Op::Lt, {i, pool.constant_int(3)}));
  ExprPool copy;
  Rebuilder rebuild(pool, copy, [](ExprId, std::span<const ExprId>) { return ExprId{}; });
  EXPECT_TRUE(copy.read_predicate(rebuild(guarded)).valid());
}

TEST(Reachable, ListsEachNodeOnceChildrenFirst) {
  ExprPool pool;
  const ExprId x = element(pool, 0, pool.axis(0));
  const ExprId dead = pool.make(Op::Exp, {x});
  const ExprId y = pool.mul(x, x);
  const std::vector<ExprId> found = reachable(pool, std::span(&y, 1));
  EXPECT_EQ(found.size(), 3u);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_EQ(std::count(found.begin(), found.end(), dead), 0);
}

TEST(Reachable, ContainsReads) {
  ExprPool pool;
  const ExprId axis = pool.axis(0);
  const ExprId place = pool.read(TensorId{0}, DType::Int64, std::vector<ExprId>{axis});
  const ExprId value = pool.read(TensorId{1}, DType::Float64, std::vector<ExprId>{place});
  EXPECT_TRUE(contains_read(pool, std::span(&value, 1)));
  EXPECT_TRUE(contains_read(pool, pool.read_index(value))) << "data names its index";
  EXPECT_FALSE(contains_read(pool, pool.read_index(place)));
}

TEST(ExprPool, ZerosOfEveryDType) {
  ExprPool pool;
  EXPECT_TRUE(pool.is_zero(pool.constant(-0.0, DType::Float32)));
  EXPECT_TRUE(pool.is_zero(pool.constant_int(0)));
  EXPECT_TRUE(pool.is_zero(pool.constant_int(0, DType::Bool)));
  EXPECT_FALSE(pool.is_zero(pool.constant(1e-300, DType::Float64)));
  EXPECT_FALSE(pool.is_zero(pool.axis(0)));
}

TEST(PostOrder, DependsOnStructureOnly) {
  ExprPool pool;
  const ExprId second = element(pool, 1, pool.axis(0));  // made first, used last
  const ExprId first = element(pool, 0, pool.axis(0));
  const ExprId sum = pool.make(Op::Add, {first, second});
  const ExprId roots[] = {sum, second};
  EXPECT_EQ(post_order(pool, roots), (std::vector<ExprId>{pool.axis(0), first, second, sum}));
}

}  // namespace
}  // namespace adjit::expr
