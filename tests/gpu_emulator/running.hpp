// tests/gpu_emulator/running.hpp -- a launch in progress: what its threads do to memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tests/gpu_emulator/block.hpp"
#include "tests/gpu_emulator/emulator.hpp"
#include "tests/gpu_emulator/host_module.hpp"
#include "tests/gpu_emulator/shadow.hpp"

namespace adjit::tests {

/// The one of this thread of the process is `now()`; host functions that kernels call find it
/// there.
class Running {
 public:
  Running(const HostModule& module, std::span<const DeviceArray> arrays, const Launch& launch,
          std::span<std::byte> shared);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static Running& now();

  /// false: nothing can go on after what was found.
  bool run_block(int number, uint64_t seed, const std::function<void()>& kernel);
  const Report& report() const { return report_; }

  // For the kernel's threads.
  const Launch& launch() const { return launch_; }
  Block& block() { return *block_; }
  int block_number() const { return number_; }
  /// `align`: what is said to divide the address.
  void use(uintptr_t address, size_t bytes, Use use, size_t instruction, size_t align);
  /// Of so many bytes, and of zeros behind them.
  void begin_copy(void* to, const void* from, size_t bytes, size_t zeros);
  void commit_copies();
  void wait_for_copies(size_t groups_left);

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t bytes, zeros;
  };
  struct Copies {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
  };
  /// Accesses of a warp when an instruction ran for the n-th time in each of its threads.
  struct Request {
    std::map<int, std::pair<uintptr_t, size_t>> lanes;  // address and bytes, by lane
    bool shared = false, writes = false;
  };

  Moment moment() const;
  bool is_shared(uintptr_t address) const;
  void fault(const std::string& kind, size_t instruction, const std::string& text);
  void require_room(uintptr_t address, size_t bytes, size_t instruction, size_t align);
  void count_requests();

  const HostModule& module_;
  const std::vector<DeviceArray> arrays_;
  const Launch launch_;
  const std::span<std::byte> shared_;
  Report report_;
  Shadow shadow_;
  std::set<std::pair<std::string, size_t>> told_;
  Block* block_ = nullptr;
  int number_ = 0;
  bool lost_ = false;
  std::map<std::pair<int, size_t>, int64_t> times_;               // by thread and instruction
  std::map<std::tuple<int, size_t, int64_t>, Request> requests_;  // by warp, instruction, time
  std::map<int, Copies> copies_;                                  // by thread
};

/// kUseFunction (host_module.hpp).
extern "C" void emulate_use(void* address, int64_t bytes, int32_t use, int64_t instruction,
                            int64_t align);

}  // namespace adjit::tests
