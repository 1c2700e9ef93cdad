// tests/jit/emit/shape/index_forms_test.cpp -- forms of index expressions, their values, and
// bounds.
#include "jit/emit/shape/index_forms.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::IndexForms;

// Axes i and j, in the ranges given.
struct Axes {
  Builder b;
  ExprId i = b.axis(0), j = b.axis(1);

  IndexForms forms(Interval in_i, Interval in_j = {0, 9}, std::vector<int64_t> extents = {10, 10}) {
    Domain domain;
    domain.extents = std::move(extents);
    return {b.graph.pool, std::move(domain), {in_i, in_j}};
  }
  ExprId times(ExprId a, int64_t k) { return b.graph.pool.mul(a, b.integer(k)); }
  ExprId over(ExprId a, int64_t k) { return b.graph.pool.make(Op::FloorDiv, {a, b.integer(k)}); }
  ExprId mod(ExprId a, int64_t k) { return b.graph.pool.make(Op::Mod, {a, b.integer(k)}); }
};

TEST(IndexForms, AddTheDivisionsThatTheyNeed) {
  Axes a;
  IndexForms forms = a.forms({0, 9});
  const ExprId index = a.b.graph.pool.add(a.over(a.i, 3), a.times(a.j, 2));
  const std::optional<Affine> form = forms.form(index);
  ASSERT_TRUE(form);
  ASSERT_EQ(forms.domain().divisions.size(), 1u);
  EXPECT_EQ(*form, Affine::variable(2) + Affine::variable(1, 2));
  EXPECT_EQ(forms.range(*form), (Interval{0, 3 + 18}));
  EXPECT_EQ(forms.known(index), form);
}

TEST(IndexForms, TakeValuesWhereTheAxesAre) {
  Axes a;
  IndexForms forms = a.forms({-4, 12});
  EXPECT_EQ(forms.range_of(a.times(a.i, -2)), (Interval{-24, 8}));
  EXPECT_EQ(forms.range_of(a.over(a.i, 3)), (Interval{-2, 4}));
}

// Sums of a few such forms would leave 64 bits.
TEST(IndexForms, ThatAreLargeAreNone) {
  Axes a;
  IndexForms forms = a.forms({0, 9});
  EXPECT_TRUE(forms.form(a.times(a.i, int64_t{1} << 56)));
  EXPECT_FALSE(forms.form(a.times(a.i, int64_t{1} << 59)));
  EXPECT_FALSE(forms.form(a.over(a.times(a.i, int64_t{1} << 59), 3)));
  EXPECT_TRUE(forms.domain().divisions.empty()) << "what no form needs";
  EXPECT_TRUE(forms.form(a.over(a.i, 3))) << "others are found afterwards";
}

TEST(IndexForms, OfDataAreNone) {
  Axes a;
  const TensorId t = a.b.input("t", {10});
  const ExprId data = a.b.graph.pool.cast(a.b.at(t, {a.i}), DType::Int64);
  IndexForms forms = a.forms({0, 9});
  EXPECT_FALSE(forms.form(data));
  EXPECT_FALSE(forms.range_of(data));
}

TEST(IndexForms, ReadsAreInBoundsWhereTheAxesAre) {
  Axes a;
  const TensorId x = a.b.input("x", {10});
  const ExprId read = a.b.at(x, {a.i});
  const int64_t shape[] = {10};
  EXPECT_TRUE(a.forms({0, 9}).in_bounds(read, shape));
  EXPECT_FALSE(a.forms({-1, 9}).in_bounds(read, shape)) << "a region that is clipped";
  EXPECT_FALSE(a.forms({0, 10}).in_bounds(read, shape));
}

// As forms, remainders are x - n (x // n) and limits are none: bounded by what they are.
TEST(IndexForms, RemaindersAndLimitsAreInBounds) {
  Axes a;
  const TensorId x = a.b.input("x", {3}), t = a.b.input("t", {10});
  ExprPool& pool = a.b.graph.pool;
  const ExprId data = pool.cast(a.b.at(t, {a.i}), DType::Int64);
  const ExprId limited =
      pool.make(Op::Max, {pool.make(Op::Min, {data, a.b.integer(2)}), a.b.integer(0)});
  const int64_t shape[] = {3};
  EXPECT_TRUE(a.forms({0, 9}).in_bounds(a.b.at(x, {a.mod(a.i, 3)}), shape));
  EXPECT_FALSE(a.forms({0, 9}).in_bounds(a.b.at(x, {a.mod(a.i, 4)}), shape));
  EXPECT_TRUE(a.forms({0, 9}).in_bounds(a.b.at(x, {limited}), shape));
  EXPECT_FALSE(a.forms({0, 9}).in_bounds(a.b.at(x, {data}), shape));
}

// Quotients by such divisors are computed as they are, and wrap as integers do.
TEST(IndexForms, DivisorsMayBeHuge) {
  for (const char* index :
       {"(i - 2) % 4611686018427387905 % 3", "(i + 9223372036854775800) // 4611686018427387904",
        "i % 9223372036854775807 % 3"}) {
    const std::string text = std::string("def main(float(5) x) -> (y) { y(i) = x(min(max(") +
                             index + ", 0), 4)) where i in 0:7 }";
    const Graph graph = parse_graph(text);
    Array x = Array::zeros(DType::Float32, {5});
    for (int64_t e = 0; e < 5; ++e) x.set(e, static_cast<double>(e + 1));
    for (const Program& program : {plain(graph, 1), vectorize(plain(graph, 1), 0, 0, 8)})
      EXPECT_EQ(check_emitted(program, std::vector<Array>{x}), "") << index;
  }
}

}  // namespace
}  // namespace adjit::testing
