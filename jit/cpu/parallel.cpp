// jit/cpu/parallel.cpp -- oneTBB's arena with a static partition, and what a fork does to it.
#include "jit/cpu/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "jit/cpu/float_mode.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cpu {
namespace {

thread_local bool inside_task = false;
thread_local int64_t worker_number = 0;

struct InsideTask {
  InsideTask() { inside_task = true; }
  ~InsideTask() { inside_task = false; }
};

struct AsWorker {
  explicit AsWorker(int64_t number) : outer(worker_number) { worker_number = number; }
  ~AsWorker() { worker_number = outer; }
  int64_t outer;
};

constexpr int64_t kMostWorkers = 64;  // their shares lie on the stack

// How many of so many threads the system gives besides those that there are. oneTBB starts its
// workers from one another, where a refusal ends the process.
int startable_threads(int wanted) {
  std::latch all_asked(1);
  std::vector<std::jthread> started;
  try {
    while (static_cast<int>(started.size()) < wanted)
      started.emplace_back([&] { all_asked.wait(); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): so many there are
  }
  all_asked.count_down();
  return static_cast<int>(started.size());
}

}  // namespace

struct TaskArena {
  explicit TaskArena(int count);
  ~TaskArena();

  int threads;
  std::atomic<int> users{0};        // runs under way
  std::atomic<bool> closed{false};  // a fork is under way: it ends when `mutex` can be had
  std::mutex mutex;                 // held while `arena` is made or ended
  std::unique_ptr<tbb::task_arena> arena;
  std::atomic<bool> ready{false};  // arena is there
};

namespace {

/// oneTBB has one set of workers per process, which no child inherits; so this is per process as
/// well. Before a fork, if no pool runs anything, the arenas and the workers end; parent and child
/// start their own when they next need them. If something runs, or others use oneTBB, a thread that
/// the child lacks may hold a lock of oneTBB's: then the child leaves it alone and runs its tasks
/// one after another.
class Scheduler {
 public:
  // Never destroyed: pools and forks may outlive static objects.
  static Scheduler& get() {
    static Scheduler& scheduler = *new Scheduler();
    return scheduler;
  }

  void add(TaskArena* arena) {
    const std::lock_guard lock(mutex_);
    arenas_.push_back(arena);
  }
  void remove(TaskArena* arena) {
    const std::lock_guard lock(mutex_);
    std::erase(arenas_, arena);
  }
  /// False where the system gives no thread now.
  bool make(TaskArena& arena) {
    const std::lock_guard lock(arena.mutex);
    if (arena.ready) return true;
    // More threads than CPUs would be refused with a warning; the ranges are as many as asked for
    // all the same.
    const int wanted = std::min(arena.threads, tbb::info::default_concurrency());
    const int threads = 1 + startable_threads(wanted - 1);
    if (threads == 1 && wanted > 1) return false;
    const std::lock_guard handle_lock(handle_mutex_);
    if (!handle_) handle_ = tbb::task_scheduler_handle{tbb::attach{}};
    arena.arena = std::make_unique<tbb::task_arena>(threads, 1);
    arena.ready = true;
    return true;
  }
  /// In a child whose parent could not end its workers.
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 private:
  Scheduler()
      : fork_([this] { before_fork(); }, [this] { after_fork(false); },
              [this] { after_fork(true); }) {}

  void before_fork() {
    mutex_.lock();
    bool idle = true;
    for (TaskArena* arena : arenas_) {
      arena->mutex.lock();
      arena->closed = true;
      idle = idle && arena->users == 0;
    }
    handle_mutex_.lock();
    clean_ = !handle_;  // never used: nothing to end
    if (clean_ || !idle || abandoned()) return;
    for (TaskArena* arena : arenas_) {
      arena->ready = false;
      arena->arena.reset();
    }
    clean_ = tbb::finalize(handle_, std::nothrow);
  }

