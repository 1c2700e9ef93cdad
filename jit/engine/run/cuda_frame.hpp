// jit/engine/run/cuda_frame.hpp -- what the calls of one stream write, one after the other:
// addresses, tables, workspace, results of checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jit/cuda/memory.hpp"
#include "jit/cuda/stream.hpp"
#include "jit/engine/run/cuda_plan.hpp"

namespace adjit::engine {

/// What data checks found, in memory that both sides see: of several calls, since a stream may be
/// behind.
class CheckResults {
 public:
  explicit CheckResults(const CudaPlan& loaded);

  /// Where the kernels of the next call write. Waits where all rooms are taken.
  DevicePointer begin(const CurrentContext& current);
  /// All of that call is in the stream.
  void end(const CurrentContext& current, StreamHandle stream);
  /// Throws for the first call that has been done since, and whose checks failed: that was an
  /// earlier call. `wait`: for all of them.
  void raise_earlier(const CurrentContext& current, bool wait);
  /// Throws where those of the call that was begun last failed. It is done.
  void raise();
  /// Until all calls are done.
  void wait(const CurrentContext& current) const;

 private:
  struct Room {
    std::unique_ptr<Event> done;
    bool waits = false;  // to be looked at
  };
  const int64_t* found(size_t room) const;

  const CudaPlan& loaded_;
  PinnedMemory memory_;
  std::array<Room, 8> rooms_;
  size_t next_ = 0;  // room; in turn
};

class SectionGraph;

/// One call at a time uses it. Its memory ends when its calls are done, and with all work of the
/// device where they are parts of a graph.
struct CudaFrame {
  /// `id`: of the stream whose it is; nullopt for one of its own. ErrorCode::Memory without room.
  CudaFrame(const CudaPlan& loaded, std::optional<unsigned long long> id);
  ~CudaFrame();
  CudaFrame(const CudaFrame&) = delete;
  CudaFrame& operator=(const CudaFrame&) = delete;

  const CudaPlan& loaded;
  const std::optional<unsigned long long> id;  // of the stream
  std::unique_ptr<Stream> own;                 // where that is none of the caller's
  bool captured = false;          // its call is a part of a graph, which may run at any time
  bool one_by_one = false;        // its kernels are launched so: once there was no room for a graph
  std::vector<void*> addresses;   // per buffer, of the device
  uint64_t changes = 0;           // of them, but for those that scans move
  std::vector<void*> table;       // of all kernels
  std::vector<void*> parameters;  // addresses of the table's places
  std::vector<void*> tables;      // per kernel that takes its part by a table: where its copy is
  std::vector<char> stale;        // per kernel: whether that copy is of before
  DeviceMemory table_copies;
  DeviceMemory workspace;
  std::byte* workspace_at = nullptr;   // what the addresses are in
  std::vector<DeviceMemory> staged;    // per argument that lay in the host's memory once
  std::unique_ptr<PinnedMemory> flag;  // of loops, where there are some
  std::optional<CheckResults> checks;
  Event done;  // of the last call that nobody waited for, if it checked nothing
  std::vector<std::unique_ptr<SectionGraph>> graphs;  // per section; null: not made yet
};

/// Puts a buffer's address into the table of every kernel that takes it.
void set_address(CudaFrame& frame, size_t buffer, void* address);

/// Makes this the block that the workspace is in.
void set_workspace(CudaFrame& frame, std::byte* block);

inline DevicePointer address_of(const void* device) { return reinterpret_cast<uintptr_t>(device); }
inline std::byte* pointer_to(DevicePointer address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
}

}  // namespace adjit::engine
