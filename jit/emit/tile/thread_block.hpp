// jit/emit/tile/thread_block.hpp -- the threads of a GPU that run a task together: their numbers,
// the memory that they share, and where they wait for each other.
//
// What a nest stores in memory that the block's threads share, or that all threads do, others may
// read behind a barrier. All threads must come to it: it stands where control depends on nothing
// that differs between them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "autosched/program/shared_memory.hpp"

namespace adjit::emit {

class ThreadBlock {
 public:
  static constexpr int64_t kAlignment = sched::kSharedAlignment;

  /// Of so many threads, a multiple of a warp's. `buffers`: per tensor, which of them lie in one
  /// buffer (shared_buffers.hpp). The builder is in the kernel's function; it must outlive this.
  ThreadBlock(llvm::IRBuilder<>& builder, int64_t threads, std::vector<uint32_t> buffers);

  int64_t threads() const { return threads_; }
  llvm::Value* thread() const { return thread_; }  // i32, 0 .. threads - 1

  /// Memory that the block shares, aligned to 16 bytes: the same for the same key, which asks for
  /// the same size.
  using Key = std::pair<const void*, size_t>;
  llvm::Value* shared(const Key& key, int64_t bytes);
  int64_t shared_bytes() const { return shared_bytes_; }
  /// Memory of so many bytes in which threads exchange values, array `number` of an exchange: the
  /// next one, behind before_exchange(), has the same.
  llvm::Value* exchanged(size_t number, int64_t bytes);

  /// All threads wait; what they wrote before, all see.
  void barrier();
  /// A nest that threads run together has stored its results.
  void stored(std::span<const TensorId> results);
  /// Buffers that were, since the last barrier; and that some were, whatever barriers came since.
  const std::set<uint32_t>& stored() const { return stored_; }
  void still_stored(const std::set<uint32_t>& buffers) {
    stored_.insert(buffers.begin(), buffers.end());
  }
  /// A barrier where values of an exchange were read since the last one; and that they are now.
  void before_exchange();
  void after_exchange() { stored_.insert(kExchange); }
  /// A barrier where some of these tensors were stored since the last one.
  void before_reading(std::span<const TensorId> tensors);
  /// A barrier where anything was.
  void before_reading_all();

 private:
  llvm::Value* array_at(int64_t offset, int64_t new_bytes);

  static constexpr uint32_t kExchange = UINT32_MAX;  // among buffers: what exchanges go through

  llvm::IRBuilder<>& builder_;
  const int64_t threads_;
  const std::vector<uint32_t> buffers_;
  llvm::Value* thread_;
  int64_t shared_bytes_ = 0;
  std::map<Key, int64_t> offsets_;
  std::map<std::pair<size_t, int64_t>, int64_t> exchanges_;  // offsets
  std::set<uint32_t> stored_;                                // buffers, since the last barrier
};

}  // namespace adjit::emit
