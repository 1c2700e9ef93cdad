// tests/jit/engine/run/steps_test.cpp -- kernels beside scans, and in graphs of tasks.
#include "jit/engine/run/steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "jit/engine/run/executable.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run/by_hand.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Buffer 0 is the list; 1 and 2 are two carries' starts, 3 and 4 their ends, 5 to 8 what moves.
ExecutionPlan around_a_scan() {
  ExecutionPlan plan;
  plan.buffers.resize(5);
  for (int k = 0; k < 4; ++k) plan.buffers.push_back({Buffer::Kind::Step, 0, 0});
  for (size_t k = 0; k < 4; ++k) plan.kernels.push_back(kernel_of({0}));
  plan.kernels[1].tensors = {0, 5, 6, 7, 8};
  ScanPlan scan;
  scan.trips = 3;
  scan.carries = {{5, 6, 1, 3, {0, 64}, 8}, {7, 8, 2, 4, {128, 192}, 1}};
  scan.before = {{false, 2}};
  scan.steps = {{false, 1}};
  plan.scans = {scan};
  plan.steps = {{false, 0}, {true, 0}, {false, 3}};
  plan.workspace_bytes = 256;
  return plan;
}

// With the list, two starts and two ends.
std::unique_ptr<Frame> frame_with(const LoadedPlan& loaded, RanList& ran, int64_t& count,
                                  bool& goes_on, int64_t& last_count, bool& last_goes_on) {
  std::unique_ptr<Frame> frame = make_frame(loaded);
  void* const given[] = {&ran, &count, &goes_on, &last_count, &last_goes_on};
  for (size_t b = 0; b < std::size(given); ++b) set_address(*frame, loaded, b, given[b]);
  return frame;
}

TEST(Steps, AScanRunsWhatIsBeforeItOnceAndThenItsSteps) {
  const LoadedPlan loaded = by_hand(around_a_scan(), {note<0>, note<1, 4>, note<2>, note<3>});
  RanList ran;
  int64_t count = 0, last_count = 0;
  bool goes_on = false, last_goes_on = false;
  const auto frame = frame_with(loaded, ran, count, goes_on, last_count, last_goes_on);
  std::byte* const w = frame->workspace.get();
  const RanList expected{
      {0, 0, 1},
      {2, 0, 1},
      {1, 0, 1, {&count, w, &goes_on, w + 128}},
      {1, 0, 1, {w, w + 64, w + 128, w + 192}},
      {1, 0, 1, {w + 64, &last_count, w + 192, &last_goes_on}},
      {3, 0, 1},
  };
  for (int call = 0; call < 2; ++call) {
    ran.clear();
    run_steps(loaded, *frame, loaded.plan.steps, loaded.sections);
    EXPECT_EQ(ran, expected);
  }
}

void count_down(void* const* table, int64_t begin, int64_t end) {
  note<1>(table, begin, end);
  const int64_t left = *static_cast<int64_t*>(table[1]) - 1;
  *static_cast<int64_t*>(table[2]) = left;
  *static_cast<bool*>(table[4]) = left > 0;
}

TEST(Steps, ALoopEndsWhenItsLastCarryIsFalse) {
  ExecutionPlan plan = around_a_scan();
  plan.scans[0].conditional = true;
  const LoadedPlan loaded = by_hand(plan, {note<0>, count_down, note<2>, note<3>});
  RanList ran;
  int64_t count = 0, last_count = 0;
  bool goes_on = false, last_goes_on = true;
  const auto frame = frame_with(loaded, ran, count, goes_on, last_count, last_goes_on);
  for (int64_t trips : {0, 1, 2, 5}) {
    count = trips;
    goes_on = trips > 0;
    last_count = -1;
    last_goes_on = true;
    ran.clear();
    run_steps(loaded, *frame, loaded.plan.steps, loaded.sections);
    EXPECT_EQ(std::ranges::count(ran, 1, &Ran::kernel), trips);
    EXPECT_EQ(last_count, 0);
    EXPECT_FALSE(last_goes_on);
  }
}

