#include <array>

#include "autosched/analysis/verify.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;
using Order = std::vector<size_t>;

TEST(LoopMoves, PlainProgramMeansTheGraph) {
  for (const Graph& g : {matmul_graph(5, 7, 6), softmax_graph(4, 9), conv_graph(1, 2, 5, 6, 3)})
    expect_faithful(plain(g), g);
}

TEST(LoopMoves, TileSplitsAnAxisInPlace) {
  const Graph g = matmul_graph(30, 7, 6);
  const Program p = tile(plain(g), 0, 0, Steps{12, 4});
  const Nest& nest = p.kernels[0].root;
  ASSERT_EQ(loops_over(nest, 0), (Order{0, 1, 2}));
  EXPECT_EQ(nest.loops[0].trips, 3);
  EXPECT_EQ(nest.loops[1].trips, 3);
  EXPECT_EQ(nest.loops[2].trips, 4);
  expect_faithful(p, g);
  expect_refused([&] { tile(p, 0, 0, Steps{3}); }, "outer loop's step");
  expect_refused([&] { tile(p, 0, 1, Steps{5, 3}); }, "multiple");
  // Larger steps than a loop's go outside it.
  const Program larger = tile(p, 0, 0, Steps{24});
  ASSERT_EQ(loops_over(larger.kernels[0].root, 0), (Order{0, 1, 2, 3}));
  EXPECT_EQ(larger.kernels[0].root.loops[0].step, 24);
  EXPECT_EQ(larger.kernels[0].root.loops[1].step, 12);
  expect_faithful(larger, g);
  expect_refused([&] { tile(p, 0, 0, Steps{18}); }, "multiple");
  expect_refused([&] { tile(p, 0, 9, Steps{5}); }, "no such axis");
}

TEST(LoopMoves, ReorderKeepsTheLoopsOfAnAxisInOrder) {
  const Graph g = matmul_graph(5, 7, 6);
  Program p = tile(plain(g), 0, 2, Steps{4});
  expect_faithful(reorder(p, 0, Order{2, 1, 0, 3}), g);
  expect_refused([&] { reorder(p, 0, Order{0, 1, 3, 2}); }, "keep their order");
  expect_refused([&] { reorder(p, 0, Order{0, 1, 1, 2}); }, "every loop once");
  p = vectorize(std::move(p), 0, 1, 4);
  expect_refused([&] { reorder(p, 0, Order{0, 1, 2, 4, 3}); }, "stay outside");
}

TEST(LoopMoves, VectorizePutsLanesInnermost) {
  const Graph g = matmul_graph(5, 7, 6);
  const Program p = vectorize(plain(g), 0, 1, 4);
  EXPECT_EQ(p.kernels[0].root.loops.back().kind, LoopKind::Vector);
  EXPECT_EQ(p.kernels[0].root.loops.back().trips, 4);
  expect_faithful(p, g);
  expect_faithful(vectorize(plain(g), 0, 1, 16), g);  // lanes to spare
  expect_faithful(vectorize(plain(g), 0, 2, 4), g);   // lanes of the reduction
  expect_refused([&] { vectorize(p, 0, 0, 4); }, "vector loop already");
  expect_refused([&] { vectorize(plain(g), 0, 1, 3); }, "power of two");
}

TEST(LoopMoves, UnrollBuildsTheRegisterTile) {
  const Graph g = matmul_graph(10, 40, 6);
  Program p = vectorize(plain(g), 0, 1, 8);
  p = unroll(std::move(p), 0, 0, 4);
  p = unroll(std::move(p), 0, 1, 2);
  const Nest& nest = p.kernels[0].root;
  ASSERT_EQ(tile_begin(nest), 3u);
  EXPECT_EQ(nest.loops[3].axis, 0u);
  EXPECT_EQ(nest.loops[4].axis, 1u);
  EXPECT_EQ(nest.loops[4].step, 8);
  expect_faithful(p, g);
  expect_refused([&] { unroll(plain(g), 0, 2, 8); }, "fewer trips");
}

TEST(LoopMoves, ParallelTakesOutputAxesOfRoots) {
  const Graph g = matmul_graph(10, 40, 6);
  const Program p = parallel(tile(plain(g), 0, 0, Steps{4}), 0, 1);
  EXPECT_EQ(task_count(p.kernels[0].root), 3);
  expect_faithful(p, g);
}

TEST(LoopMoves, ParallelTasksStoreWhatIsTheirOwn) {
  const Graph g = parse_graph(
      "def f(float(4, 6) x) -> (m, y) { m(i) max=! x(i, k)  y(i, j) = x(i, j) - m(i) }");
  const Program p = compute_at(plain_on_gpu(g), 0, 1, 1);
  expect_faithful(parallel(p, 1, 1), g);
  expect_refused([&] { parallel(p, 1, 2); }, "several tasks would store");
  expect_refused([&] { compute_at(parallel(plain_on_gpu(g), 1, 2), 0, 1, 1); },
                 "several tasks would store it");
  // One task goes through both of these loops.
  expect_faithful(compute_at(parallel(tile(plain_on_gpu(g), 1, 1, Steps{8}), 1, 2), 0, 1, 1), g);
}

