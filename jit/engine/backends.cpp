// jit/engine/backends.cpp -- the machines of an engine, by the names of targets.
#include "jit/engine/backends.hpp"

#include "jit/cuda/device.hpp"
#include "jit/cuda/driver.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {

Backend& Backends::named(const std::string& target) {
  if (target == "cpu") return cpu_;
  if (!target.starts_with("cuda"))
    throw Error(ErrorCode::Device,
                "there is no target '" + target + "'; use \"cpu\", \"cuda\" or \"cuda:1\"");
  const cuda::DeviceFacts facts = cuda::device_named(cuda::driver(), target);
  throw Error(ErrorCode::Device, "target '" + target + "' (" + facts.name +
                                     "): this version of adjit generates code for the CPU only; "
                                     "use target=\"cpu\" or leave it out");
}

}  // namespace adjit::engine