  void after_fork(bool child) {
    if (child && !clean_) abandoned_ = true;
    handle_mutex_.unlock();
    for (TaskArena* arena : arenas_) {
      if (child) arena->users = 0;
      arena->closed = false;
      arena->mutex.unlock();
    }
    mutex_.unlock();
  }

  std::mutex mutex_;  // then an arena's, then handle_mutex_
  std::vector<TaskArena*> arenas_;
  std::mutex handle_mutex_;
  tbb::task_scheduler_handle handle_;  // there from the first arena to a fork
  bool clean_ = true;                  // no workers at the present fork
  std::atomic<bool> abandoned_{false};
  ForkHandler fork_;
};

/// Keeps an arena from ending while it runs something.
class Use {
 public:
  explicit Use(TaskArena& arena) : arena_(arena) {
    while (true) {
      ++arena_.users;
      if (!arena_.closed) return;
      --arena_.users;
      const std::lock_guard wait_for_fork(arena_.mutex);
    }
  }
  ~Use() { --arena_.users; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  TaskArena& arena_;
};

}  // namespace

TaskArena::TaskArena(int count) : threads(count) {
  const ForkDelay no_fork;  // while the scheduler is made
  Scheduler::get().add(this);
}
TaskArena::~TaskArena() {
  Scheduler& scheduler = Scheduler::get();
  scheduler.remove(this);
  // Its end would use locks that nobody may be left to release.
  if (scheduler.abandoned()) static_cast<void>(arena.release());
}

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_threads()) {
  if (threads_ > 1) arena_ = std::make_unique<TaskArena>(threads_);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::available_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {

// The tasks, an equal share for each worker. A worker takes ranges of its own share first, so that
// it sees the same part of the data from loop to loop, then of the shares of those that are slower.
class Shares {
 public:
  Shares(int64_t workers, int64_t tasks) : count_(std::min(workers, kMostWorkers)) {
    for (int64_t k = 0; k < count_; ++k) {
      shares_[static_cast<size_t>(k)].next.store(tasks * k / count_, std::memory_order_relaxed);
      shares_[static_cast<size_t>(k)].end = tasks * (k + 1) / count_;
    }
  }

  int64_t count() const { return count_; }

  void work_off(int64_t worker, ThreadPool::Tasks tasks, void* context) {
    for (int64_t k = 0; k < count_; ++k) {
      Share& share = shares_[static_cast<size_t>((worker + k) % count_)];
      int64_t begin = share.next.load(std::memory_order_relaxed);
      while (begin < share.end) {
        // Ranges get shorter: the last ones even out what tasks and threads differ in.
        const int64_t count = std::max<int64_t>(1, (share.end - begin) / 2);
        if (!share.next.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed))
          continue;
        tasks(context, begin, begin + count);
        begin = share.next.load(std::memory_order_relaxed);
      }
    }
  }

 private:
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  std::array<Share, kMostWorkers> shares_;
  int64_t count_;
};

}  // namespace

int64_t ThreadPool::worker() { return worker_number; }
int64_t ThreadPool::workers() const { return std::min<int64_t>(threads_, kMostWorkers); }

void ThreadPool::run(int64_t task_count, Tasks tasks, void* context) {
  if (task_count <= 0) return;
  Scheduler* scheduler = threads_ > 1 ? &Scheduler::get() : nullptr;
  const auto run_alone = [&] {
    const AsWorker alone(0);
    tasks(context, 0, task_count);
  };
  if (!scheduler || task_count == 1 || inside_task || scheduler->abandoned()) return run_alone();
  const Use use(*arena_);
  if (!arena_->ready && !scheduler->make(*arena_)) return run_alone();
  Shares shares(std::min<int64_t>(threads_, task_count), task_count);
  const FloatMode mode = float_mode();
  arena_->arena->execute([&] {
    tbb::parallel_for(
        int64_t{0}, shares.count(),
        [&](int64_t k) {
          const InsideTask guard;
          const FloatModeScope as_caller(mode);
          const AsWorker worker(k);
          shares.work_off(k, tasks, context);
        },
        tbb::static_partitioner());
  });
}

}  // namespace adjit::cpu
