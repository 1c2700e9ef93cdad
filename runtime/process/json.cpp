// runtime/process/json.cpp -- memory for destructors.
#include "runtime/process/json.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>

#include "runtime/process/fork.hpp"

namespace adjit::process {
namespace {

/// Handed out front to back, by one thread until it has given everything back. Vectors that grow
/// give back their old elements after they have taken room for twice as many.
class Reserve {
 public:
  void* take(size_t bytes) {
    const ForkDelay no_fork;  // before the lock: who waits for that may have one
    mutex_.lock();
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > memory_.size() - used_) {
      mutex_.unlock();
      throw std::bad_alloc();
    }
    void* const found = memory_.data() + used_;
    used_ += bytes;
    if (lists_++ == 0) held_.emplace();
    return found;
  }
  bool owns(const void* memory) const {
    const auto* const at = static_cast<const std::byte*>(memory);
    return at >= memory_.data() && at < memory_.data() + memory_.size();
  }
  void give_back() noexcept {
    const ForkDelay until_unlocked;
    if (--lists_ == 0) {
      used_ = 0;
      held_.reset();
    }
    mutex_.unlock();
  }

 private:
  static constexpr size_t kAlignment = alignof(std::max_align_t);
  std::recursive_mutex mutex_;
  size_t used_ = 0, lists_ = 0;
  std::optional<ForkDelay> held_;  // while there are lists
  alignas(
      kAlignment) std::array<std::byte, size_t{2} << 20> memory_;  // costs none until it is used
};
Reserve reserve;

}  // namespace

void* take_json_memory(size_t bytes) {
  if (void* const found = std::malloc(bytes)) return found;
  return reserve.take(bytes);
}

void give_back_json_memory(void* memory) noexcept {
  if (reserve.owns(memory)) return reserve.give_back();
  std::free(memory);
}

}  // namespace adjit::process
