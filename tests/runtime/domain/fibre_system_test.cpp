// tests/runtime/domain/fibre_system_test.cpp -- a system over columns and parameters, and what
// changes of its columns keep.
#include "runtime/domain/fibre_system.hpp"

#include <gtest/gtest.h>

#include "visit.hpp"

namespace adjit::domain {
namespace {

// i in 0:5, r in 0:4, read at (i + r) // 2.
IndexMap halves() {
  IndexMap m({5}, {4});
  m.index = {m.floor(m[0] + m[1], 2)};
  return m;
}

TEST(FibreSystem, ItsRowsHoldAtThePointsOfTheFibreAndNowhereElse) {
  const IndexMap m = halves();
  const FibreSystem system(m.source, m.index, std::vector<int64_t>{4});
  ASSERT_EQ(system.columns, 3u);
  EXPECT_EQ(system.extents, (std::vector<int64_t>{5, 4, 4}));
  EXPECT_EQ(system.free_columns(), (std::vector<size_t>{0, 1, 2}));
  for_each_point(std::vector<int64_t>{7, 6, 6, 4}, [&](const Point& at) {
    const Point values{at[0] - 1, at[1] - 1, at[2] - 1, at[3]};  // also around the box
    bool holds = true;
    for (const Affine& row : system.inequalities) holds = holds && evaluate(row, values) >= 0;
    for (const Affine& row : system.equalities) holds = holds && evaluate(row, values) == 0;
    const bool inside = values[0] >= 0 && values[0] < 5 && values[1] >= 0 && values[1] < 4 &&
                        values[2] == floor_div(values[0] + values[1], 2) && values[2] == values[3];
    EXPECT_EQ(holds, inside);
  });
}

TEST(FibreSystem, AnEliminatedColumnIsUsedNowhere) {
  const IndexMap m = halves();
  FibreSystem system(m.source, m.index, std::vector<int64_t>{4});
  system.eliminate_column(2, Affine::variable(3));  // the division is j
  EXPECT_EQ(system.free_columns(), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(system.divisions[0], Affine::variable(3));
  for (const auto* forms : {&system.equalities, &system.inequalities, &system.axes})
    for (const Affine& form : *forms) EXPECT_EQ(form.coefficient(2), 0);
}

// i = -t - 2 r + 1, so that t = 1 - i - 2 r.
TEST(FibreSystem, AChangedColumnLeavesTheSourcesAxesWhatTheyWere) {
  const IndexMap m = halves();
  const FibreSystem before(m.source, m.index, std::vector<int64_t>{4});
  FibreSystem after = before;
  after.change_column(0, Affine::variable(1, 2, -1), /*negate=*/true);
  for_each_point(std::vector<int64_t>{5, 4, 4, 4}, [&](const Point& values) {
    Point changed = values;
    changed[0] = 1 - values[0] - 2 * values[1];
    for (size_t k = 0; k < before.axes.size(); ++k)
      EXPECT_EQ(evaluate(after.axes[k], changed), evaluate(before.axes[k], values));
    for (size_t k = 0; k < before.inequalities.size(); ++k)
      EXPECT_EQ(evaluate(after.inequalities[k], changed), evaluate(before.inequalities[k], values));
    for (size_t k = 0; k < before.equalities.size(); ++k)
      EXPECT_EQ(evaluate(after.equalities[k], changed), evaluate(before.equalities[k], values));
  });
}

TEST(FibreSystem, FloorsOfParametersAreConstantsWhereTheirRangeSaysSo) {
  const IndexMap m = halves();
  FibreSystem system(m.source, m.index, std::vector<int64_t>{4});
  const Affine j = Affine::variable(3);
  EXPECT_EQ(system.floor_of(j, 4), Affine(0)) << "0 <= j <= 3";
  EXPECT_EQ(system.floor_of(j * 8 + 5, 4), j * 2 + 1);
  EXPECT_TRUE(system.parameters.divisions.empty());
  const Affine half = system.floor_of(j + 1, 2);
  ASSERT_EQ(system.parameters.divisions.size(), 1u);
  EXPECT_EQ(system.floor_of(j + 1, 2), half) << "one division for one floor";
  EXPECT_EQ(system.parameters.divisions.size(), 1u);
  EXPECT_EQ(system.floor_of(j + 1, 3) == half, false);
  EXPECT_EQ(system.parameter_interval(half * 2).lo, 0);
  EXPECT_EQ(system.parameter_interval(half * 2).hi, 4);
}

TEST(FibreSystem, RangesBeyond64BitsAreOverflow) {
  const IndexMap m = halves();
  const FibreSystem system(m.source, m.index, std::vector<int64_t>{4});
  EXPECT_THROW(system.parameter_interval(Affine::variable(3, INT64_MAX)), Overflow);
  EXPECT_EQ(system.column_gcd(Affine::variable(0, 6) + Affine::variable(2, -9)), 3);
  EXPECT_EQ(system.column_gcd(Affine::variable(3, 6)), 0) << "a parameter is no column";
  EXPECT_EQ(system.to_parameters(Affine::variable(3, 6, 2)), Affine::variable(0, 6, 2));
}

TEST(FibreSystem, TidyRowsAreTightenedMergedAndKeepTheirPoints) {
  const IndexMap m = halves();
  FibreSystem system(m.source, m.index, std::vector<int64_t>{4});
  const Affine a = Affine::variable(0), b = Affine::variable(1);
  system.inequalities = {a * 2 - 3, a * 4 - 8, Affine(3), b - a + 5, b - a + 2};
  ASSERT_TRUE(system.tidy_inequalities());
  EXPECT_EQ(system.inequalities, (std::vector<Affine>{a - 2, b - a + 2}));
  system.inequalities = {a, Affine(-1)};
  EXPECT_FALSE(system.tidy_inequalities());
}

TEST(FibreSystem, DivideRoundsToTheNearest) {
  const DividedForm divided = divide(Affine::variable(0, 7, -5) + Affine::variable(1, 2), 4);
  EXPECT_EQ(divided.quotient, Affine::variable(0, 2, -2));
  EXPECT_EQ(divided.remainder, Affine::variable(0, -1, 3) + Affine::variable(1, 2));
}

TEST(FibreSystem, DivisionsWeighWhatThereIsToRead) {
  const Affine j = Affine::variable(0);
  EXPECT_EQ(division_weight(Affine(17), 4), 0) << "constants cost nothing";
  EXPECT_EQ(division_weight(j, 4), 1);
  EXPECT_EQ(division_weight(j * -1, 4), 2) << "a negative sign reads worse";
  EXPECT_EQ(division_weight(j * 8, 4), 2);
}

TEST(FibreSystem, FormsAreCutDividedAndCompared) {
  const Affine form = Affine::variable(0, 6) + Affine::variable(2, -9) + 3;
  EXPECT_EQ(leading_part(form, 1), Affine::variable(0, 6));
  EXPECT_EQ(leading_part(form, 9), form - 3);
  EXPECT_EQ(exact_quotient(form, 3), Affine::variable(0, 2) + Affine::variable(2, -3) + 1);
  EXPECT_TRUE(opposite(form, Affine(100) - form));
  EXPECT_FALSE(opposite(form, form));
}

}  // namespace
}  // namespace adjit::domain
