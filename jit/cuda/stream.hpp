// jit/cuda/stream.hpp -- work in the order of a stream: copies, launches, events.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/cuda/context.hpp"

namespace adjit::cuda {

/// A stream of our own, beside the default one. It ends when its work has, without a call where the
/// context was lost.
class Stream {
 public:
  explicit Stream(PrimaryContext& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamHandle handle() const { return handle_; }

 private:
  PrimaryContext& context_;
  StreamHandle handle_ = nullptr;
};

/// A moment of a stream.
class Event {
 public:
  enum class Kind : uint8_t { Untimed, Timed };
  explicit Event(PrimaryContext& context, Kind kind = Kind::Untimed);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// The moment when all that is in the stream by now is done.
  void record(const CurrentContext& current, StreamHandle stream);
  /// Whether that moment has come; also where none was recorded. A fault of a kernel shows here.
  bool has_come(const CurrentContext& current) const;
  void wait(const CurrentContext& current) const;
  /// Between two timed ones that have come.
  double seconds_since(const CurrentContext& current, const Event& earlier) const;

 private:
  PrimaryContext& context_;
  EventHandle handle_ = nullptr;
};

/// What a kernel is run by.
struct Grid {
  int64_t blocks = 1;
  int threads = 1;       // of a block
  int shared_bytes = 0;  // of a block, dynamic; above 48 KB allow_shared_memory() (module.hpp)
};
/// The blocks as the driver takes them. ErrorCode::Schedule for more than it takes.
unsigned blocks_of(const Grid& grid);

/// A kernel, and what it runs on. `parameters[k]` is the address of the value of parameter k.
struct KernelLaunch {
  FunctionHandle function = nullptr;
  Grid grid;
  void** parameters = nullptr;
};

// All of these go into the stream and return; 0 bytes are no call.
/// What is not pinned has been read when it returns.
void copy_to_device(const CurrentContext& current, DevicePointer to, const void* from,
                    int64_t bytes, StreamHandle stream);
/// What is not pinned has been written when it returns.
void copy_to_host(const CurrentContext& current, void* to, DevicePointer from, int64_t bytes,
                  StreamHandle stream);
void copy_on_device(const CurrentContext& current, DevicePointer to, DevicePointer from,
                    int64_t bytes, StreamHandle stream);
void fill(const CurrentContext& current, DevicePointer memory, unsigned char value, int64_t bytes,
          StreamHandle stream);
/// Parameters have been read when it returns.
void launch(const CurrentContext& current, const KernelLaunch& kernel, StreamHandle stream);

/// Until all that is in the stream is done. A fault of a kernel shows here.
void synchronize(const CurrentContext& current, StreamHandle stream);
/// The same of all streams of the context.
void synchronize(const CurrentContext& current);

/// A number that no other stream of the process has or had. ErrorCode::Device for one of another
/// GPU, or that was destroyed.
unsigned long long id_of(const CurrentContext& current, StreamHandle stream);
/// Whether what goes into the stream becomes a graph instead of being done.
bool is_captured(const CurrentContext& current, StreamHandle stream);

}  // namespace adjit::cuda
