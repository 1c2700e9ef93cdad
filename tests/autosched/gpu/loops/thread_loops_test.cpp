// tests/autosched/gpu/loops/thread_loops_test.cpp -- which points of a nest the threads of a block
// take.
#include "autosched/gpu/loops/thread_loops.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string shared_by(int64_t threads, const std::string& text, size_t first = 0) {
  const Graph graph = parse_graph("def f(" + text);
  Program p = initial_program(graph, kGpu);
  const size_t stage = p.graph.stages.size() - 1;
  p = thread_loops(std::move(p), stage, first, threads);
  expect_faithful(p, graph);
  return loops_text(p, stage);
}

std::optional<size_t> along(const std::string& text) {
  const Program p = initial_program(parse_graph("def f(" + text), kGpu);
  return contiguous_axis(p.graph, p.graph.stages.back());
}

TEST(ThreadLoops, NeighboursAreAlongWhatIsContiguous) {
  EXPECT_EQ(along("float(5, 32) x) -> (y) { y(i, j) = x(i, j) }"), 1u);
  EXPECT_EQ(along("float(5, 32) x) -> (y) { y(i) +=! x(i, r) }"), 1u);
  EXPECT_EQ(along("float(32, 8) x) -> (y) { y(j) +=! x(r, j) where j in 0:8, r in 0:32 }"), 0u);
  EXPECT_EQ(along("float(32, 8) x) -> (y) { y(i, j) = x(j, i) }"), 1u) << "of equals the last";
  EXPECT_EQ(along("float(3) x) -> (y) { y() = x(0) }"), std::nullopt);
}

TEST(ThreadLoops, ARowIsTakenInVectors) {
  EXPECT_EQ(shared_by(64, "float(5, 256) x) -> (y) { y(i) +=! x(i, r) }", 1),
            "serial:i:5 thread:r_j:64 vector:r_j:4");
  EXPECT_EQ(shared_by(32, "float(5, 300) x) -> (y) { y(i) +=! x(i, r) }", 1),
            "serial:i:5 serial:r_j:3 thread:r_j:32 vector:r_j:4");
  EXPECT_EQ(shared_by(64, "float(5, 100) x) -> (y) { y(i, j) = exp(x(i, j)) }", 1),
            "serial:i:5 serial:j:2 thread:j:64")
      << "25 vectors are too few";
}

TEST(ThreadLoops, ThreadsThatAreLeftTakeOtherResults) {
  EXPECT_EQ(shared_by(128, "float(7, 96) x) -> (y) { y(i) +=! x(i, r) }"),
            "serial:i:4 serial:r_j:2 thread:i:2 thread:r_j:64");
  EXPECT_EQ(shared_by(128, "float(7, 128) x) -> (y) { y(i, j) = exp(x(i, j)) }"),
            "serial:i:2 thread:i:4 thread:j:32 vector:j:4");
}

// Two threads of two terms each would wait for each other.
TEST(ThreadLoops, AShortWindowIsOneThreads) {
  EXPECT_EQ(shared_by(64,
                      "float(8, 32) x) -> (y) { y(i, j) +=! x(i, 2 * j + r) where i in 0:8, "
                      "j in 0:16, r in 0:2 }"),
            "serial:i:2 thread:i:4 thread:j:16 serial:r_k:2");
  EXPECT_EQ(shared_by(64, "float(4, 4) x) -> (y) { y(i) +=! x(i, r) }"), "thread:i:4 serial:r_j:4")
      << "also where threads are left";
}

TEST(ThreadLoops, ColumnsAreAddedUpInParts) {
  EXPECT_EQ(shared_by(256,
                      "float(100, 128) x) -> (y) { y(j) +=! x(r, j) where j in 0:128, "
                      "r in 0:100 }"),
            "serial:r_j:13 thread:r_j:8 thread:i:32 vector:i:4");
  EXPECT_EQ(shared_by(256,
                      "float(100, 130) x) -> (y) { y(j) +=! x(r, j) where j in 0:130, "
                      "r in 0:100 }"),
            "serial:i:2 serial:r_j:50 thread:r_j:2 thread:i:128")
      << "no whole number of vectors";
}

TEST(ThreadLoops, AReductionInOrderIsOneThreads) {
  EXPECT_EQ(shared_by(64, "float(5, 256) x) -> (v, k) { (v, k)(i) argmax=! (x(i, r), 255 - r) }"),
            "serial:i:2 thread:i:4 serial:r_j:256");
  EXPECT_EQ(shared_by(64, "float(5, 256) x) -> (v, k) { (v, k)(i) argmax=! (x(i, r), int32(r)) }"),
            "serial:i:5 serial:r_j:4 thread:r_j:64")
      << "whose numbers tell their order";
}

}  // namespace
}  // namespace adjit::sched
