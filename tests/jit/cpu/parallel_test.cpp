#include "jit/cpu/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/refused_threads.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::cpu {
namespace {

/// Counts how often each task ran, and the ranges that they came in.
struct Record {
  explicit Record(int64_t count) : runs(static_cast<size_t>(count)) {}
  std::vector<std::atomic<int>> runs;
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::vector<std::thread::id> threads;
};

void count(void* context, int64_t begin, int64_t end) {
  Record& record = *static_cast<Record*>(context);
  for (int64_t k = begin; k < end; ++k) ++record.runs[static_cast<size_t>(k)];
  const std::lock_guard lock(record.mutex);
  record.ranges.emplace_back(begin, end);
  record.threads.push_back(std::this_thread::get_id());
}

bool each_ran_once(ThreadPool& pool, int64_t tasks) {
  Record record(tasks);
  pool.run(tasks, count, &record);
  for (const std::atomic<int>& runs : record.runs)
    if (runs != 1) return false;
  return true;
}

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 1000}) EXPECT_TRUE(each_ran_once(pool, tasks));
  }
}

// Three shares of 1000 tasks, each taken in ranges that get shorter: few in all.
TEST(ThreadPool, SharesAreTakenInRangesThatGetShorter) {
  ThreadPool pool(3);
  Record record(1000);
  pool.run(1000, count, &record);
  std::sort(record.ranges.begin(), record.ranges.end());
  int64_t end = 0, length = 0;
  for (const auto& [first, last] : record.ranges) {
    EXPECT_EQ(first, end);
    const bool starts = first == 0 || first == 333 || first == 666;
    EXPECT_TRUE(starts || last - first <= length) << first;
    length = last - first;
    end = last;
    const bool ends = end == 333 || end == 666 || end == 1000;
    EXPECT_TRUE(!ends || length == 1) << end;
  }
  EXPECT_EQ(end, 1000);
  EXPECT_LT(record.ranges.size(), 40u);
}

// A thread that is held up in its first task leaves the others to those that are not.
TEST(ThreadPool, TasksGoToWhoeverIsFree) {
  if (ThreadPool::available_threads() < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.run(
      16,
      [](void* context, int64_t begin, int64_t end) {
        auto& others = *static_cast<std::atomic<int>*>(context);
        if (begin > 0) {
          others += static_cast<int>(end - begin);
          return;
        }
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (others < 16 - end && std::chrono::steady_clock::now() < patience)
          std::this_thread::yield();
        EXPECT_EQ(others, 16 - end);
      },
      &done);
}

TEST(ThreadPool, OneThreadIsTheCaller) {
  ThreadPool pool(1);
  Record record(5);
  pool.run(5, count, &record);
  EXPECT_EQ(record.threads, std::vector{std::this_thread::get_id()});
}

TEST(ThreadPool, AvailableThreadsIsTheDefault) {
  EXPECT_GE(ThreadPool::available_threads(), 1);
  EXPECT_EQ(ThreadPool().threads(), ThreadPool::available_threads());
}

// Two ranges that wait for each other end only if two threads run them.
TEST(ThreadPool, RangesRunAtTheSameTime) {
  if (ThreadPool::available_threads() < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  pool.run(
      2,
      [](void* context, int64_t begin, int64_t end) {
        auto& here = *static_cast<std::atomic<int>*>(context);
        here += static_cast<int>(end - begin);
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
        while (here < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        if (here < 2) ADD_FAILURE() << "the other range did not start";
      },
      &arrived);
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, NestedRunsDoNotDeadlock) {
  struct Nested {
    ThreadPool pool{2};
    Record record{64};
  } nested;
  nested.pool.run(
      4,
      [](void* context, int64_t begin, int64_t end) {
        Nested& n = *static_cast<Nested*>(context);
        for (int64_t outer = begin; outer < end; ++outer) n.pool.run(64, count, &n.record);
      },
      &nested);
  for (const std::atomic<int>& runs : nested.record.runs) EXPECT_EQ(runs, 4);
}

TEST(ThreadPool, CallersShareThePool) {
  ThreadPool pool(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        if (!each_ran_once(pool, 10)) ++wrong;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolStillWorks) {
  ThreadPool pool(2);
  const auto failing = [](void*, int64_t, int64_t end) {
    if (end == 10) throw std::runtime_error("task 9");
  };
  EXPECT_THROW(pool.run(10, failing, nullptr), std::runtime_error);
  EXPECT_TRUE(each_ran_once(pool, 10));
}

/// Forks, runs `action` in the child and says whether it returned true in time.
template <class Action>
bool in_child(const Action& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(200);
    _exit(action() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ThreadPool, AForkedChildHasWorkersOfItsOwn) {
  if (ThreadPool::available_threads() < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool(2);
  EXPECT_TRUE(each_ran_once(pool, 100));
  EXPECT_TRUE(in_child([&] {
    if (!each_ran_once(pool, 100)) return false;
    // As above: two threads are needed to get through.
    std::atomic<int> arrived{0};
    pool.run(
        2,
        [](void* context, int64_t, int64_t) {
          auto& here = *static_cast<std::atomic<int>*>(context);
          ++here;
          while (here < 2) std::this_thread::yield();
        },
        &arrived);
    ThreadPool another(2);
    return arrived == 2 && each_ran_once(another, 100) &&
           in_child([&] { return each_ran_once(pool, 100); });
  }));
  EXPECT_TRUE(each_ran_once(pool, 100));
}

TEST(ThreadPool, AForkDuringARunLeavesAChildThatRunsAlone) {
  ThreadPool pool(2);
  std::atomic<int> state{0};
  std::thread busy([&] {
    pool.run(
        2,
        [](void* context, int64_t, int64_t) {
          auto& s = *static_cast<std::atomic<int>*>(context);
          int not_started = 0;
          s.compare_exchange_strong(not_started, 1);  // the other range may come after the end
          while (s < 2) std::this_thread::yield();
        },
        &state);
  });
  while (state < 1) std::this_thread::yield();
  EXPECT_TRUE(in_child([&] {
    ThreadPool another(2);
    return each_ran_once(pool, 100) && each_ran_once(another, 100) &&
           in_child([&] { return each_ran_once(pool, 100); });
  }));
  state = 2;
  busy.join();
  EXPECT_TRUE(each_ran_once(pool, 100));
}

// In a child, whose limits are its own.
TEST(ThreadPool, RunsAloneWhereNoThreadCanStart) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need their address space";
  const pid_t child = fork();
  if (child == 0) {
    test::refuse_threads();
    ThreadPool pool(4);
    bool right = false;
    try {
      right = each_ran_once(pool, 1000);
    } catch (...) {  // NOLINT(bugprone-empty-catch): not right
    }
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace adjit::cpu
