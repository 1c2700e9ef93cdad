// tests/fake_cuda/memory.cpp -- memory, copies, streams and events of the fake CUDA driver.
//
// A device's memory is memory of the host that the driver gave out, filled with ones: no number
// that a kernel would make. Whatever goes into a stream is done at once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/state.hpp"

bool adjit::tests::exists(adjit::cuda::StreamHandle stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= 2) return true;
  const auto found = state().streams.find(stream);
  return found != state().streams.end() && found->second->device == current_device();
}

namespace {

using namespace adjit::cuda;   // NOLINT(google-build-using-namespace)
using namespace adjit::tests;  // NOLINT(google-build-using-namespace)

constexpr size_t kAlignment = 256;

void* pointer(DevicePointer address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));
}

int take(DevicePointer* memory, size_t bytes, int device) {
  State& s = state();
  if (bytes == 0) return kInvalidValue;
  if (s.taken + bytes > s.memory_bytes) return kOutOfMemory;
  void* made = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (made == nullptr) return kOutOfMemory;
  std::memset(made, 0xff, bytes);
  *memory = reinterpret_cast<uintptr_t>(made);
  s.memory[*memory] = bytes;
  s.owners[*memory] = device;
  s.taken += bytes;
  return 0;
}

int give_back(DevicePointer memory) {
  State& s = state();
  const auto found = s.memory.find(memory);
  if (found == s.memory.end()) return kInvalidValue;
  s.taken -= found->second;
  s.owners.erase(memory);
  s.memory.erase(found);
  std::free(pointer(memory));
  return 0;
}

// Whether the driver gave out all of these bytes, in one block.
bool holds(DevicePointer address, size_t bytes) {
  const auto behind = state().memory.upper_bound(address);
  if (behind == state().memory.begin()) return false;
  const auto& [first, size] = *std::prev(behind);
  return address + bytes <= first + size;
}

bool is_captured(StreamHandle stream) {
  const auto found = state().streams.find(stream);
  return found != state().streams.end() && found->second->captured;
}

// The calling thread's mode of capturing; 2: it may do what ends others' captures.
int& capture_mode() {
  static thread_local int mode = 0;
  return mode;
}

// Of calls that are unsafe while any thread captures.
int refused_by_capture() {
  if (capture_mode() == 2) return 0;
  for (const auto& [handle, stream] : state().streams)
    if (stream->captured) return kCaptureUnsupported;
  return 0;
}

int move(void* to, const void* from, size_t bytes, StreamHandle stream) {
  if (!exists(stream)) return kInvalidHandle;
  std::memcpy(to, from, bytes);
  ++state().moment;
  return 0;
}

}  // namespace

extern "C" {

int cuMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  FAKE_CALL(cuMemPoolCreate);
  if (properties->allocation != 1 || properties->location_type != 1) return kInvalidValue;
  if (properties->device < 0 || properties->device >= state().devices) return kInvalidDevice;
  void* made = std::malloc(1);
  state().pools[made] = properties->device;
  *pool = static_cast<PoolHandle>(made);
  return 0;
}

int cuMemPoolDestroy(PoolHandle pool) {
  FAKE_CALL(cuMemPoolDestroy);
  if (state().pools.erase(pool) == 0) return kInvalidHandle;
  std::free(pool);
  return 0;
}

int cuMemPoolSetAttribute(PoolHandle pool, int attribute, void* value) {
  FAKE_CALL(cuMemPoolSetAttribute);
  if (!state().pools.contains(pool)) return kInvalidHandle;
  return attribute == 4 && value != nullptr ? 0 : kInvalidValue;
}

int cuMemPoolTrimTo(PoolHandle pool, size_t) {
  FAKE_CALL(cuMemPoolTrimTo);
  return state().pools.contains(pool) ? 0 : kInvalidHandle;
}

int cuMemAllocFromPoolAsync(DevicePointer* memory, size_t bytes, PoolHandle pool,
                            StreamHandle stream) {
  FAKE_CALL(cuMemAllocFromPoolAsync);
  if (!state().pools.contains(pool) || !exists(stream)) return kInvalidHandle;
  return take(memory, bytes, state().pools[pool]);
}

int cuMemAllocAsync(DevicePointer* memory, size_t bytes, StreamHandle stream) {
  FAKE_CALL(cuMemAllocAsync);
  return exists(stream) ? take(memory, bytes, current_device()) : kInvalidHandle;
}

int cuMemFreeAsync(DevicePointer memory, StreamHandle stream) {
  FAKE_CALL(cuMemFreeAsync);
  return exists(stream) ? give_back(memory) : kInvalidHandle;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  FAKE_CALL(cuMemGetInfo_v2);
  *total = state().memory_bytes;
  *free = state().memory_bytes - std::min(state().taken, state().memory_bytes);
  return 0;
}

int cuMemAlloc_v2(DevicePointer* memory, size_t bytes) {
  FAKE_CALL(cuMemAlloc_v2);
  if (const int refused = refused_by_capture(); refused != 0) return refused;
  return take(memory, bytes, current_device());
}

int cuMemFree_v2(DevicePointer memory) {
  FAKE_CALL(cuMemFree_v2);
  if (const int refused = refused_by_capture(); refused != 0) return refused;
  return give_back(memory);
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  FAKE_CALL(cuMemHostAlloc);
  if (const int refused = refused_by_capture(); refused != 0) return refused;
  if ((flags & ~7U) != 0) return kInvalidValue;
  DevicePointer made = 0;
  if (const int result = take(&made, bytes, current_device()); result != 0) return result;
  *memory = pointer(made);
  return 0;
}