// Tasks of a reduction go on from what the one before left.
TEST(LoopMoves, ParallelTakesReductionsInTurn) {
  const Graph g = matmul_graph(10, 7, 6);
  const Program p = parallel(plain(g), 0, 3);
  EXPECT_EQ(tasks_in_turn(p, p.kernels[0].root), 6);
  EXPECT_EQ(task_count(p.kernels[0].root), 10 * 7 * 6);
  expect_faithful(p, g);
  const Program blocks =
      parallel(reorder(tile(plain(g), 0, 2, Steps{4}), 0, std::vector<size_t>{2, 0, 1, 3}), 0, 1);
  EXPECT_EQ(tasks_in_turn(blocks, blocks.kernels[0].root), 2);
  EXPECT_EQ(task_count(blocks.kernels[0].root), 2);
  expect_faithful(blocks, g);
  expect_refused([&] { parallel(plain(matmul_graph(10, 7, 0)), 0, 3); }, "no partial results");
  const Program none = parallel(plain(matmul_graph(10, 0, 6)), 0, 3);
  EXPECT_EQ(task_count(none.kernels[0].root), 0);
  EXPECT_EQ(tasks_in_turn(none, none.kernels[0].root), 6);
  const Program rows = parallel(plain(g), 0, 2);
  EXPECT_EQ(tasks_in_turn(rows, rows.kernels[0].root), 1);
}

TEST(LoopMoves, ThreadsTakeTripsOfASerialLoop) {
  const Graph g = matmul_graph(12, 40, 6);
  Program p = threads(parallel(plain_on_gpu(g), 0, 1), 0, 1, 16);
  const Nest& nest = p.kernels[0].root;
  ASSERT_EQ(loops_over(nest, 1), (Order{1, 2}));
  EXPECT_EQ(nest.loops[1].kind, LoopKind::Serial);
  EXPECT_EQ(nest.loops[1].step, 16);
  EXPECT_EQ(nest.loops[1].trips, 3);
  EXPECT_EQ(nest.loops[2].kind, LoopKind::Thread);
  EXPECT_EQ(nest.loops[2].trips, 16);
  expect_faithful(p, g);
  EXPECT_NE(print(p).find("C (argument), 12 tasks, 32 threads"), std::string::npos) << print(p);
  EXPECT_NE(print(p).find("thread j1 in 0:16"), std::string::npos) << print(p);
  const Program whole = threads(p, 0, 2, 6);  // the loop itself
  EXPECT_EQ(whole.kernels[0].root.loops.size(), 4u);
  expect_faithful(whole, g);
  expect_faithful(tile(p, 0, 1, Steps{32}), g);  // what is left of the serial loop
  expect_faithful(threads(p, 0, 1, 3), g);
  expect_refused([&] { threads(p, 0, 2, 7); }, "fewer trips");
  expect_refused([&] { threads(p, 0, 2, 0); }, "fewer trips");
  expect_refused([&] { threads(p, 0, 0, 2); }, "only parallel loops");
  expect_refused([&] { threads(threads(p, 0, 1, 3), 0, 1, 1); }, "only thread loops");
  expect_refused([&] { threads(plain(g), 0, 1, 16); }, "a processor runs no blocks of threads");
  expect_refused([&] { threads(tile(plain_on_gpu(g), 0, 1, Steps{20}), 0, 1, 16); },
                 "multiple of the threads' steps");
  expect_refused([&] { vectorize(p, 0, 1, 4); }, "goes to threads");
  expect_refused([&] { unroll(p, 0, 1, 2); }, "goes to threads");
}

