// tests/jit/engine/run/cuda_sections_test.cpp -- which steps are one launch of a graph, and who
// waits for whom.
#include "jit/engine/run/cuda_sections.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// A kernel's step, which waits for earlier ones of its list.
StepPlan kernel(ExecutionPlan& plan, std::vector<size_t> waits = {}, int64_t tasks = 1) {
  plan.kernels.push_back({.symbol = "k", .tensors = {}, .tasks = tasks});
  return {false, plan.kernels.size() - 1, std::move(waits)};
}

ScanPlan of_trips(int64_t trips) {
  ScanPlan made;
  made.trips = trips;
  return made;
}

StepPlan scan(ExecutionPlan& plan, ScanPlan of) {
  plan.scans.push_back(std::move(of));
  return {true, plan.scans.size() - 1, {}};
}

ExecutionPlan chain(size_t kernels) {
  ExecutionPlan plan;
  for (size_t k = 0; k < kernels; ++k)
    plan.steps.push_back(kernel(plan, k == 0 ? std::vector<size_t>{} : std::vector{k - 1}));
  return plan;
}

TEST(CudaSections, FourKernelsAreAGraphAndThreeAreNot) {
  EXPECT_TRUE(sections_of({}).empty());
  const std::vector<CudaSection> three = sections_of(chain(3)), four = sections_of(chain(4));
  ASSERT_EQ(three.size(), 1u);
  EXPECT_TRUE(three[0].graph.empty());
  ASSERT_EQ(four.size(), 1u);
  EXPECT_EQ(four[0].end, 4u);
  EXPECT_EQ(four[0].graph, (std::vector<GraphNode>{{0, {}}, {1, {0}}, {2, {1}}, {3, {2}}}));
}

TEST(CudaSections, KernelsWaitForThoseOfThePlan) {
  ExecutionPlan plan;
  for (const std::vector<size_t>& waits :
       std::vector<std::vector<size_t>>{{}, {}, {0, 1}, {0}, {2, 3}})
    plan.steps.push_back(kernel(plan, waits));
  EXPECT_EQ(sections_of(plan)[0].graph,
            (std::vector<GraphNode>{{0, {}}, {1, {}}, {2, {0, 1}}, {3, {0}}, {4, {2, 3}}}));
}

TEST(CudaSections, WhoWaitsForAKernelWithoutTasksWaitsForWhatThatWaitsFor) {
  ExecutionPlan plan = chain(3);
  plan.kernels[1].tasks = 0;
  for (const size_t before : {size_t{2}, size_t{2}, size_t{1}})
    plan.steps.push_back(kernel(plan, {before}));
  const std::vector<GraphNode> graph = sections_of(plan)[0].graph;
  ASSERT_EQ(graph.size(), 5u);
  EXPECT_EQ(graph[1], (GraphNode{2, {0}}));
  EXPECT_EQ(graph[4], (GraphNode{5, {0}}));
}

// Two kernels a step, which do not wait for each other, behind one that runs once.
TEST(CudaSections, ScansAreUnrolledStepByStep) {
  ExecutionPlan plan;
  plan.steps.push_back(kernel(plan));
  ScanPlan of = of_trips(3);
  of.before = {kernel(plan)};
  of.steps = {kernel(plan), kernel(plan)};
  plan.steps.push_back(scan(plan, of));
  plan.steps.push_back(kernel(plan));
  const std::vector<CudaSection> sections = sections_of(plan);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].graph, (std::vector<GraphNode>{{0, {}},
                                                       {1, {0}},
                                                       {2, {1}},
                                                       {3, {1}},
                                                       {2, {2, 3}},
                                                       {3, {2, 3}},
                                                       {2, {4, 5}},
                                                       {3, {4, 5}},
                                                       {4, {6, 7}}}));
}

TEST(CudaSections, ScansWithinScansAreUnrolled) {
  ExecutionPlan plan;
  ScanPlan inner = of_trips(2), outer = of_trips(3);
  inner.steps = {kernel(plan)};
  outer.steps = {kernel(plan), scan(plan, inner)};
  plan.steps.push_back(scan(plan, outer));
  const std::vector<GraphNode> graph = sections_of(plan)[0].graph;
  ASSERT_EQ(graph.size(), 9u);
  for (size_t k = 0; k < graph.size(); ++k) {
    EXPECT_EQ(graph[k].kernel, k % 3 == 0 ? 1u : 0u);
    EXPECT_EQ(graph[k].waits, k == 0 ? std::vector<size_t>{} : std::vector{k - 1});
  }
}

TEST(CudaSections, ManyKernelsThatAreWaitedForAreJoined) {
  ExecutionPlan plan;
  ScanPlan of = of_trips(2);
  for (int k = 0; k < 5; ++k) of.steps.push_back(kernel(plan));
  plan.steps.push_back(scan(plan, of));
  const std::vector<GraphNode> graph = sections_of(plan)[0].graph;
  ASSERT_EQ(graph.size(), 12u);
  EXPECT_EQ(graph[5], (GraphNode{GraphNode::kJoin, {0, 1, 2, 3, 4}}));
  for (size_t k = 6; k < 11; ++k) EXPECT_EQ(graph[k].waits, std::vector<size_t>{5});
}

TEST(CudaSections, LoopsThatDataEndAreSectionsOfTheirOwn) {
  ExecutionPlan plan = chain(4);
  ScanPlan loop, around = of_trips(2);
  loop.conditional = true;
  loop.steps = {kernel(plan)};
  plan.steps.push_back(scan(plan, loop));
  plan.steps.push_back(kernel(plan));
  around.steps = {scan(plan, loop)};
  plan.steps.push_back(scan(plan, around));
  const size_t first = plan.steps.size();
  for (int k = 0; k < 4; ++k) plan.steps.push_back(kernel(plan, {first}));
  plan.steps[first].waits = {};
  const std::vector<CudaSection> sections = sections_of(plan);
  ASSERT_EQ(sections.size(), 5u);
  constexpr std::array<size_t, 5> nodes{4, 0, 0, 0, 4}, ends{4, 5, 6, 7, 11};
  for (size_t s = 0; s < sections.size(); ++s) {
    EXPECT_EQ(sections[s].graph.size(), nodes[s]);
    EXPECT_EQ(sections[s].begin, s == 0 ? 0 : ends[s - 1]);
    EXPECT_EQ(sections[s].end, ends[s]);
  }
  EXPECT_EQ(sections[4].graph[1].waits, std::vector<size_t>{0}) << "counted from its section";
}

TEST(CudaSections, LongPlansAreSeveralGraphsAndLongScansNone) {
  const std::vector<CudaSection> sections = sections_of(chain(2 * sched::kMostGraphKernels + 5));
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(sections[1].graph.size(), sched::kMostGraphKernels);
  EXPECT_EQ(sections[1].graph[0].waits, std::vector<size_t>{}) << "what is before it is done";
  EXPECT_EQ(sections[1].graph[1].waits, std::vector<size_t>{0});
  EXPECT_EQ(sections[2].graph.size(), 5u);
  ExecutionPlan plan;
  ScanPlan of = of_trips(int64_t{1} << 60);
  of.steps = {kernel(plan), kernel(plan)};
  plan.steps.push_back(scan(plan, of));
  EXPECT_TRUE(sections_of(plan)[0].graph.empty());
  plan.scans[0].trips = sched::kMostGraphKernels / 2;
  EXPECT_EQ(sections_of(plan)[0].graph.size(), sched::kMostGraphKernels);
}

}  // namespace
}  // namespace adjit::testing
