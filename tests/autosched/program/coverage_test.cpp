// tests/autosched/program/coverage_test.cpp -- regions that cover a tensor once.
#include "autosched/program/coverage.hpp"

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The host goes through p, r; the stage has `rows` rows.
struct Case {
  explicit Case(int64_t rows, const std::string& condition = "")
      : program(plain(parse_graph("def f(float(" + std::to_string(rows) +
                                  ") x, float(4, 3) z) -> (y, s) {\n y(i) = exp(x(i))\n"
                                  " s(p) +=! z(p, r) where p in 0:4, r in 0:3" +
                                  condition + "\n}"))) {}

  bool covers(size_t depth, const Affine& base, int64_t span) const {
    return covers_exactly_once(program, host(), depth, 0, {{base}, {span}});
  }
  bool comes_to_all(size_t depth, const Affine& base, int64_t span) const {
    return comes_to_all_points(program, host(), depth, 0, {{base}, {span}});
  }
  const Nest& host() const { return nest_of(program, 1); }
  Affine row(int64_t of_part, int64_t of_row) const {
    return Affine::variable(host().loops[0].variable, of_part) +
           Affine::variable(host().loops[1].variable, of_row);
  }

  Program program;
};

TEST(Coverage, AxesAreDigitsOfANumber) {
  const Case twelve(12);
  EXPECT_TRUE(twelve.covers(2, twelve.row(3, 1), 1));
  EXPECT_TRUE(twelve.covers(2, twelve.row(1, 4), 1));
  EXPECT_TRUE(twelve.covers(1, twelve.row(3, 0), 3));
  EXPECT_TRUE(Case(11).covers(2, twelve.row(3, 1), 1)) << "the last one lies outside";
  EXPECT_FALSE(Case(13).covers(2, twelve.row(3, 1), 1));
  EXPECT_FALSE(twelve.covers(2, twelve.row(2, 1), 1)) << "parts overlap";
  EXPECT_FALSE(twelve.covers(2, twelve.row(4, 1), 1)) << "rows between parts are left out";
  EXPECT_FALSE(twelve.covers(2, twelve.row(3, 1), 2));
  EXPECT_FALSE(twelve.covers(2, twelve.row(3, 1) + Affine(1), 1));
  EXPECT_FALSE(twelve.covers(2, twelve.row(3, -1) + Affine(2), 1));
  EXPECT_FALSE(twelve.covers(2, twelve.row(3, 0), 3)) << "again for each r";
  EXPECT_FALSE(twelve.covers(1, Affine(), 12)) << "again for each p";
}

TEST(Coverage, GroupsAreWholeButForTheLast) {
  Case twelve(12);
  twelve.program = tile(twelve.program, 1, 1, std::vector<int64_t>{2});
  const Loop& groups = twelve.host().loops[1];
  EXPECT_EQ(groups.trips, 2);
  const Affine row = twelve.row(3, 1);
  EXPECT_FALSE(twelve.covers(2, row, 2)) << "a part's last group has a row of the next part";
  const Affine transposed =
      Affine::variable(groups.variable, 4) + Affine::variable(twelve.host().loops[0].variable);
  EXPECT_FALSE(twelve.covers(2, transposed, 1));
}

TEST(Coverage, TheHostComesToAllRowsButThoseOutside) {
  const Case box(12);
  EXPECT_TRUE(box.comes_to_all(2, box.row(3, 1), 1));
  const Case strips(11, ", 3 * p + r <= 10");
  EXPECT_TRUE(strips.comes_to_all(2, strips.row(3, 1), 1));
  const Case fewer(11, ", 3 * p + r <= 9");
  EXPECT_FALSE(fewer.comes_to_all(2, fewer.row(3, 1), 1));
  EXPECT_TRUE(fewer.comes_to_all(1, fewer.row(3, 0), 3)) << "outside the reduction all are run";
  const Case every(12, ", r % 2 <= 0");
  EXPECT_FALSE(every.comes_to_all(2, every.row(3, 1), 1));
}

}  // namespace
}  // namespace adjit::sched
