// tests/gpu_emulator/shadow.hpp -- who wrote and read each byte, and whether that depends on the
// order of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace adjit::tests {

inline constexpr int kWarpThreads = 32;

enum class Use : uint8_t { Read, Write, Atomic };

/// A thread at a moment: how many barriers of its block, and of its warp, are behind it.
struct Moment {
  int block = 0;
  int thread = 0;  // within the block
  int block_barriers = 0;
  int warp_barriers = 0;
};

/// Of one launch; bytes by their addresses. Two uses of a byte of which one writes, by two threads,
/// are a race unless a barrier stands between them: one of their block, or of their warp where they
/// are in one. Atomic uses write, too, but do not race with each other. Between blocks there are no
/// barriers.
class Shadow {
 public:
  /// What is wrong with a use, in words; nullopt: nothing.
  std::optional<std::string> use(uintptr_t address, size_t bytes, Use use, const Moment& moment);

  /// Bytes that nobody has written in this block: shared memory, when a block begins.
  void forget(uintptr_t address, size_t bytes);
  bool is_written(uintptr_t address, size_t bytes);

  /// An asynchronous copy from its issue until it is waited for: nobody may use what it writes, nor
  /// write what it reads, which may be less.
  void begin_copy(uintptr_t to, uintptr_t from, size_t written, size_t read) {
    add_copy(to, from, written, read, 1);
  }
  void end_copy(uintptr_t to, uintptr_t from, size_t written, size_t read) {
    add_copy(to, from, written, read, -1);
  }

 private:
  struct Byte {
    std::optional<Moment> writer;  // the last one that was not atomic
    std::vector<Moment> readers;   // since, one of each thread, or some of them (thin_out)
    std::vector<Moment> atomics;   // since, likewise
    int copies_to = 0, copies_from = 0;
  };
  static constexpr uintptr_t kPage = 256;
  using Page = std::array<Byte, kPage>;

  Byte& at(uintptr_t address);
  static void add(std::vector<Moment>& list, const Moment& moment);
  static void thin_out(std::vector<Moment>& list);
  void add_copy(uintptr_t to, uintptr_t from, size_t written, size_t read, int by);

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
};

/// Whether the first happens before the second, whatever the order in which threads run.
bool is_ordered(const Moment& first, const Moment& second);

}  // namespace adjit::tests