TEST(Steps, TimesCountTheCallsOfEachKernel) {
  const LoadedPlan loaded = by_hand(around_a_scan(), {note<0>, note<1, 4>, note<2>, note<3>});
  RanList ran;
  int64_t count = 0, last_count = 0;
  bool goes_on = false, last_goes_on = false;
  const auto frame = frame_with(loaded, ran, count, goes_on, last_count, last_goes_on);
  std::vector<KernelTime> times(4);
  frame->times = &times;
  run_steps(loaded, *frame, loaded.plan.steps, loaded.sections);
  for (size_t k = 0; k < times.size(); ++k) EXPECT_EQ(times[k].calls, k == 1 ? 3 : 1);
}

void wait_a_while(void* const* table, int64_t begin, int64_t end) {
  note<1>(table, begin, end);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

TEST(Steps, ACallIsCancelledBetweenTheStepsOfAScan) {
  const LoadedPlan loaded = by_hand(around_a_scan(), {note<0>, wait_a_while, note<2>, note<3>});
  RanList ran;
  int64_t count = 0, last_count = 0;
  bool goes_on = false, last_goes_on = false;
  const auto frame = frame_with(loaded, ran, count, goes_on, last_count, last_goes_on);
  Cancellable call({[](void*) { return 1; }, nullptr});
  frame->call = &call;
  EXPECT_THROW(run_steps(loaded, *frame, loaded.plan.steps, loaded.sections), Cancelled);
  EXPECT_EQ(std::ranges::count(ran, 1, &Ran::kernel), 1);
}

TEST(Steps, KernelsOnBothSidesOfAScanDoNotNameEachOther) {
  const Graph graph = parse_graph(
      "def main(float(9) x) -> (y, z) {\n"
      " a(i) = x(i) * 2.0\n"
      " scan (c) = step[5](carry float(9) h = a) -> (n) {\n  n(i) = h(i) * 0.5\n }\n"
      " y(i) = c(i) + a(i)\n z(i) = y(i) * 2.0\n}");
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = engine.compile(request_of(graph, "[]")).executable;
  const std::vector<StepPlan>& steps = executable->plan().steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(steps[1].scan);
  EXPECT_TRUE(steps[2].waits.empty());
  EXPECT_EQ(steps[3].waits, std::vector<size_t>{2});
}

// Layers whose gradients do not need each other, some of them chains, in one task graph; more
// threads than cores, calls at once.
TEST(Steps, KernelsOfATaskGraphGiveTheSame) {
  const Graph graph = parse_graph(
      "def main(float(90, 40) x, float(40, 40) w, float(40, 40) v) -> (dw, dv, s) {\n"
      " p(i, j) +=! x(i, k) * w(k, j)\n a(i, j) = tanh(p(i, j))\n"
      " q(i, j) +=! a(i, k) * v(k, j)\n b(i, j) = tanh(q(i, j))\n s() +=! b(i, j)\n"
      " da(i, j) +=! b(i, k) * v(j, k)\n dp(i, j) = da(i, j) * a(i, j)\n"
      " dw(i, j) +=! x(k, i) * dp(k, j)\n dv(i, j) +=! a(k, i) * b(k, j)\n}");
  std::string moves;
  for (const char* stage : {"p", "a", "q", "b", "da", "dp", "dw", "dv"})
    moves += std::string(moves.empty() ? "[" : ",") +
             R"({"move": "parallel", "loops": 1, "stage": ")" + stage + "\"}";
  const Request request = request_of(graph, moves + "]");
  const std::vector<Array> inputs = small_inputs(graph, 3);
  std::vector<std::vector<std::byte>> first;
  for (int threads : {1, 2, 7}) {
    Engine engine(memory_only(threads));
    std::vector<std::jthread> callers;
    std::vector<std::vector<Array>> results(4);
    for (std::vector<Array>& result : results)
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) result = run_compiled(engine, request, inputs);
      });
    callers.clear();
    EXPECT_EQ(first_difference(graph, inputs, results[0]), "");
    for (const std::vector<Array>& result : results)
      for (size_t k = 0; k < result.size(); ++k) {
        if (first.size() <= k) first.push_back(result[k].bytes);
        EXPECT_EQ(result[k].bytes, first[k]) << "output " << k << ", threads " << threads;
      }
  }
}

}  // namespace
}  // namespace adjit::testing
