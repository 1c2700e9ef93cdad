// tests/jit/engine/run/chain_test.cpp -- kernels whose tasks follow each other, in slots of
// threads.
#include "jit/engine/run/chain.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "jit/engine/run/executable.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run/by_hand.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Buffer 0 is the list, 1 a part of the slot, 2 to 4 what a scan moves and where it starts.
ExecutionPlan two_in_a_chain() {
  ExecutionPlan plan;
  plan.buffers = {{Buffer::Kind::Input, 0, 0},
                  {Buffer::Kind::Slot, 64, 16},
                  {Buffer::Kind::Step, 0, 0},
                  {Buffer::Kind::Step, 0, 0},
                  {Buffer::Kind::Input, 1, 0}};
  plan.kernels = {kernel_of({0, 1}, 9), kernel_of({0, 1, 2, 3}, 9, true)};
  plan.steps = {{false, 0}, {false, 1}};
  plan.slot_bytes = 128;
  plan.workspace_bytes = 128;
  return plan;
}

std::unique_ptr<Frame> frame_with(const LoadedPlan& loaded, RanList& ran) {
  std::unique_ptr<Frame> frame = make_frame(loaded);
  set_address(*frame, loaded, 0, &ran);
  return frame;
}

TEST(Chain, EachTaskRunsThroughAllKernelsInItsPartOfTheSlot) {
  const LoadedPlan loaded = by_hand(two_in_a_chain(), {note<0, 1>, note<1, 1>});
  RanList ran;
  const std::unique_ptr<Frame> frame = frame_with(loaded, ran);
  run_tasks({&loaded, frame.get(), loaded.plan.steps, nullptr, nullptr}, 2, 4);
  std::byte* const slot = frame->slots.get() + 64;  // of element 0 of task 0
  EXPECT_EQ(ran, (RanList{{0, 2, 3, {slot - 32}},
                          {1, 2, 3, {slot - 32}},
                          {0, 3, 4, {slot - 48}},
                          {1, 3, 4, {slot - 48}}}));
}

TEST(Chain, EachTaskGoesThroughAllStepsOfAScan) {
  ExecutionPlan plan = two_in_a_chain();
  ScanPlan scan;
  scan.trips = 2;
  scan.tasks = 9;
  scan.carries = {{2, 3, 4, 4, {0, 64}, 8}};
  scan.steps = plan.steps;
  plan.scans = {scan};
  const LoadedPlan loaded = by_hand(plan, {note<0>, note<1, 3>});
  RanList ran;
  const std::unique_ptr<Frame> frame = frame_with(loaded, ran);
  int64_t carry = 0;
  set_address(*frame, loaded, 4, &carry);
  run_tasks({&loaded, frame.get(), loaded.plan.scans[0].steps, loaded.plan.scans.data(), nullptr},
            4, 6);
  ASSERT_EQ(ran.size(), 8u);
  std::byte* const spare = frame->workspace.get();
  for (size_t k = 0; k < ran.size(); ++k) {
    EXPECT_EQ(ran[k].kernel, static_cast<int>(k % 2));
    EXPECT_EQ(ran[k].begin, k < 4 ? 4 : 5);
    if (k % 2 == 0) continue;
    const bool first = k % 4 == 1;
    EXPECT_EQ(ran[k].addresses[1], first ? static_cast<void*>(&carry) : spare);
    EXPECT_EQ(ran[k].addresses[2], first ? static_cast<void*>(spare) : &carry);
  }
}

TEST(Chain, AKernelAloneTakesItsTasksAtOnceUnlessACallMayEnd) {
  ExecutionPlan plan;
  plan.buffers.resize(1);
  plan.kernels = {kernel_of({0}, 9)};
  plan.steps = {{false, 0}};
  const LoadedPlan loaded = by_hand(plan, {note<0>});
  RanList ran;
  const std::unique_ptr<Frame> frame = frame_with(loaded, ran);
  const Chain chain{&loaded, frame.get(), loaded.plan.steps, nullptr, nullptr};
  run_tasks(chain, 1, 9);
  EXPECT_EQ(ran, (RanList{{0, 1, 9}}));
  Cancellable call({[](void*) { return 0; }, nullptr});
  frame->call = &call;
  ran.clear();
  run_tasks(chain, 1, 9);
  ASSERT_GT(ran.size(), 1u);
  EXPECT_EQ(ran.front(), (Ran{0, 1, 2})) << "one task, which may take long";
  for (size_t k = 1; k < ran.size(); ++k) EXPECT_EQ(ran[k].begin, ran[k - 1].end);
  EXPECT_EQ(ran.back().end, 9);
}

TEST(Chain, TasksInTurnStayTogetherInAPool) {
  ExecutionPlan plan = two_in_a_chain();
  plan.kernels[1].in_turn = 3;
  const LoadedPlan loaded = by_hand(plan, {note<0>, note<1>});
  RanList ran;
  const std::unique_ptr<Frame> frame = frame_with(loaded, ran);
  std::vector<KernelTime> times(2);
  frame->times = &times;
  run_chain(loaded, *frame, loaded.plan.steps, nullptr);
  ASSERT_EQ(ran.size(), 18u);
  for (size_t k = 0; k < ran.size(); ++k)
    EXPECT_EQ(ran[k], (Ran{static_cast<int>(k % 2), static_cast<int64_t>(k / 2),
                           static_cast<int64_t>(k / 2 + 1)}));
  for (const KernelTime& time : times) EXPECT_EQ(time.calls, 1);
}

