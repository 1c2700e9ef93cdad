// tests/autosched/search/priced_programs_test.cpp -- each program is made and priced once.
#include "autosched/search/priced_programs.hpp"

#include "autosched/search/gpu_programs.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(PricedPrograms, AreMadeOnce) {
  const Graph graph = matmul_graph(1024, 1024, 1024);
  GpuPrograms programs(graph, kGpu);
  const Priced& start = programs.start();
  EXPECT_EQ(&programs.start(), &start);
  ASSERT_FALSE(start.offers.empty());
  const Wanted wanted = changed(start, start.offers[0], 1);
  EXPECT_FALSE(programs.is_made(wanted.answers));
  const Priced* made = programs.price(wanted);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(programs.price(wanted), made);
  EXPECT_EQ(programs.made(), 2u);
  EXPECT_TRUE(programs.is_new(*made));
  EXPECT_FALSE(programs.is_new(*made));
}

TEST(PricedPrograms, SayWhatTheyDoOtherwise) {
  const Graph graph = matmul_graph(1024, 1024, 1024);
  GpuPrograms programs(graph, kGpu);
  const Priced& start = programs.start();
  const auto tile = std::ranges::find(start.offers, Decision::Tile,
                                      [](const Offer& offer) { return offer.subject.decision; });
  ASSERT_NE(tile, start.offers.end());
  EXPECT_EQ(changed(start, *tile, 1).changes,
            "tile of C: " + tile->options[1] + " instead of " + tile->options[0]);
}

TEST(PricedPrograms, AProgramIsThatOfItsCandidate) {
  const Graph graph = softmax_graph(512, 1024);
  GpuPrograms programs(graph, kGpu);
  EXPECT_EQ(print(programs.program(std::nullopt)), print(default_schedule(graph, kGpu)));
  const Priced& start = programs.start();
  EXPECT_EQ(print(programs.program(start.candidate)), print(default_schedule(graph, kGpu)));
}

}  // namespace
}  // namespace adjit::sched
