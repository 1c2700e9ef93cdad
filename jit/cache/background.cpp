// jit/cache/background.cpp -- the queue, and who works it off: its thread, or a caller.
#include "jit/cache/background.hpp"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace adjit::cache {

struct Background::State {
  struct Item {
    Job job;
    size_t bytes = 0;
  };
  std::mutex mutex;
  std::condition_variable work_or_end;
  std::condition_variable progress;
  std::deque<Item> items;
  size_t bytes = 0;     // of the items and the running one
  uint64_t queued = 0;  // ever
  uint64_t done = 0;    // ever
  bool ending = false;
  std::thread thread;
  std::thread::id at_work;  // whoever works the queue off: the thread, or a caller for a while
};

namespace {

void run(Background::Job& job) noexcept {
  try {
    job();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a job that failed has said so itself
  }
  job = nullptr;  // what the job owns goes before anybody is told that it is done
}

/// Blocks every signal in this thread for its lifetime, but for those of a crash. A thread inherits
/// its creator's mask: the user's handlers never run on ours, and a file-size limit is an error of
/// write() and no SIGXFSZ.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, crash);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  // A SIGXFSZ that was raised meanwhile is pending; it is taken off here, or it would end the
  // process as soon as it is not blocked any more.
  ~SignalsBlocked() {
    sigset_t file_size;
    sigemptyset(&file_size);
    sigaddset(&file_size, SIGXFSZ);
    constexpr timespec kAtOnce{};
    if (sigismember(&before_, SIGXFSZ) == 0) sigtimedwait(&file_size, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Background::Background()
    : state_(new State()), fork_({}, {}, [this] { state_.store(new State()); }) {}

Background::~Background() {
  const std::unique_ptr<State> state(state_.load());
  {
    const std::lock_guard lock(state->mutex);
    state->ending = true;
  }
  state->work_or_end.notify_all();
  if (state->thread.joinable()) state->thread.join();
}

/// Does the first job, with the state locked before and after it, but not meanwhile.
void Background::do_first(State& state, std::unique_lock<std::mutex>& lock) {
  State::Item item = std::move(state.items.front());
  state.items.pop_front();
  lock.unlock();
  run(item.job);
  lock.lock();
  ++state.done;
  state.bytes -= item.bytes;
  state.progress.notify_all();
}

void Background::work(State& state) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.work_or_end.wait(lock, [&] { return state.ending || !state.items.empty(); });
    if (state.items.empty()) return;
    do_first(state, lock);
  }
}

/// With the state locked. Whether the queue is being worked off: false when nobody is at it and
/// there is no thread to be had.
bool Background::start(State& state) {
  if (state.at_work != std::thread::id()) return true;
  const SignalsBlocked blocked;
  try {
    state.thread = std::thread([&state] { work(state); });
    state.at_work = state.thread.get_id();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Background::enqueue(Job job, size_t bytes) {
  State& state = *state_.load();
  std::unique_lock lock(state.mutex);
  const bool started = start(state);
  state.items.push_back({std::move(job), bytes});
  state.bytes += bytes;
  ++state.queued;
  if (started) {
    state.work_or_end.notify_one();
    return;
  }
  const SignalsBlocked blocked;
  state.at_work = std::this_thread::get_id();
  while (!state.items.empty()) do_first(state, lock);
  state.at_work = {};
}

size_t Background::waiting_bytes() const {
  State& state = *state_.load();
  const std::lock_guard lock(state.mutex);
  return state.bytes;
}

void Background::flush() {
  State& state = *state_.load();
  std::unique_lock lock(state.mutex);
  if (state.at_work == std::this_thread::get_id()) return;
  const uint64_t target = state.queued;
  state.progress.wait(lock, [&] { return state.done >= target; });
}

}  // namespace adjit::cache
