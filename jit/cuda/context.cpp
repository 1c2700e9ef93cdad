// jit/cuda/context.cpp -- the context of a GPU that everybody in the process shares.
#include "jit/cuda/context.hpp"

#include <new>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"

namespace adjit::cuda {

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal)
    : driver_(driver), ordinal_(ordinal), handler_({}, {}, [this] {
        forked_ = true;
        new (&mutex_) std::mutex;  // whoever held it is not here
      }) {}

ContextHandle PrimaryContext::handle() {
  if (forked_) refuse_forked();
  if (lost_.load(std::memory_order_acquire))
    throw Error(ErrorCode::Device, "cuda:" + std::to_string(ordinal_) +
                                       " cannot be used any more in this process: " + lost_by_);
  if (ContextHandle known = handle_.load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(mutex_);
  if (ContextHandle known = handle_.load(std::memory_order_relaxed)) return known;
  const std::string which = " of cuda:" + std::to_string(ordinal_);
  DeviceHandle device = 0;
  cuda::require(driver_, driver_.device(&device, ordinal_), "cuDeviceGet" + which);
  ContextHandle made = nullptr;
  cuda::require(driver_, driver_.retain_primary(&made, device), "cuDevicePrimaryCtxRetain" + which);
  handle_.store(made, std::memory_order_release);
  return made;
}

void PrimaryContext::require(Result result, const std::string& call) {
  try {
    cuda::require(driver_, result, call);
  } catch (const Error& error) {
    if (loses_context(result)) {
      const std::lock_guard lock(mutex_);
      if (!lost_) lost_by_ = error.what();
      lost_.store(true, std::memory_order_release);
    }
    throw;
  }
}

CurrentContext::CurrentContext(PrimaryContext& context) : context_(context) {
  const ContextHandle wanted = context.handle();
  context.require(driver().current_context(&before_), "cuCtxGetCurrent");
  if (before_ == wanted) return;
  context.require(driver().set_current_context(wanted), "cuCtxSetCurrent");
  changed_ = true;
}

// Whatever is said here, the caller's own next call will say it, too.
CurrentContext::~CurrentContext() {
  if (changed_) static_cast<void>(driver().set_current_context(before_));
}

RelaxedCapture::RelaxedCapture(const CurrentContext& current)
    : driver_(current.driver()), mode_(kRelaxedCapture) {
  current.require(driver_.exchange_capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode");
}

RelaxedCapture::~RelaxedCapture() { static_cast<void>(driver_.exchange_capture_mode(&mode_)); }

}  // namespace adjit::cuda
