// jit/cuda/memory.cpp -- a GPU's memory, and memory of the host that it sees.
#include "jit/cuda/memory.hpp"

#include <new>
#include <string>
#include <utility>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"

namespace adjit::cuda {
namespace {

// What a pool keeps of what was given back.
constexpr uint64_t kKeptBytes = uint64_t{256} << 20;

}  // namespace

// In a forked child, executables end, too.
MemoryPool::MemoryPool(PrimaryContext& context, bool pooled)
    : context_(context), pooled_(pooled), handler_({}, {}, [this] {
        new (&keepers_mutex_) std::mutex;  // whoever held it is not here
      }) {}

// On success the block is there for every stream.
Result MemoryPool::take(const CurrentContext& current, DevicePointer* memory, size_t bytes) {
  const Driver& driver = current.driver();
  if (!pooled_) return driver.allocate(memory, bytes);
  if (stream_ == nullptr)
    current.require(driver.create_stream(&stream_, kBesideDefaultStream), "cuStreamCreate");
  if (pool_ == nullptr) {
    PoolProperties properties;
    properties.device = context_.ordinal();
    PoolHandle made = nullptr;
    current.require(driver.create_pool(&made, &properties), "cuMemPoolCreate");
    uint64_t kept = kKeptBytes;
    current.require(driver.set_pool_attribute(made, kReleaseThreshold, &kept),
                    "cuMemPoolSetAttribute");
    pool_ = made;
  }
  Result result = driver.allocate_from_pool(memory, bytes, pool_, stream_);
  if (result == result::kOutOfMemory) {
    current.require(driver.trim_pool(pool_, 0), "cuMemPoolTrimTo");
    result = driver.allocate_from_pool(memory, bytes, pool_, stream_);
  }
  if (result == result::kSuccess)
    current.require(driver.synchronize_stream(stream_), "cuStreamSynchronize");
  return result;
}

MemoryPool::~MemoryPool() {
  if (stream_ == nullptr) return;
  try {
    const CurrentContext current(context_);
    if (pool_ != nullptr) static_cast<void>(current.driver().destroy_pool(pool_));
    static_cast<void>(current.driver().destroy_stream(stream_));
  } catch (const Error&) {
    return;  // they are gone with their context
  }
}

void MemoryPool::add(MemoryKeeper& keeper) {
  const std::lock_guard lock(keepers_mutex_);
  keepers_.push_back(&keeper);
}

void MemoryPool::remove(MemoryKeeper& keeper) {
  const std::lock_guard lock(keepers_mutex_);
  std::erase(keepers_, &keeper);
}

void MemoryPool::release_idle() {
  const std::lock_guard lock(keepers_mutex_);
  for (MemoryKeeper* keeper : keepers_)
    if (keeper->release_idle()) ++releases_;
}

DeviceMemory MemoryPool::allocate(int64_t bytes) {
  return with_room([&] { return allocate_now(bytes); });
}

DeviceMemory MemoryPool::allocate_now(int64_t bytes) {
  if (bytes <= 0) return {};
  const CurrentContext current(context_);
  const RelaxedCapture relaxed(current);
  const std::lock_guard lock(mutex_);
  DevicePointer memory = 0;
  const Result result = take(current, &memory, static_cast<size_t>(bytes));
  std::string what =
      "taking " + std::to_string(bytes) + " bytes of cuda:" + std::to_string(context_.ordinal());
  if (result == result::kOutOfMemory)
    if (const std::optional<int64_t> free = free_bytes(current))
      what += ", of which " + std::to_string(*free) + " bytes are free,";
  context_.require(result, what);
  return {context_, memory};
}

std::optional<int64_t> free_bytes(const CurrentContext& current) {
  size_t free = 0, total = 0;
  const Result result = current.driver().memory_info(&free, &total);
  return result == result::kSuccess ? std::optional(static_cast<int64_t>(free)) : std::nullopt;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : context_(other.context_), address_(std::exchange(other.address_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ == 0) return;
  try {
    const CurrentContext current(*context_);
    const RelaxedCapture relaxed(current);
    static_cast<void>(current.driver().free(address_));
  } catch (const Error&) {
    return;  // it is gone with its context
  }
}

PinnedMemory::PinnedMemory(PrimaryContext& context, int64_t bytes) : context_(context) {
  const CurrentContext current(context);
  const RelaxedCapture relaxed(current);
  const Driver& driver = current.driver();
  const auto size = static_cast<size_t>(bytes);
  if (const Result result = driver.allocate_host(&host_, size, kForAllContexts | kMapped);
      result != result::kSuccess)
    context.require(result, "taking " + std::to_string(bytes) + " bytes of pinned memory");
  const Result result = driver.device_pointer(&device_, host_, 0);
  if (result == result::kSuccess) return;
  static_cast<void>(driver.free_host(host_));
  context.require(result, "cuMemHostGetDevicePointer");
}

PinnedMemory::~PinnedMemory() {
  try {
    const CurrentContext current(context_);
    const RelaxedCapture relaxed(current);
    static_cast<void>(current.driver().free_host(host_));
  } catch (const Error&) {
    return;
  }
}

}  // namespace adjit::cuda
