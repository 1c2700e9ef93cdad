// jit/cuda/driver_numbers.hpp -- numbers that the CUDA driver's functions take and give.
//
// Those of cuda.h, by names of ours; tests/jit/cuda/driver_functions_test.cpp compares them where
// there is a cuda.h.
#pragma once

namespace adjit::cuda {

/// CUresult, as far as its values are told apart.
namespace result {
inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialised = 3,
                     kShutDown = 4, kStubLibrary = 34, kDeviceUnavailable = 46, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201,
                     kNoBinary = 209, kUncorrectableMemory = 214, kInvalidPtx = 218,
                     kUncorrectableLink = 220, kNoPtxCompiler = 221, kPtxTooNew = 222,
                     kContained = 226, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                     kTooManyResources = 701, kTimeout = 702, kContextDestroyed = 709,
                     kAssert = 710, kStackError = 714, kIllegalInstruction = 715, kMisaligned = 716,
                     kInvalidAddressSpace = 717, kInvalidCounter = 718, kLaunchFailed = 719,
                     kTensorMemoryLeak = 721, kDriverMismatch = 803, kNoForwardCompatibility = 804,
                     kServerEnded = 810, kNotWhileCapturing = 900, kCaptureBroken = 901,
                     kImplicitCapture = 906, kExternalDevice = 911, kInvalidHandle = 400;
}  // namespace result

/// CUdevice_attribute.
namespace attribute {
inline constexpr int kBlockThreads = 1, kClockKhz = 13, kMultiprocessors = 16, kMemoryClockKhz = 36,
                     kMemoryBusBits = 37, kL2Bytes = 38, kThreads = 39, kCapabilityMajor = 75,
                     kCapabilityMinor = 76, kSharedBytes = 81, kRegisters = 82, kCooperative = 95,
                     kBlockSharedBytes = 97, kMemoryPools = 115;
}  // namespace attribute

/// CUjit_option, CUjitInputType and CUfunction_attribute.
inline constexpr int kErrorLog = 5, kErrorLogBytes = 6;
inline constexpr int kPtxInput = 1;
inline constexpr int kDynamicSharedBytes = 8;

/// CUpointer_attribute.
inline constexpr int kDeviceOrdinal = 9;

/// CUmemPool_attribute, and flags of cuMemHostAlloc, cuStreamCreate and cuEventCreate.
inline constexpr int kReleaseThreshold = 4;
inline constexpr unsigned kForAllContexts = 1, kMapped = 2;
inline constexpr unsigned kBesideDefaultStream = 1;
inline constexpr unsigned kUntimed = 2;

/// CUstreamCaptureMode: calls that captures of others do not see are allowed.
inline constexpr int kRelaxedCapture = 2;

}  // namespace adjit::cuda
