// jit/cuda/stream.cpp -- work in the order of a stream: copies, launches, events.
#include "jit/cuda/stream.hpp"

#include <string>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"

namespace adjit::cuda {

Stream::Stream(PrimaryContext& context) : context_(context) {
  const CurrentContext current(context);
  current.require(current.driver().create_stream(&handle_, kBesideDefaultStream), "cuStreamCreate");
}

Stream::~Stream() {
  try {
    const CurrentContext current(context_);
    static_cast<void>(current.driver().destroy_stream(handle_));
  } catch (const Error&) {
    return;
  }
}

Event::Event(PrimaryContext& context, Kind kind) : context_(context) {
  const CurrentContext current(context);
  current.require(current.driver().create_event(&handle_, kind == Kind::Timed ? 0 : kUntimed),
                  "cuEventCreate");
}

Event::~Event() {
  try {
    const CurrentContext current(context_);
    static_cast<void>(current.driver().destroy_event(handle_));
  } catch (const Error&) {
    return;
  }
}

void Event::record(const CurrentContext& current, StreamHandle stream) {
  current.require(current.driver().record_event(handle_, stream), "cuEventRecord");
}

bool Event::has_come(const CurrentContext& current) const {
  const Result result = current.driver().query_event(handle_);
  if (result == result::kNotReady) return false;
  current.require(result, "cuEventQuery");
  return true;
}

void Event::wait(const CurrentContext& current) const {
  current.require(current.driver().synchronize_event(handle_), "cuEventSynchronize");
}

double Event::seconds_since(const CurrentContext& current, const Event& earlier) const {
  float milliseconds = 0;
  current.require(current.driver().elapsed_time(&milliseconds, earlier.handle_, handle_),
                  "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

void copy_to_device(const CurrentContext& current, DevicePointer to, const void* from,
                    int64_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  current.require(current.driver().copy_to_device(to, from, static_cast<size_t>(bytes), stream),
                  "cuMemcpyHtoDAsync");
}

void copy_to_host(const CurrentContext& current, void* to, DevicePointer from, int64_t bytes,
                  StreamHandle stream) {
  if (bytes == 0) return;
  current.require(current.driver().copy_to_host(to, from, static_cast<size_t>(bytes), stream),
                  "cuMemcpyDtoHAsync");
}

void copy_on_device(const CurrentContext& current, DevicePointer to, DevicePointer from,
                    int64_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  current.require(current.driver().copy_on_device(to, from, static_cast<size_t>(bytes), stream),
                  "cuMemcpyDtoDAsync");
}

void fill(const CurrentContext& current, DevicePointer memory, unsigned char value, int64_t bytes,
          StreamHandle stream) {
  if (bytes == 0) return;
  current.require(current.driver().fill(memory, value, static_cast<size_t>(bytes), stream),
                  "cuMemsetD8Async");
}

unsigned blocks_of(const Grid& grid) {
  constexpr int64_t kMostBlocks = INT32_MAX;
  if (grid.blocks > kMostBlocks)
    throw Error(ErrorCode::Schedule, "a kernel has " + std::to_string(grid.blocks) +
                                         " blocks of threads; a GPU takes " +
                                         std::to_string(kMostBlocks) + ": split the computation");
  return static_cast<unsigned>(grid.blocks);
}

void launch(const CurrentContext& current, const KernelLaunch& kernel, StreamHandle stream) {
  current.require(current.driver().launch(kernel.function, blocks_of(kernel.grid), 1, 1,
                                          static_cast<unsigned>(kernel.grid.threads), 1, 1,
                                          static_cast<unsigned>(kernel.grid.shared_bytes), stream,
                                          kernel.parameters, nullptr),
                  "cuLaunchKernel");
}

void synchronize(const CurrentContext& current, StreamHandle stream) {
  current.require(current.driver().synchronize_stream(stream), "cuStreamSynchronize");
}

void synchronize(const CurrentContext& current) {
  current.require(current.driver().synchronize_context(), "cuCtxSynchronize");
}

unsigned long long id_of(const CurrentContext& current, StreamHandle stream) {
  unsigned long long id = 0;
  const Result result = current.driver().stream_id(stream, &id);
  if (result == result::kInvalidHandle && stream != nullptr)
    throw Error(ErrorCode::Device,
                "cuStreamGetId failed with " + describe(current.driver(), result) +
                    "; the stream is none of this GPU's: it is another GPU's, or was destroyed; "
                    "give a stream of the GPU where the arrays lie");
  current.require(result, "cuStreamGetId");
  return id;
}

bool is_captured(const CurrentContext& current, StreamHandle stream) {
  int status = 0;
  current.require(current.driver().is_capturing(stream, &status), "cuStreamIsCapturing");
  return status != 0;
}

}  // namespace adjit::cuda
