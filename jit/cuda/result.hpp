// jit/cuda/result.hpp -- what the CUDA driver answers, as errors that people understand.
#pragma once

#include <string>

#include "jit/cuda/driver.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::cuda {

/// CUresult's numbers that are told apart.
namespace result {
inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialised = 3,
                        kShutDown = 4, kStubLibrary = 34, kDeviceUnavailable = 46, kNoDevice = 100,
                        kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201,
                        kNoBinary = 209, kUncorrectableMemory = 214, kInvalidPtx = 218,
                        kNoPtxCompiler = 221, kPtxTooNew = 222, kNotFound = 500,
                        kIllegalAddress = 700, kTooManyResources = 701, kTimeout = 702,
                        kContextDestroyed = 709, kAssert = 710, kStackError = 714,
                        kIllegalInstruction = 715, kMisaligned = 716, kInvalidAddressSpace = 717,
                        kInvalidCounter = 718, kLaunchFailed = 719, kDriverMismatch = 803,
                        kNoForwardCompatibility = 804;
}  // namespace result

/// The error that a failed call stands for: Memory, Compile, Device, or Internal where the call
/// itself was wrong.
ErrorCode code_of(Result failure);

/// Whether the context is unusable from now on: a kernel did what may not be done, the device fell
/// off its bus, or somebody destroyed the context.
bool loses_context(Result failure);

/// Whether it only says that the driver has shut down, as it does while the process ends: what was
/// to be given back is gone, and nobody is to be told.
bool says_shut_down(Result failure);

/// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", by the driver's own words.
std::string describe(const Driver& driver, Result failure);

/// Throws, unless the result is success: "call: ..." with what can be done about it. `call`: the
/// driver's function, and on what.
void require(const Driver& driver, Result result, const std::string& call);

}  // namespace adjit::cuda