TEST(LoopMoves, ThreadsReduceTogether) {
  const Graph g = matmul_graph(12, 40, 32);
  const Program p = threads(parallel(plain_on_gpu(g), 0, 2), 0, 2, 8);
  expect_faithful(p, g);
  expect_faithful(threads(p, 0, 2, 4), g);
  // A block's tile of results: threads over them inside the reduction's serial loop.
  Program blocks = threads(threads(unroll(plain_on_gpu(g), 0, 0, 3), 0, 0, 4), 0, 1, 10);
  blocks = reorder(std::move(blocks), 0, Order{1, 3, 0, 2, 4});
  EXPECT_EQ(first_thread_loop(blocks.kernels[0].root), 2u);
  expect_faithful(blocks, g);
  expect_refused([&] { reorder(blocks, 0, Order{1, 0, 2, 3, 4}); }, "directly outside theirs");
  expect_refused([&] { reorder(blocks, 0, Order{1, 2, 0, 3, 4}); }, "over the reduction is serial");
  expect_refused([&] { threads(reorder(plain_on_gpu(g), 0, Order{2, 0, 1}), 0, 2, 4); },
                 "over the reduction is serial");
  // Five rows are no whole number of tiles: the last tile has rows that are not stored.
  Program ragged = reorder(plain_on_gpu(matmul_graph(5, 8, 6)), 0, Order{1, 0, 2});
  ragged = threads(unroll(std::move(ragged), 0, 0, 2), 0, 0, 3);
  expect_faithful(ragged, matmul_graph(5, 8, 6));
  expect_faithful(threads(ragged, 0, 2, 6), matmul_graph(5, 8, 6));
}

TEST(LoopMoves, ThreadsAndWhatIsAttachedToTheirLoops) {
  const Graph twice = parse_graph(
      "def f(float(12, 40) x) -> (y) { u(i, j) = 2.0 * x(i, j)  y(i, j) = exp(u(i, j)) + u(i, j) "
      "}");
  Program inside = tile(plain_on_gpu(twice), 1, 1, Steps{2});
  inside = threads(unroll(std::move(inside), 1, 1, 2), 1, 1, 8);
  inside = compute_at(std::move(inside), 0, 1, 3);
  EXPECT_NE(print(inside).find("(local, 8 bytes)"), std::string::npos) << print(inside);
  expect_faithful(inside, twice);
  expect_refused([&] { threads(inside, 0, 1, 2); }, "inside thread loops and has some itself");
  const Graph g = softmax_graph(12, 40);
  Program p = threads(parallel(plain_on_gpu(g), 3, 1), 3, 1, 8);
  const Program between = threads(plain_on_gpu(g), 3, 0, 4);  // serial i, thread i, serial j
  const Program more = threads(between, 3, 1, 8);
  expect_refused([&] { compute_at(more, 2, 3, 2); }, "between two of the host's thread loops");
  expect_refused([&] { threads(compute_at(between, 2, 3, 2), 3, 1, 8); },
                 "'s': it is computed between two thread loops");
  p = threads(compute_at(std::move(p), 2, 3, 1), 2, 1, 5);
  EXPECT_NE(print(p).find("with s(i) (shared, 4 bytes)"), std::string::npos) << print(p);
  expect_faithful(p, g);
  const Program rows = threads(compute_at(plain_on_gpu(g), 2, 3, 1), 2, 1, 5);
  expect_refused([&] { threads(rows, 3, 0, 4); }, "inside thread loops and has some itself");
  const Program ahead = prefetch(compute_at(plain_on_gpu(g), 2, 3, 1), 2);
  expect_refused([&] { threads(ahead, 3, 0, 12); }, "fetches what its next iteration reads");
  const Program scatter = plain_on_gpu(
      parse_graph("def f(float(9) d, int64(9) n) -> (h) { scatter float(5) h(n(i)) +=[drop] d(i) "
                  "where i in 0:9 }"));
  expect_refused([&] { threads(scatter, scatter_in(scatter), 0, 3); }, "kernels of scatters");
  const Program running =
      plain_on_gpu(parse_graph("def f(float(9, 4) x) -> (y) { y(i, j) +=! x(k, j) where i in 0:9, "
                               "j in 0:4, k in 0:9, k <= i }"));
  ASSERT_FALSE(running.graph.running.empty());
  expect_refused([&] { threads(running, 0, 1, 4); }, "running reductions");
}

TEST(LoopMoves, ArgMaxKeepsItsReductionSerialOrToThreads) {
  Builder b;
  const TensorId x = b.input("x", {4, 9});
  Domain domain;
  domain.extents = {4, 9};
  domain.output_rank = 1;
  Combiner combiner;
  combiner.kind = CombinerKind::ArgMax;
  const auto results =
      add_compute(b.graph, "am", domain, combiner, {b.at(x, {b.axis(0), b.axis(1)}), b.axis(1)});
  for (TensorId id : results) b.output(id);
  expect_refused([&] { vectorize(plain(b.graph), 0, 1, 4); }, "one accumulator");
  expect_refused([&] { parallel(plain(b.graph), 0, 2); }, "no partial results");
  expect_faithful(threads(plain_on_gpu(b.graph), 0, 0, 4), b.graph);
  expect_faithful(threads(plain_on_gpu(b.graph), 0, 1, 3), b.graph);
  expect_faithful(vectorize(plain(b.graph), 0, 0, 4), b.graph);
}

