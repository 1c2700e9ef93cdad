// jit/cuda/context.hpp -- the context of a GPU that everybody in the process shares, current for a
// while.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "jit/cuda/driver.hpp"
#include "runtime/process/fork.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::cuda {

/// A device's primary context: the one that PyTorch, JAX and CUDA's own runtime use, so that
/// arrays and streams go from one to the other. It is retained when it is first needed and stays so
/// until the process ends: at that time the driver may be gone before us. Any thread.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal);
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  const Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  /// Retained by the first call. ErrorCode::Device where it cannot be, or was lost, and in a child
  /// that was forked since the object was made.
  ContextHandle handle();

  /// Throws what a failed result stands for, as require(); where that loses the context, handle()
  /// fails from now on with what was said here first.
  void require(Result result, const std::string& call);

 private:
  const Driver& driver_;
  const int ordinal_;
  std::mutex mutex_;
  std::atomic<ContextHandle> handle_ = nullptr;
  std::atomic<bool> lost_ = false;
  std::string lost_by_;  // written once, before `lost_`
  std::atomic<bool> forked_ = false;
  process::ForkHandler handler_;
};

/// While it lives, the context is the calling thread's current one; then what was before. Ends in
/// the thread that made it. ErrorCode::Device as PrimaryContext::handle().
class CurrentContext {
 public:
  explicit CurrentContext(PrimaryContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  const Driver& driver() const { return context_.driver(); }
  /// As PrimaryContext's.
  void require(Result result, const char* call) const {
    if (result != 0) context_.require(result, call);
  }

 private:
  PrimaryContext& context_;
  ContextHandle before_ = nullptr;
  bool changed_ = false;
};

/// While it lives, what the calling thread asks of the driver is no part of a graph that any thread
/// captures, and may take memory, give it back, and wait: PyTorch captures so that these would end
/// the capture. Ends in the thread that made it.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CurrentContext& current);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  int mode_;  // then the one before
};

}  // namespace adjit::cuda
