// tests/jit/cuda/driver_functions_test.cpp -- our declarations of the driver's functions, beside
// those of cuda.h where there is one.
#include <gtest/gtest.h>

#include <set>
#include <string>

#ifdef ADJIT_HAVE_CUDA_HEADER

#include <cuda.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "jit/cuda/driver.hpp"
#include "jit/cuda/driver_numbers.hpp"

namespace adjit::cuda {
namespace {

// NOLINTBEGIN(bugprone-sizeof-expression,misc-redundant-expression): of types, not of values
// How a value is passed to a function: what is equal here, either side may declare.
struct Passed {
  bool pointer, floating;
  size_t size;
  bool operator==(const Passed&) const = default;
};
template <typename T>
constexpr Passed kPassed{std::is_pointer_v<T>, std::is_floating_point_v<T>, sizeof(T)};

template <typename A, typename B>
constexpr bool kAlike = false;
template <typename A, typename B, typename... As, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
constexpr bool kAlike<A(As...), B(Bs...)> =
    kPassed<A> == kPassed<B> && ((kPassed<As> == kPassed<Bs>) && ...);
// NOLINTEND(bugprone-sizeof-expression,misc-redundant-expression)

TEST(DriverFunctions, AreDeclaredAsInTheHeaderOfCuda) {
  static_assert(!kAlike<int(int), int(int, int)>);
  static_assert(!kAlike<int(int), int(double)>);
#define DRIVER_FUNCTION(name, symbol, parameters) \
  EXPECT_TRUE((kAlike<decltype(::symbol), Result parameters>)) << #symbol;
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
}

TEST(DriverFunctions, PropertiesOfPoolsLieAsInTheHeaderOfCuda) {
  static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps));
  static_assert(offsetof(PoolProperties, shared_as) == offsetof(CUmemPoolProps, handleTypes));
  static_assert(offsetof(PoolProperties, device) ==
                offsetof(CUmemPoolProps, location) + offsetof(CUmemLocation, id));
}

TEST(DriverFunctions, NodesOfGraphsLieAsInTheHeaderOfCuda) {
  static_assert(sizeof(KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
  static_assert(offsetof(KernelNode, blocks_x) == offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
  static_assert(offsetof(KernelNode, threads_x) == offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
  static_assert(offsetof(KernelNode, shared_bytes) ==
                offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
  static_assert(offsetof(KernelNode, parameters) ==
                offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
  static_assert(offsetof(KernelNode, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
}

TEST(DriverFunctions, NumbersAreThoseOfTheHeaderOfCuda) {
  const std::pair<int, int> pairs[] = {
      {result::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY},
      {result::kNotInitialised, CUDA_ERROR_NOT_INITIALIZED},
      {result::kShutDown, CUDA_ERROR_DEINITIALIZED},
      {result::kStubLibrary, CUDA_ERROR_STUB_LIBRARY},
      {result::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE},
      {result::kNoDevice, CUDA_ERROR_NO_DEVICE},
      {result::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE},
      {result::kInvalidImage, CUDA_ERROR_INVALID_IMAGE},
      {result::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT},
      {result::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE},
      {result::kNoBinary, CUDA_ERROR_NO_BINARY_FOR_GPU},
      {result::kUncorrectableMemory, CUDA_ERROR_ECC_UNCORRECTABLE},
      {result::kInvalidPtx, CUDA_ERROR_INVALID_PTX},
      {result::kUncorrectableLink, CUDA_ERROR_NVLINK_UNCORRECTABLE},
      {result::kNoPtxCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND},
      {result::kPtxTooNew, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
      {result::kNotFound, CUDA_ERROR_NOT_FOUND},
      {result::kNotReady, CUDA_ERROR_NOT_READY},
      {result::kNotWhileCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {result::kCaptureBroken, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED},
      {result::kImplicitCapture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
      {result::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS},
      {result::kTooManyResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
      {result::kTimeout, CUDA_ERROR_LAUNCH_TIMEOUT},
      {result::kContextDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED},
      {result::kAssert, CUDA_ERROR_ASSERT},
      {result::kStackError, CUDA_ERROR_HARDWARE_STACK_ERROR},
      {result::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {result::kMisaligned, CUDA_ERROR_MISALIGNED_ADDRESS},
      {result::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE},
      {result::kInvalidCounter, CUDA_ERROR_INVALID_PC},
      {result::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED},
      {result::kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
      {result::kNoForwardCompatibility, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE},
      {result::kServerEnded, CUDA_ERROR_MPS_CLIENT_TERMINATED},
      {result::kExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE},
#if CUDA_VERSION >= 13000  // older headers do not know them
      {result::kContained, CUDA_ERROR_CONTAINED},
      {result::kTensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK},
#endif
      {attribute::kBlockThreads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {attribute::kClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
      {attribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {attribute::kMemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
      {attribute::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
      {attribute::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {attribute::kThreads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
      {attribute::kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {attribute::kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {attribute::kSharedBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {attribute::kRegisters, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
      {attribute::kCooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
      {attribute::kBlockSharedBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {attribute::kMemoryPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
      {kErrorLog, CU_JIT_ERROR_LOG_BUFFER},
      {kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES},
      {kPtxInput, CU_JIT_INPUT_PTX},
      {kDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
      {kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
      {kReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD},
      {int{kForAllContexts}, CU_MEMHOSTALLOC_PORTABLE},
      {kMapped, CU_MEMHOSTALLOC_DEVICEMAP},
      {kBesideDefaultStream, CU_STREAM_NON_BLOCKING},
      {kUntimed, CU_EVENT_DISABLE_TIMING},
      {kRelaxedCapture, CU_STREAM_CAPTURE_MODE_RELAXED},
      {PoolProperties{}.allocation, CU_MEM_ALLOCATION_TYPE_PINNED},
      {PoolProperties{}.shared_as, CU_MEM_HANDLE_TYPE_NONE},
      {PoolProperties{}.location_type, CU_MEM_LOCATION_TYPE_DEVICE},
  };
  for (const auto& [ours, theirs] : pairs) EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace adjit::cuda

#endif

namespace adjit::cuda {
namespace {

TEST(DriverFunctions, AreNamedOnceEach) {
  const char* const symbols[] = {
#define DRIVER_FUNCTION(name, symbol, parameters) #symbol,
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
  };
  std::set<std::string> seen;
  for (const char* symbol : symbols) EXPECT_TRUE(seen.insert(symbol).second) << symbol;
}

}  // namespace
}  // namespace adjit::cuda
