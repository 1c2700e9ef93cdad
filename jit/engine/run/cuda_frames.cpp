// jit/engine/run/cuda_frames.cpp -- frames at rest, by stream.
#include "jit/engine/run/cuda_frames.hpp"

#include <cstddef>
#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::engine {

CudaFrames::CudaFrames(const CudaPlan& loaded) : loaded_(loaded) { loaded_.gpu->memory.add(*this); }

CudaFrames::~CudaFrames() { loaded_.gpu->memory.remove(*this); }

std::unique_ptr<CudaFrame> CudaFrames::take(std::optional<unsigned long long> stream) {
  {
    const std::lock_guard lock(mutex_);
    for (size_t k = frames_.size(); k-- > 0;)
      if (frames_[k]->id == stream) {
        std::unique_ptr<CudaFrame> taken = std::move(frames_[k]);
        frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(k));
        return taken;
      }
  }
  return std::make_unique<CudaFrame>(loaded_, stream);
}

void CudaFrames::give_back(std::unique_ptr<CudaFrame> frame) {
  std::unique_ptr<CudaFrame> oldest;  // ends behind the lock: that waits for the device
  {
    const std::lock_guard lock(mutex_);
    if (frame->captured) {
      captured_.push_back(std::move(frame));
      return;
    }
    frames_.push_back(std::move(frame));
    if (frames_.size() <= kMost) return;
    oldest = std::move(frames_.front());
    frames_.erase(frames_.begin());
  }
  end(std::move(oldest));
}

// What its calls failed with is kept for later ones. Waits for the frame's calls.
void CudaFrames::end(std::unique_ptr<CudaFrame> frame) {
  if (!frame->checks) return;
  try {
    frame->checks->raise_earlier(CurrentContext(loaded_.gpu->context), true);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = std::current_exception();
  }
}

bool CudaFrames::release_idle() {
  std::vector<std::unique_ptr<CudaFrame>> idle;
  {
    const std::lock_guard lock(mutex_);
    idle.swap(frames_);
  }
  for (std::unique_ptr<CudaFrame>& frame : idle) end(std::move(frame));
  return !idle.empty();
}

// What calls failed with whose frame is gone.
void CudaFrames::raise_lost() {
  std::exception_ptr lost;
  {
    const std::lock_guard lock(mutex_);
    lost = std::exchange(lost_, nullptr);
  }
  if (lost) std::rethrow_exception(lost);
}

void CudaFrames::raise_earlier(const CurrentContext& current) {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<CudaFrame>& frame : frames_)
    if (frame->checks) frame->checks->raise_earlier(current, true);
}

}  // namespace adjit::engine