int cuMemFreeHost(void* memory) {
  FAKE_CALL(cuMemFreeHost);
  if (const int refused = refused_by_capture(); refused != 0) return refused;
  return give_back(reinterpret_cast<uintptr_t>(memory));
}

int cuMemHostGetDevicePointer_v2(DevicePointer* device, void* host, unsigned) {
  FAKE_CALL(cuMemHostGetDevicePointer_v2);
  *device = reinterpret_cast<uintptr_t>(host);
  return holds(*device, 1) ? 0 : kInvalidValue;
}

// Of the device, the one that the memory lies on.
int cuPointerGetAttribute(void* value, int attribute, DevicePointer memory) {
  FAKE_CALL_WITHOUT_CONTEXT(cuPointerGetAttribute);
  if (attribute != 9 || !holds(memory, 1)) return kInvalidValue;
  *static_cast<int*>(value) = std::prev(state().owners.upper_bound(memory))->second;
  return 0;
}

int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, StreamHandle stream) {
  FAKE_CALL(cuMemcpyHtoDAsync_v2);
  return holds(to, bytes) ? move(pointer(to), from, bytes, stream) : kInvalidValue;
}

int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, StreamHandle stream) {
  FAKE_CALL(cuMemcpyDtoHAsync_v2);
  return holds(from, bytes) ? move(to, pointer(from), bytes, stream) : kInvalidValue;
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream) {
  FAKE_CALL(cuMemcpyDtoDAsync_v2);
  if (!holds(to, bytes) || !holds(from, bytes)) return kInvalidValue;
  return move(pointer(to), pointer(from), bytes, stream);
}

int cuMemsetD8Async(DevicePointer memory, unsigned char value, size_t bytes, StreamHandle stream) {
  FAKE_CALL(cuMemsetD8Async);
  if (!exists(stream)) return kInvalidHandle;
  if (!holds(memory, bytes)) return kInvalidValue;
  std::memset(pointer(memory), value, bytes);
  return 0;
}

void* fake_cuda_allocate(size_t bytes, int device) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  DevicePointer made = 0;
  return take(&made, bytes, device) == 0 ? pointer(made) : nullptr;
}

void fake_cuda_free(void* memory) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  give_back(reinterpret_cast<uintptr_t>(memory));
}

int cuCtxSynchronize() {
  FAKE_CALL(cuCtxSynchronize);
  for (const auto& [handle, stream] : state().streams)  // in any mode: theirs is not done
    if (stream->captured) return kCaptureUnsupported;
  return 0;
}

int cuStreamCreate(StreamHandle* stream, unsigned) {
  FAKE_CALL(cuStreamCreate);
  auto made = std::make_unique<FakeStream>();
  made->id = ++state().last_id;
  made->device = current_device();
  *stream = reinterpret_cast<StreamHandle>(made.get());
  state().streams[*stream] = std::move(made);
  return 0;
}

int cuStreamDestroy_v2(StreamHandle stream) {
  FAKE_CALL(cuStreamDestroy_v2);
  return state().streams.erase(stream) == 0 ? kInvalidHandle : 0;
}

int cuStreamSynchronize(StreamHandle stream) {
  FAKE_CALL(cuStreamSynchronize);
  if (!exists(stream)) return kInvalidHandle;
  return is_captured(stream) ? kCaptureUnsupported : 0;
}

int cuStreamGetId(StreamHandle stream, unsigned long long* id) {
  FAKE_CALL(cuStreamGetId);
  if (!exists(stream)) return kInvalidHandle;
  const auto found = state().streams.find(stream);
  *id = found != state().streams.end() ? found->second->id : reinterpret_cast<uintptr_t>(stream);
  return 0;
}

int cuStreamIsCapturing(StreamHandle stream, int* status) {
  FAKE_CALL(cuStreamIsCapturing);
  if (!exists(stream)) return kInvalidHandle;
  *status = is_captured(stream) ? 1 : 0;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  FAKE_CALL(cuThreadExchangeStreamCaptureMode);
  std::swap(capture_mode(), *mode);
  return 0;
}

int cuEventCreate(EventHandle* event, unsigned) {
  FAKE_CALL(cuEventCreate);
  auto made = std::make_unique<FakeEvent>();
  *event = reinterpret_cast<EventHandle>(made.get());
  state().events[*event] = std::move(made);
  return 0;
}

int cuEventDestroy_v2(EventHandle event) {
  FAKE_CALL(cuEventDestroy_v2);
  return state().events.erase(event) == 0 ? kInvalidHandle : 0;
}

int cuEventRecord(EventHandle event, StreamHandle stream) {
  FAKE_CALL(cuEventRecord);
  if (!state().events.contains(event) || !exists(stream)) return kInvalidHandle;
  state().events[event]->moment = state().moment;
  return 0;
}

int cuEventQuery(EventHandle event) {
  FAKE_CALL(cuEventQuery);
  if (const int refused = refused_by_capture(); refused != 0) return refused;
  return state().events.contains(event) ? 0 : kInvalidHandle;
}

int cuEventSynchronize(EventHandle event) {
  FAKE_CALL(cuEventSynchronize);
  return state().events.contains(event) ? 0 : kInvalidHandle;
}

// A millisecond for each launch and each copy.
int cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  FAKE_CALL(cuEventElapsedTime);
  State& s = state();
  if (!s.events.contains(start) || !s.events.contains(end)) return kInvalidHandle;
  *milliseconds = static_cast<float>(s.events[end]->moment - s.events[start]->moment);
  return 0;
}

}  // extern "C"