TEST(LoopMoves, ArgMaxTakesTheFirstOfEqualValues) {
  Builder b;
  const TensorId x = b.input("x", {3, 4, 5});
  Domain domain;
  domain.extents = {3, 4, 5};
  domain.output_rank = 1;
  Combiner combiner;
  combiner.kind = CombinerKind::ArgMax;
  const ExprId position = b.graph.pool.add(b.graph.pool.mul(b.axis(1), b.integer(5)), b.axis(2));
  for (TensorId id : add_compute(b.graph, "am", domain, combiner,
                                 {b.at(x, {b.axis(0), b.axis(1), b.axis(2)}), position}))
    b.output(id);
  expect_refused([&] { reorder(plain(b.graph), 0, Order{0, 2, 1}); }, "in order");
  expect_refused([&] { unroll(plain(b.graph), 0, 1, 4); }, "in order");
  expect_faithful(unroll(plain(b.graph), 0, 2, 5), b.graph);
}

TEST(LoopMoves, StreamMarksResultsInMemory) {
  const Graph g = softmax_graph(4, 16);
  const Program p = store_nontemporal(plain(g), stage_of(plain(g), "e"));
  EXPECT_NE(print(p).find("float(4, 16) e (workspace, streamed)"), std::string::npos) << print(p);
  expect_faithful(p, g);
  expect_refused([&] { store_nontemporal(p, stage_of(p, "e")); }, "streamed already");
  Program local = plain(g);
  for (const char* name : {"s", "e"}) {
    const size_t stage = stage_of(local, name), host = stage_of(local, "y");
    local = compute_at(std::move(local), stage, host, 1);
  }
  expect_refused([&] { store_nontemporal(local, stage_of(local, "e")); }, "buffer of the kernel");
  Nest& nest = nest_at(local, *find_nest(local, stage_of(local, "e")));
  nest.streamed = true;
  expect_refused([&] { verify(local); }, "scope local");
  const Program scatter =
      plain(parse_graph("def f(float(9) d, int64(9) n) -> (h) { scatter float(5) h(n(i)) +=[drop] "
                        "d(i) where i in 0:9 }"));
  expect_refused([&] { store_nontemporal(scatter, scatter_in(scatter)); }, "has stored");
}

TEST(LoopMoves, FetchAheadMarksAttachedNests) {
  const Graph g = softmax_graph(4, 16);
  Program p = plain(g);
  expect_refused([&] { prefetch(p, stage_of(p, "e")); }, "not attached");
  for (const char* name : {"s", "e"}) {
    const size_t stage = stage_of(p, name), host = stage_of(p, "y");
    p = compute_at(std::move(p), stage, host, 1);
  }
  const Program before = p;
  const size_t e = stage_of(p, "e");
  p = prefetch(std::move(p), e);
  EXPECT_NE(print(p).find("(local, 64 bytes), prefetches the next i"), std::string::npos)
      << print(p);
  verify(p);
  expect_faithful(p, g);
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
  expect_refused([&] { prefetch(p, stage_of(p, "e")); }, "fetches ahead already");
  expect_refused(
      [&] {
        const Program tasks = parallel(before, stage_of(before, "y"), 1);
        prefetch(tasks, stage_of(tasks, "s"));
      },
      "not serial");
  expect_refused([&] { parallel(p, stage_of(p, "y"), 1); }, "fetches");
  const Program in_parts = tile(p, stage_of(p, "y"), 0, Steps{2});
  verify(in_parts);
  expect_faithful(in_parts, g);
  EXPECT_EQ(print(replay(g, in_parts.moves_json, p.target)), print(in_parts));
  nest_at(p, *find_nest(p, stage_of(p, "e"))).ahead = 1000;
  expect_refused([&] { verify(p); }, "not around it");
}

TEST(LoopMoves, FetchAheadAlongALoopOfItsOwn) {
  const Graph g = matmul_graph(8, 64, 20);
  const Program whole = vectorize(plain(g), 0, 1, 8);
  const Program p = prefetch(whole, 0, 1);
  EXPECT_NE(print(p).find("C (argument), prefetches the next j0"), std::string::npos) << print(p);
  verify(p);
  expect_faithful(p, g);
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
  expect_refused([&] { prefetch(whole, 0, 2); }, "no output axis");
  expect_refused([&] { prefetch(whole, 0, 7); }, "no output axis");
  expect_refused([&] { prefetch(p, 0, 0); }, "fetches ahead already");
  expect_refused([&] { unroll(p, 0, 1, 2); }, "fetches what");
  expect_refused([&] { vectorize(prefetch(plain(g), 0, 1), 0, 1, 8); }, "fetches what");
  const size_t columns_first[] = {1, 0, 2, 3};
  expect_refused([&] { parallel(reorder(p, 0, columns_first), 0, 1); }, "fetches what");
  expect_faithful(tile(p, 0, 1, Steps{32}), g);
}

}  // namespace
}  // namespace adjit::sched