// Kernels whose tasks follow each other, with what passes between them in the threads' slots.
TEST(Chain, TasksRunThroughAllKernels) {
  const Graph graph = parse_graph(
      "def main(float(9, 7, 8) x, float(8, 20) w) -> (z, v) {\n"
      " t(i, j, k) +=! x(i, j, r) * w(r, k)\n u(i, j) max=! t(i, j, r)\n"
      " z(i, j, k) = t(i, j, k) - u(i, j)\n y(i, j, k) = t(i, j, k) * u(i, j)\n"
      " v(i, j) +=! y(i, j, r) * w(0, r)\n}");
  std::string moves;
  for (const char* stage : {"t", "u", "z", "y", "v"})
    moves += std::string(moves.empty() ? "[" : ",") +
             R"({"move": "parallel", "loops": 2, "stage": ")" + stage + "\"}";
  const Request request = request_of(graph, moves + "]");
  std::vector<std::vector<Array>> results;
  for (int threads : {1, 2, 5}) {
    Engine engine(memory_only(threads));
    const std::shared_ptr<Executable> executable = engine.compile(request).executable;
    const ExecutionPlan& plan = executable->plan();
    ASSERT_EQ(plan.kernels.size(), 5u);
    for (size_t k = 0; k < 5; ++k) EXPECT_EQ(plan.kernels[k].chained, k > 0);
    EXPECT_EQ(plan.workspace_bytes, 0);
    EXPECT_EQ(plan.slot_bytes, 128 + 64 + 128) << "rows of t and y, an element of u";
    EXPECT_EQ(executable->workspace_bytes(), plan.slot_bytes * threads);
    for (uint64_t seed : {1u, 2u}) {
      const std::vector<Array> inputs = small_inputs(graph, seed);
      EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request, inputs)), "");
    }
    results.push_back(run_compiled(engine, request, small_inputs(graph, 3)));
    for (size_t k = 0; k < results[0].size(); ++k)
      EXPECT_EQ(results.back()[k].bytes, results[0][k].bytes);
  }
}

// Blocks of rows, one after the other for each h: a sum over the rows goes on from block to block,
// by itself and in a task graph.
TEST(Chain, TasksInTurnAreOneThreads) {
  const Graph graph = parse_graph(
      "def main(float(5, 22, 8) x, float(8, 20) w) -> (v, z, y) {\n"
      " t(h, i, j) +=! x(h, i, r) * w(r, j)\n u(h, i) max=! t(h, i, r)\n"
      " z(h, i, j) = t(h, i, j) - u(h, i)\n"
      " v(h, j) +=! t(h, r, j) * u(h, r) where h in 0:5, j in 0:20, r in 0:22\n"
      " y(h, j) = v(h, j) * 2.0\n}");
  const std::string chain =
      R"([{"move": "split_axis", "stages": ["t", "u", "z", "v"], "axes": [1, 1, 1, 2],)"
      R"( "steps": [6]}, {"move": "pad_leading_dimension", "stage": "t", "gap": 3},)"
      R"( {"move": "make_adjacent", "stages": ["t", "u", "z_blocks", "v"]},)"
      R"( {"move": "reorder", "stage": "v", "order": [0, 2, 1, 3]},)"
      R"( {"move": "parallel", "stage": "t", "loops": 2},)"
      R"( {"move": "parallel", "stage": "u", "loops": 2},)"
      R"( {"move": "parallel", "stage": "z_blocks", "loops": 2},)"
      R"( {"move": "parallel", "stage": "v", "loops": 2})";
  for (const std::string& moves :
       {chain + "]", chain + R"(, {"move": "parallel", "stage": "y", "loops": 1}])"}) {
    const Request request = request_of(graph, moves);
    std::vector<std::vector<Array>> results;
    for (int threads : {1, 2, 5}) {
      Engine engine(memory_only(threads));
      const std::shared_ptr<Executable> executable = engine.compile(request).executable;
      const ExecutionPlan& plan = executable->plan();
      EXPECT_EQ(plan.slot_bytes, (6 * (20 + 3) * 4 / 64 + 1) * 64 + 64)
          << "a block of t, with its gaps, and one of u";
      int64_t in_turn = 1;
      for (const KernelPlan& kernel : plan.kernels) in_turn = std::max(in_turn, kernel.in_turn);
      EXPECT_EQ(in_turn, 4);
      const std::vector<Array> inputs = small_inputs(graph, 3);
      results.push_back(run_compiled(engine, request, inputs));
      EXPECT_EQ(first_difference(graph, inputs, results.back()), "");
      for (size_t k = 0; k < results[0].size(); ++k)
        EXPECT_EQ(results.back()[k].bytes, results[0][k].bytes);
    }
  }
}

TEST(Chain, TimesAreSharedOutToItsKernels) {
  const Graph graph =
      parse_graph("def main(float(40, 300) x) -> (z) { t(i, j) = exp(x(i, j)) z(i) +=! t(i, r) }");
  const Request request = request_of(
      graph,
      R"([{"move": "parallel", "stage": "t", "loops": 1}, {"move": "parallel", "stage": "z", )"
      R"("loops": 1}])");
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = engine.compile(request).executable;
  ASSERT_TRUE(executable->plan().kernels[1].chained);
  const std::vector<Array> inputs = small_inputs(graph, 1);
  std::vector<float> z(40);
  const void* in[] = {inputs[0].bytes.data()};
  void* out[] = {z.data()};
  for (const KernelTime& time : executable->profile(in, out, 3)) {
    EXPECT_EQ(time.calls, 1);
    EXPECT_GT(time.seconds, 0);
  }
}

}  // namespace
}  // namespace adjit::testing
