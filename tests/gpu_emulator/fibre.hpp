// tests/gpu_emulator/fibre.hpp -- threads of execution that one thread of the process runs in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace adjit::tests {

/// A stack with a function on it. enter() runs it until it calls leave() or returns; then enter()
/// returns, and another enter() goes on where it left. x86-64 only.
class Fibre {
 public:
  /// Calls work(argument) on the first enter().
  Fibre(void (*work)(void*), void* argument);
  Fibre(const Fibre&) = delete;  // its stack knows where it is
  Fibre& operator=(const Fibre&) = delete;

  void enter();
  /// From inside.
  void leave();
  /// Whether an address is on its stack.
  bool holds(uintptr_t address) const {
    const auto begin = reinterpret_cast<uintptr_t>(stack_.get());
    return address >= begin && address < begin + kStackBytes;
  }

 private:
  static constexpr size_t kStackBytes = 640 << 10;  // 512 KB of local memory, and calls
  static void begin(Fibre* self);

  void (*work_)(void*);
  void* argument_;
  std::unique_ptr<std::byte[]> stack_;
  void* inside_ = nullptr;   // stack pointer of the fibre
  void* outside_ = nullptr;  // of whoever entered it
};

}  // namespace adjit::tests
