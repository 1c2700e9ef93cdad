// jit/cuda/memory.hpp -- a GPU's memory, and memory of the host that it sees.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/cuda/context.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cuda {

class DeviceMemory;

/// Who keeps memory of a device that it does without when others need it.
class MemoryKeeper {
 public:
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;
  /// Gives back what nobody uses now; whether that was something. Called by any thread that needs
  /// memory, one at a time; takes none itself.
  virtual bool release_idle() = 0;

 protected:
  MemoryKeeper() = default;
  ~MemoryKeeper() = default;
};

/// Blocks of one device, taken by any stream. Of what is given back it keeps some for the next
/// blocks: taking memory from the driver's reserve waits for the whole device. Outlived by no
/// block. Any thread.
class MemoryPool {
 public:
  /// `pooled`: DeviceFacts::memory_pools; else each block is the driver's.
  MemoryPool(PrimaryContext& context, bool pooled);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Aligned to 256 bytes, contents unspecified; nothing for 0 bytes. ErrorCode::Memory with the
  /// bytes where there are none, also after what was kept went back, here and by all keepers. Also
  /// while a stream of the process is captured.
  DeviceMemory allocate(int64_t bytes);

  /// What `make` gives; where that has no room, it is asked again after all keepers.
  template <typename Make>
  auto with_room(Make&& make) {
    const uint64_t before = releases_;
    try {
      return make();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Memory) throw;
      release_idle();
      if (releases_ == before) throw;  // nobody made room, nor did another thread meanwhile
    }
    return make();
  }

  /// Asks the keeper from now on, until remove() returns: not while it is being asked.
  void add(MemoryKeeper& keeper);
  void remove(MemoryKeeper& keeper);

  PrimaryContext& context() const { return context_; }

 private:
  Result take(const CurrentContext& current, DevicePointer* memory, size_t bytes);
  DeviceMemory allocate_now(int64_t bytes);
  void release_idle();

  PrimaryContext& context_;
  std::atomic<uint64_t> releases_ = 0;  // of keepers, that were of something
  const bool pooled_;
  std::mutex mutex_;
  PoolHandle pool_ = nullptr;
  StreamHandle stream_ = nullptr;  // on which blocks are taken, so that no other stream waits
  std::mutex keepers_mutex_;       // held while one of them is asked
  std::vector<MemoryKeeper*> keepers_;
  process::ForkHandler handler_;
};

/// Bytes of a device that nobody has taken now; nullopt: the driver does not tell.
std::optional<int64_t> free_bytes(const CurrentContext& current);

/// A block of a pool, which goes back when this ends: whoever owns it has waited for the kernels
/// that use it. Without a call where the context was lost.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(PrimaryContext& context, DevicePointer address)
      : context_(&context), address_(address) {}
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  DevicePointer address() const { return address_; }

 private:
  PrimaryContext* context_ = nullptr;
  DevicePointer address_ = 0;
};

/// Memory of the host that kernels read and write by an address of the device, and that copies do
/// not stop at. As DeviceMemory otherwise.
class PinnedMemory {
 public:
  /// ErrorCode::Memory where there is none.
  PinnedMemory(PrimaryContext& context, int64_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  void* host() const { return host_; }
  DevicePointer device() const { return device_; }

 private:
  PrimaryContext& context_;
  void* host_ = nullptr;
  DevicePointer device_ = 0;
};

}  // namespace adjit::cuda
