// jit/engine/run/task_graph.cpp -- shares of groups, and who may begin with them.
#include "jit/engine/run/task_graph.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

namespace adjit::engine {

class TaskGraph::Run {
 public:
  Run(size_t groups, int64_t workers)
      : workers_(workers), groups_(groups), shares_(groups * static_cast<size_t>(workers)) {}

  void reset(const std::vector<Node>& nodes) {
    stopped_.store(false, std::memory_order_relaxed);
    for (size_t g = 0; g < nodes.size(); ++g) {
      groups_[g].waits.store(nodes[g].waits, std::memory_order_relaxed);
      groups_[g].done.store(0, std::memory_order_relaxed);
      for (int64_t k = 0; k < workers_; ++k) {
        Share& share = share_of(g, k);
        share.next.store(nodes[g].tasks * k / workers_, std::memory_order_relaxed);
        share.end = nodes[g].tasks * (k + 1) / workers_;
      }
    }
  }

  // A task has thrown: what waits for it never begins.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  bool ready(size_t group) const {
    return groups_[group].waits.load(std::memory_order_acquire) == 0;
  }
  bool finished(size_t group, const Node& node) const {
    return groups_[group].done.load(std::memory_order_acquire) == node.tasks;
  }

  // Tasks of the worker's own share first, then of the others'. Ranges get shorter: the last ones
  // even out what tasks and threads differ in.
  std::optional<std::pair<int64_t, int64_t>> claim(size_t group, int64_t worker) {
    for (int64_t k = 0; k < workers_; ++k) {
      Share& share = share_of(group, (worker + k) % workers_);
      int64_t begin = share.next.load(std::memory_order_relaxed);
      while (begin < share.end) {
        const int64_t end = begin + std::max<int64_t>(1, (share.end - begin) / 2);
        if (share.next.compare_exchange_weak(begin, end, std::memory_order_relaxed))
          return std::pair(begin, end);
      }
    }
    return std::nullopt;
  }

  void finish(const std::vector<Node>& nodes, size_t group, int64_t count) {
    const int64_t before = groups_[group].done.fetch_add(count, std::memory_order_acq_rel);
    if (before + count != nodes[group].tasks) return;
    for (size_t next : nodes[group].next)
      groups_[next].waits.fetch_sub(1, std::memory_order_acq_rel);
  }

 private:
  struct alignas(64) Progress {
    std::atomic<uint32_t> waits{0};  // groups that are not done
    std::atomic<int64_t> done{0};    // tasks
  };
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  Share& share_of(size_t group, int64_t worker) {
    return shares_[group * static_cast<size_t>(workers_) + static_cast<size_t>(worker)];
  }

  int64_t workers_;
  std::atomic<bool> stopped_{false};
  std::vector<Progress> groups_;
  std::vector<Share> shares_;  // per group and worker
};

void TaskGraph::Delete::operator()(Run* run) const { delete run; }

TaskGraph::TaskGraph(const std::vector<Group>& groups, int64_t workers)
    : nodes_(groups.size()), workers_(workers) {
  for (size_t g = 0; g < groups.size(); ++g) {
    nodes_[g].tasks = groups[g].tasks;
    nodes_[g].waits = static_cast<uint32_t>(groups[g].waits.size());
    for (size_t before : groups[g].waits) nodes_[before].next.push_back(g);
  }
}

TaskGraph::~TaskGraph() = default;

std::unique_ptr<TaskGraph::Run, TaskGraph::Delete> TaskGraph::make_run() const {
  return std::unique_ptr<Run, Delete>(new Run(nodes_.size(), workers_));
}

namespace {

// Others are at work: most wait for less than a microsecond.
void wait(int& turns) {
  constexpr int kSpins = 2000;
  if (++turns < kSpins) {
    __builtin_ia32_pause();
  } else {
    std::this_thread::yield();
  }
}

}  // namespace

void TaskGraph::work_off(Run& run, int64_t worker, Work work, void* context) const {
  constexpr size_t kAhead = 64;  // groups that are looked at behind the first that is not done
  size_t first = 0;
  int turns = 0;
  while (!run.stopped()) {
    while (first < nodes_.size() && run.finished(first, nodes_[first])) ++first;
    if (first == nodes_.size()) return;
    bool worked = false;
    for (size_t g = first; g < std::min(nodes_.size(), first + kAhead) && !worked; ++g) {
      if (!run.ready(g)) continue;
      while (const auto tasks = run.claim(g, worker)) {
        try {
          work(context, g, tasks->first, tasks->second);
        } catch (...) {
          run.stop();
          throw;
        }
        run.finish(nodes_, g, tasks->second - tasks->first);
        worked = true;
      }
    }
    if (worked) {
      turns = 0;
    } else {
      wait(turns);
    }
  }
}

void TaskGraph::run(Run& run, ThreadPool& pool, Work work, void* context) const {
  run.reset(nodes_);
  struct Call {
    const TaskGraph* graph;
    Run* run;
    Work work;
    void* context;
  } call{this, &run, work, context};
  pool.run(
      workers_,
      [](void* given, int64_t, int64_t) {
        const Call& c = *static_cast<const Call*>(given);
        c.graph->work_off(*c.run, ThreadPool::worker(), c.work, c.context);
      },
      &call);
}

}  // namespace adjit::engine
