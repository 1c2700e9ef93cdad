// tests/autosched/cpu/passes/reductions/collapse_columns_test.cpp -- which products take the
// columns of an image as one axis.
#include "autosched/cpu/passes/reductions/collapse_columns.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

bool wants(const std::string& body, const std::string& conditions = "") {
  const Program p = initial_program(
      parse_graph("def main(float(4, 128, 30, 30) x, float(64, 128) w, float(4, 128, 28, 28) z, "
                  "float(28, 28) m) -> (y) {\n  y(b, i, k, l) +=! " +
                  body + " where b in 0:4, i in 0:64, k in 0:28, l in 0:28, r in 0:128" +
                  conditions + "\n}"),
      CpuMachine{2, 512});
  return wants_one_axis_of_columns(p, 0, accesses_of(p.graph, p.graph.stages[0]));
}

TEST(ImageColumns, WhereBothAxesWalkAsOneWould) {
  EXPECT_TRUE(wants("w(i, r) * z(b, r, k, l)"));
  EXPECT_FALSE(wants("w(i, r) * x(b, r, k, l)")) << "a row of 28 ends before one of 30 does";
  EXPECT_FALSE(wants("w(i, r) * x(b, r, k, l + 2)"));
  EXPECT_FALSE(wants("w(i, r) * z(b, r, l, k)")) << "the other way round";
  EXPECT_FALSE(wants("w(i, r) * z(b, r, k, k)")) << "one of them";
  EXPECT_FALSE(wants("w(i, r) * z(b, r, k // 2, l)"));
}

TEST(ImageColumns, OnlyWithRowsThatShareThem) {
  EXPECT_FALSE(wants("z(b, r, k, l) * m(k, l)")) << "no product of rows and columns";
  EXPECT_FALSE(wants("w(i, r) * z(b, r, k, l)", ", k >= r - 100")) << "conditions on them";
}

// Images whose rows are no whole vectors, in a convolution of 1 x 1.
TEST(ImageColumns, OfADefaultSchedule) {
  const auto scheduled = [](int64_t side, int64_t channels, bool read) {
    const std::string n = std::to_string(side), c = std::to_string(channels);
    const std::string square = "  z(b, i, k, l) = y(b, i, k, l) * y(b, i, k, l)\n";
    return default_schedule(
        parse_graph("def main(float(4, " + c + ", " + n + ", " + n + ") x, float(64, " + c +
                    ") w) -> (" + (read ? "z" : "y") + ") {\n" +
                    "  y(b, i, k, l) +=! w(i, r) * x(b, r, k, l)\n" + (read ? square : "") + "}"),
        CpuMachine{2, 512});
  };
  EXPECT_TRUE(has_move(scheduled(28, 128, true), "fuse_axes"));
  EXPECT_TRUE(has_move(scheduled(28, 32, false), "fuse_axes"));
  EXPECT_FALSE(has_move(scheduled(32, 128, false), "fuse_axes")) << "whole vectors";
  EXPECT_FALSE(has_move(scheduled(28, 32, true), "fuse_axes")) << "has an epilogue";
  const Program p = scheduled(28, 128, false);
  EXPECT_EQ(stages_in_place(p).size(), 1u) << print(p);
}

}  // namespace
}  // namespace adjit::sched
