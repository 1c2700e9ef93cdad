// tests/runtime/graph/near_constraint_test.cpp -- constraints with large numbers hold where they
// held, by smaller ones.
#include "runtime/graph/near_constraint.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::graph {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 20;

bool is_far(const Affine& form) {
  const auto far = [](int64_t n) { return n > kFarthest || n < -kFarthest; };
  return far(form.constant()) || std::ranges::any_of(form.coefficients(), far);
}

bool holds(int sign, bool equality) { return equality ? sign == 0 : sign >= 0; }

// At every point of the box, with exact signs.
void expect_same(const Affine& form, const std::optional<Affine>& near, bool equality,
                 const Domain& domain) {
  std::vector<int64_t> point(domain.rank(), 0);
  const auto visit = [&](auto&& self, size_t k) -> void {
    if (k < point.size()) {
      for (point[k] = 0; point[k] < domain.extents[k]; ++point[k]) self(self, k + 1);
      return;
    }
    const std::vector<int64_t> all = domain.variables_at(point);
    EXPECT_EQ(holds(sign_at(form, all), equality), !near || holds(sign_at(*near, all), equality))
        << to_string(form, std::vector<std::string>{"a", "b", "c", "d"});
  };
  visit(visit, 0);
}

Affine form_of(std::vector<int64_t> coefficients, int64_t constant) {
  Affine form(constant);
  for (size_t k = 0; k < coefficients.size(); ++k) form.set_coefficient(k, coefficients[k]);
  return form;
}

TEST(NearConstraint, OneLargeCoefficientDecidesAlone) {
  const Domain domain = shape_box({8, 3});
  const int64_t huge = (int64_t{1} << 62) + 4;
  EXPECT_EQ(near_constraint(form_of({1, huge}, -1), false, domain, kFarthest), form_of({1, 7}, -1));
  for (const Affine& form : {form_of({1, huge}, -1), form_of({-1, -huge}, 3),
                             form_of({3, huge}, -huge - 5), form_of({-5, -huge}, huge + 11)})
    for (bool equality : {false, true}) {
      const std::optional<Affine> near = near_constraint(form, equality, domain, kFarthest);
      expect_same(form, near, equality, domain);
      EXPECT_FALSE(near && is_far(*near));
    }
}

TEST(NearConstraint, WhatHoldsAlwaysOrNeverHasNoNumbers) {
  const Domain domain = shape_box({8});
  const int64_t huge = int64_t{1} << 61;
  EXPECT_EQ(near_constraint(form_of({1}, huge), false, domain, kFarthest), std::nullopt);
  EXPECT_EQ(near_constraint(form_of({1}, -huge), false, domain, kFarthest), Affine(-1));
  EXPECT_EQ(near_constraint(form_of({1}, huge), true, domain, kFarthest), Affine(-1));
  EXPECT_EQ(near_constraint(form_of({huge}, -1), true, domain, kFarthest), Affine(-1));
  EXPECT_EQ(near_constraint(form_of({huge}, -3 * huge), true, domain, kFarthest), form_of({1}, -3));
}

TEST(NearConstraint, OthersStay) {
  const Domain domain = shape_box({8, 3});
  for (const Affine& form : {form_of({1, -1}, 0), form_of({6, 4}, 3), form_of({2, 0}, -40)})
    EXPECT_EQ(near_constraint(form, false, domain, kFarthest), form);
}

TEST(NearConstraint, HoldsWhereTheConstraintHolds) {
  testing::Random random(17);
  const int64_t ends[] = {INT64_MAX, int64_t{1} << 62, int64_t{1} << 40, (int64_t{1} << 33) - 5};
  int nearer = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Domain domain = shape_box({random.between(1, 4), random.between(1, 4), random.between(1, 5)});
    domain.add_division(form_of({2, 1}, random.between(-4, 4)), random.between(2, 4));
    const auto number = [&]() -> int64_t {
      const int64_t small = random.between(-6, 6);
      if (random.between(0, 2) > 0) return small;
      const int64_t end = ends[random.between(0, 3)] / random.between(1, 4);
      return random.between(0, 1) ? end - std::abs(small) : small - end / 2;
    };
    const Affine form = form_of({number(), number(), number(), number()}, number());
    const bool equality = random.between(0, 2) == 0;
    const std::optional<Affine> near = near_constraint(form, equality, domain, kFarthest);
    expect_same(form, near, equality, domain);
    if (is_far(form)) nearer += !near || !is_far(*near);
  }
  EXPECT_GT(nearer, 10000);
}

}  // namespace
}  // namespace adjit::graph
