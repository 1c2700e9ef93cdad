// jit/cuda/gpu.hpp -- a GPU in use: what is known of it, its context, its memory.
#pragma once

#include <utility>

#include "jit/cuda/context.hpp"
#include "jit/cuda/device.hpp"
#include "jit/cuda/memory.hpp"

namespace adjit::cuda {

/// Shared by all that is loaded into the device. Nothing is asked of the driver before something
/// is.
struct Gpu {
  Gpu(const Driver& driver, DeviceFacts what)
      : facts(std::move(what)),
        context(driver, facts.ordinal),
        memory(context, facts.memory_pools) {}

  const DeviceFacts facts;
  PrimaryContext context;
  MemoryPool memory;
};

}  // namespace adjit::cuda
