// jit/engine/run/cuda_frames.hpp -- the frames of an executable that no call is using.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/engine/run/cuda_frame.hpp"

namespace adjit::engine {

/// Any thread.
class CudaFrames final : public MemoryKeeper {
 public:
  /// Frames that are kept for later calls; the one used least recently goes first, and all of them
  /// where somebody finds no memory.
  static constexpr size_t kMost = 32;

  /// `loaded` outlives it.
  explicit CudaFrames(const CudaPlan& loaded);
  ~CudaFrames();

  /// The one used last of a stream, or, of none, of no caller's; or a new one. ErrorCode::Memory
  /// without room for it.
  std::unique_ptr<CudaFrame> take(std::optional<unsigned long long> stream);
  void give_back(std::unique_ptr<CudaFrame> frame);
  bool release_idle() override;

  /// Throws what calls failed with whose frame is gone, once.
  void raise_lost();
  /// Throws what the calls of a frame failed with, after a wait for them.
  void raise_earlier(const CurrentContext& current);

 private:
  void end(std::unique_ptr<CudaFrame> frame);

  const CudaPlan& loaded_;
  std::mutex mutex_;                                  // of what follows
  std::vector<std::unique_ptr<CudaFrame>> frames_;    // at rest, the least recently used first
  std::vector<std::unique_ptr<CudaFrame>> captured_;  // parts of graphs: they stay
  std::exception_ptr lost_;  // the first that a call failed with whose frame is gone
};

}  // namespace adjit::engine
