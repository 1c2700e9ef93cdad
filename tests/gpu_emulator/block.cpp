// tests/gpu_emulator/block.cpp -- the threads of a block, run one at a time in a drawn order.
#include "tests/gpu_emulator/block.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace adjit::tests {

Block::Block(int threads, uint64_t seed, std::function<void(int)> work)
    : work_(std::move(work)),
      random_(seed),
      threads_(static_cast<size_t>(threads)),
      warp_barriers_(static_cast<size_t>((threads + kWarpThreads - 1) / kWarpThreads)) {
  for (size_t t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    thread.block = this;
    thread.number = static_cast<int>(t);
    thread.fibre = std::make_unique<Fibre>(
        [](void* argument) {
          auto& self = *static_cast<Thread*>(argument);
          self.block->work_(self.number);
          self.state = State::Done;
        },
        &thread);
  }
}

std::string Block::run() {
  std::vector<size_t> ready;
  while (!stopped_) {
    ready.clear();
    for (size_t t = 0; t < threads_.size(); ++t)
      if (threads_[t].state == State::Ready) ready.push_back(t);
    if (ready.empty()) {
      if (std::ranges::all_of(threads_, [](const Thread& t) { return t.state == State::Done; }))
        return "";
      if (std::string why = release_barrier(); !why.empty()) return why;
      continue;
    }
    std::ranges::shuffle(ready, random_);
    for (size_t t : ready) {
      if (stopped_) break;
      current_ = static_cast<int>(t);
      threads_[t].fibre->enter();
      if (threads_[t].state == State::InWarp) release_warp(t / kWarpThreads);
    }
  }
  return "";
}

void Block::wait_as(State state) {
  Thread& self = threads_[static_cast<size_t>(current_)];
  self.state = state;
  self.fibre->leave();
}

void Block::wait_for_block(const void* place) {
  threads_[static_cast<size_t>(current_)].place = place;
  wait_as(State::AtBarrier);
}

uint64_t Block::step_with_warp(const WarpStep& step) {
  Thread& self = threads_[static_cast<size_t>(current_)];
  self.step = step;
  wait_as(State::InWarp);
  return self.result;
}

void Block::stop() {
  stopped_ = true;
  threads_[static_cast<size_t>(current_)].fibre->leave();
  std::abort();  // a stopped block's threads are not entered again
}

// Lets go the threads of a warp that are together at a place, where all of their mask are.
bool Block::release_warp(size_t warp) {
  const size_t first = warp * kWarpThreads;
  const int threads_of_warp =
      static_cast<int>(std::min<size_t>(kWarpThreads, threads_.size() - first));
  const WarpStep& wanted = threads_[static_cast<size_t>(current_)].step;
  const WarpStep* steps[kWarpThreads] = {};
  for (size_t lane = 0; lane < kWarpThreads; ++lane) {
    if (!(wanted.mask >> lane & 1)) continue;
    if (first + lane >= threads_.size()) return false;
    const Thread& thread = threads_[first + lane];
    if (thread.state != State::InWarp || thread.step.place != wanted.place ||
        thread.step.mask != wanted.mask)
      return false;
    steps[lane] = &thread.step;
  }
  for (int lane = 0; lane < kWarpThreads; ++lane)
    if (steps[lane] != nullptr) {
      Thread& thread = threads_[first + static_cast<size_t>(lane)];
      thread.result = wanted.combine != nullptr ? wanted.combine(steps, lane) : 0;
      thread.state = State::Ready;
    }
  if (wanted.orders_memory && std::popcount(wanted.mask) == threads_of_warp)
    ++warp_barriers_[warp];  // one of some lanes orders nothing that is kept here
  return true;
}

// Why threads wait for ever; "": they go on.
std::string Block::release_barrier() {
  const void* place = nullptr;
  size_t waiting = 0;
  for (const Thread& thread : threads_) {
    if (thread.state == State::InWarp)
      return "threads of a warp wait for lanes that do not come: thread " +
             std::to_string(thread.number);
    if (thread.state != State::AtBarrier) continue;
    if (place != nullptr && place != thread.place) return "threads wait at two barriers";
    place = thread.place;
    ++waiting;
  }
  if (waiting < threads_.size())
    return "a barrier that " + std::to_string(threads_.size() - waiting) + " of " +
           std::to_string(threads_.size()) + " threads do not reach";
  ++barriers_;
  for (Thread& thread : threads_) thread.state = State::Ready;
  return "";
}

}  // namespace adjit::tests
