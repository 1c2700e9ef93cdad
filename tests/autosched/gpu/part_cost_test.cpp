// tests/autosched/gpu/part_cost_test.cpp -- how long a part of a program would take.
#include "autosched/gpu/part_cost.hpp"

#include <array>

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Graph graph() {
  return parse_graph(R"(def f(float(4096, 300) x, float(70, 500) z) -> (y, s) {
    y(i, j) = exp(x(i, j))
    s(i) +=! z(i, r)
  })");
}

TEST(PartCost, IsThatOfTheDefaultSchedule) {
  const Program whole = default_schedule(graph(), kGpu);
  EXPECT_DOUBLE_EQ(
      microseconds_of_part(initial_program(graph(), kGpu), kGpu, leaves_l2(whole, kGpu)),
      predict(whole, kGpu).microseconds);
}

TEST(PartCost, OfPartsAddsUpToTheWhole) {
  const Program p = initial_program(graph(), kGpu);
  const auto cost = [](const Program& part) { return microseconds_of_part(part, kGpu, true); };
  EXPECT_DOUBLE_EQ(
      cost(p), cost(part_of(p, std::array{size_t{0}})) + cost(part_of(p, std::array{size_t{1}})));
}

}  // namespace
}  // namespace adjit::sched
