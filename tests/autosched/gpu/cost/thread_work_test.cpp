// tests/autosched/gpu/cost/thread_work_test.cpp -- how often values are computed.
#include "autosched/gpu/cost/thread_work.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"

namespace adjit::sched {
namespace {

double operations(const Program& program) {
  const std::vector<PlacedNest> placed = placed_nests(program, program.kernels.at(0));
  const NestRoles nest{placed.data(), roles_of(placed.front().path, false)};
  return operations_of(program.graph, nest);
}

Program program_of(const char* text) { return initial_program(parse_graph(text), kGpu); }

TEST(ThreadWork, EachValueCountsInTheInnermostLoopThatItChangesWith) {
  // An addition for each of 8 x 4 points, and one for each of 8.
  const Program p =
      program_of("def f(float(8) x, float(4) y) -> (z) { z(i, j) = (x(i) + 1.0) + y(j) }");
  EXPECT_EQ(operations(p), 8 * 4 + 8);
  // Threads side by side compute it each for itself.
  EXPECT_EQ(operations(parallel(p, 0, 2)), 2 * 8 * 4);
}

// Whichever of its loops is the inner one.
TEST(ThreadWork, InstancesOfATileShareWhatTheirAxesDoNotChange) {
  const Program whole = program_of(
      "def f(float(8, 16) x, float(4, 16) y) -> (z) { z(i, j) +=! (x(i, k) + 1.0) * (y(j, k) + "
      "1.0) "
      "}");
  const Program rows = unroll(unroll(whole, 0, 0, 8), 0, 1, 4),
                columns = unroll(unroll(whole, 0, 1, 4), 0, 0, 8);
  EXPECT_EQ(operations(rows), 16 * (8 + 4 + 8 * 4));
  EXPECT_EQ(operations(columns), operations(rows));
}

TEST(ThreadWork, AProductThatIsAddedUpIsOneInstruction) {
  EXPECT_EQ(operations(program_of("def f(float(8, 16) x) -> (s) { s(i) +=! x(i, k) * x(i, k) }")),
            8 * 16);
  EXPECT_EQ(operations(program_of("def f(float(8, 16) x) -> (s) { s(i) max=! x(i, k) }")), 8 * 16);
  EXPECT_EQ(operations(program_of("def f(float(8, 16) x) -> (s) { s(i) max=! x(i, k) + 1.0 }")),
            2 * 8 * 16);
}

// A predicate switches it off.
TEST(ThreadWork, ATermOrZeroIsAddedByOneInstruction) {
  const auto of = [](const std::string& term) {
    return operations(
        program_of(("def f(float(8, 16) x, float(8) t) -> (s) { s(i) +=! " + term + " }").c_str()));
  };
  const double compared = 8 * 16;
  EXPECT_EQ(of("select(x(i, k) < t(i), x(i, k), 0.0)"), compared + 8 * 16);
  EXPECT_EQ(of("select(x(i, k) < t(i), x(i, k) * x(i, k), 0.0)"), compared + 8 * 16);
  EXPECT_EQ(of("select(x(i, k) < t(i), x(i, k), 1.0)"), compared + 2 * 8 * 16);
  const double of_halves = operations(program_of(
      "def f(half(8, 16) x, half(8) t) -> (s) { s(i) +=! select(x(i, k) < t(i), x(i, k), 0.0) }"));
  EXPECT_GE(of_halves, compared + 2 * 8 * 16) << "of other types there are no such instructions";
}

}  // namespace
}  // namespace adjit::sched
