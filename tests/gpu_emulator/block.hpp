// tests/gpu_emulator/block.hpp -- the threads of a block, run one at a time in a drawn order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu_emulator/fibre.hpp"
#include "tests/gpu_emulator/shadow.hpp"

namespace adjit::tests {

/// What a warp does together: each thread gives two numbers, and gets one when all that the mask
/// names have come to the same place.
struct WarpStep {
  const void* place = nullptr;  // in the code
  uint32_t mask = 0;
  uint64_t value = 0;
  uint32_t argument = 0;
  /// Of every thread of the mask at once: `steps` by lane (null: not of the mask).
  using Combine = uint64_t (*)(const WarpStep* const steps[kWarpThreads], int lane);
  Combine combine = nullptr;   // null: 0
  bool orders_memory = false;  // as a barrier of the warp does, and an exchange does not
};

/// Runs work(thread) for each thread of a block. At a barrier, and at a step of a warp, a thread
/// waits for the others, which run in an order drawn from `seed`.
class Block {
 public:
  Block(int threads, uint64_t seed, std::function<void(int)> work);

  /// To the end of all threads, or until stop(). The reason why threads wait for ever; "": none do.
  std::string run();

  // From inside a thread.
  int thread() const { return current_; }
  /// Whether an address is in the thread's own memory.
  bool is_local(uintptr_t address) const {
    return threads_[static_cast<size_t>(current_)].fibre->holds(address);
  }
  int barriers() const { return barriers_; }
  int warp_barriers() const { return warp_barriers_[static_cast<size_t>(current_ / kWarpThreads)]; }
  void wait_for_block(const void* place);
  uint64_t step_with_warp(const WarpStep& step);
  /// Ends the run: does not return.
  [[noreturn]] void stop();

 private:
  enum class State : uint8_t { Ready, AtBarrier, InWarp, Done };
  struct Thread {
    Block* block = nullptr;
    int number = 0;
    std::unique_ptr<Fibre> fibre;
    State state = State::Ready;
    const void* place = nullptr;
    WarpStep step;
    uint64_t result = 0;
  };

  void wait_as(State state);
  bool release_warp(size_t warp);
  std::string release_barrier();

  std::function<void(int)> work_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<int> warp_barriers_;
  int current_ = 0;
  int barriers_ = 0;
  bool stopped_ = false;
};

}  // namespace adjit::tests
