// jit/cuda/result.hpp -- what the CUDA driver answers, as errors that people understand.
#pragma once

#include <string>

#include "jit/cuda/driver.hpp"
#include "jit/cuda/driver_numbers.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::cuda {

/// The error that a failed call stands for: Memory, Compile, Device, or Internal where the call
/// itself was wrong.
ErrorCode code_of(Result failure);

/// Whether the context is unusable from now on: a kernel did what may not be done, the memory, a
/// link or a device beside it failed, or somebody destroyed the context.
bool loses_context(Result failure);

/// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", by the driver's own words.
std::string describe(const Driver& driver, Result failure);

/// Throws, unless the result is success: "call: ..." with what can be done about it. `call`: the
/// driver's function, and on what.
void require(const Driver& driver, Result result, const std::string& call);

}  // namespace adjit::cuda
