// tests/jit/engine/run/task_graph_test.cpp -- every task once, and never before what it waits for.
#include "jit/engine/run/task_graph.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Groups = std::vector<TaskGraph::Group>;

// Counts the tasks of each group, and those that began before a group that theirs waits for ended.
struct Watched {
  explicit Watched(const Groups& all) : groups(all), done(all.size()) {}
  Groups groups;
  std::vector<std::atomic<int64_t>> done;
  std::atomic<int> early{0};

  static void work(void* context, size_t group, int64_t begin, int64_t end) {
    Watched& w = *static_cast<Watched*>(context);
    for (size_t before : w.groups[group].waits)
      if (w.done[before] != w.groups[before].tasks) ++w.early;
    w.done[group] += end - begin;
  }
  void expect_whole() const {
    EXPECT_EQ(early, 0);
    for (size_t g = 0; g < groups.size(); ++g) EXPECT_EQ(done[g], groups[g].tasks) << g;
  }
};

void run_once(const TaskGraph& graph, TaskGraph::Run& run, ThreadPool& pool, const Groups& groups) {
  Watched watched(groups);
  graph.run(run, pool, &Watched::work, &watched);
  watched.expect_whole();
}

TEST(TaskGraph, ChainsForksAndJoins) {
  const Groups groups{{5, {}}, {1, {0}}, {7, {0}}, {3, {1, 2}}, {2, {}}, {1, {3, 4}}};
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    const TaskGraph graph(groups, pool.workers());
    const auto run = graph.make_run();
    for (int round = 0; round < 50; ++round) run_once(graph, *run, pool, groups);
  }
}

TEST(TaskGraph, RandomGraphsOfManyGroups) {
  Random random(3);
  ThreadPool pool(3);
  for (int round = 0; round < 40; ++round) {
    Groups groups(static_cast<size_t>(random.between(1, 300)));
    for (size_t g = 0; g < groups.size(); ++g) {
      groups[g].tasks = random.between(1, 9);
      if (g == 0) continue;
      const auto before = static_cast<size_t>(random.between(0, static_cast<int64_t>(g) - 1));
      groups[g].waits = {before};
      if (before > 0 && random.between(0, 1) == 0)
        groups[g].waits.insert(groups[g].waits.begin(), 0);
    }
    const TaskGraph graph(groups, pool.workers());
    const auto run = graph.make_run();
    run_once(graph, *run, pool, groups);
  }
}

TEST(TaskGraph, RunsAtOnceAndInsideTasks) {
  const Groups groups{{4, {}}, {4, {0}}, {4, {0}}, {1, {1, 2}}};
  ThreadPool pool(2);
  const TaskGraph graph(groups, pool.workers());
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        const auto run = graph.make_run();
        for (int round = 0; round < 50; ++round) run_once(graph, *run, pool, groups);
      });
  }
  struct Nested {
    const TaskGraph* graph;
    ThreadPool* pool;
    const Groups* groups;
  } nested{&graph, &pool, &groups};
  pool.run(
      3,
      [](void* context, int64_t begin, int64_t end) {
        const Nested& n = *static_cast<Nested*>(context);
        const auto run = n.graph->make_run();
        for (int64_t k = begin; k < end; ++k) run_once(*n.graph, *run, *n.pool, *n.groups);
      },
      &nested);
}

TEST(TaskGraph, ATaskThatThrowsEndsTheRun) {
  const Groups groups{{6, {}}, {6, {0}}, {1, {1}}};
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    const TaskGraph graph(groups, pool.workers());
    const auto run = graph.make_run();
    const auto fail = [](void*, size_t group, int64_t begin, int64_t end) {
      if (group == 1 && begin <= 3 && 3 < end) throw std::runtime_error("no memory");
    };
    EXPECT_THROW(graph.run(*run, pool, fail, nullptr), std::runtime_error);
    run_once(graph, *run, pool, groups);
  }
}

}  // namespace
}  // namespace adjit::testing
