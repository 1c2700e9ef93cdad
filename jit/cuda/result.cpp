// jit/cuda/result.cpp -- what the CUDA driver answers, as errors that people understand.
#include "jit/cuda/result.hpp"

#include <algorithm>
#include <iterator>

namespace adjit::cuda {
namespace {

struct Meaning {
  Result result;
  ErrorCode code;
  bool loses_context;
  const char* remedy;
};

constexpr const char* kAfterFault =
    "the GPU's context is lost: every later call in this process fails; start a new process";

constexpr const char* kDestroyed =
    "the GPU's context was destroyed by other code of this process (cudaDeviceReset, "
    "cuDevicePrimaryCtxReset); do without that call, and start a new process";

// What is not here is the device's failure, without a remedy that we know.
constexpr Meaning kMeanings[] = {
    {result::kInvalidValue, ErrorCode::Internal, false, "adjit called the driver wrongly: a bug"},
    {result::kOutOfMemory, ErrorCode::Memory, false,
     "free arrays on the GPU, or give a memory_budget"},
    {result::kNotInitialised, ErrorCode::Device, false,
     "the process was forked after CUDA was initialised; start it with the method 'spawn'"},
    {result::kShutDown, ErrorCode::Device, true, "the process is ending"},
    {result::kStubLibrary, ErrorCode::Device, false,
     "the library is CUDA's stub for linking; install NVIDIA's driver"},
    {result::kDeviceUnavailable, ErrorCode::Device, false,
     "another process uses the GPU alone; ask nvidia-smi for its compute mode"},
    {result::kNoDevice, ErrorCode::Device, false,
     "no GPU is visible; look at nvidia-smi and CUDA_VISIBLE_DEVICES"},
    {result::kInvalidDevice, ErrorCode::Device, false, "there is no GPU of this number"},
    {result::kInvalidImage, ErrorCode::Compile, false, "the code is not for this GPU"},
    {result::kInvalidContext, ErrorCode::Device, true, kDestroyed},
    {result::kNoBinary, ErrorCode::Compile, false, "the code is not for this GPU"},
    {result::kInvalidHandle, ErrorCode::Device, false,
     "something that adjit made on the GPU is gone: other code of this process may have destroyed "
     "the context (cudaDeviceReset); do without that call, and start a new process"},
    {result::kUncorrectableMemory, ErrorCode::Device, true, kAfterFault},
    {result::kUncorrectableLink, ErrorCode::Device, true, kAfterFault},
    {result::kContained, ErrorCode::Device, true, kAfterFault},
    {result::kInvalidPtx, ErrorCode::Compile, false, "the driver refuses the code"},
    {result::kNoPtxCompiler, ErrorCode::Compile, false,
     "the driver's compiler, libnvidia-ptxjitcompiler.so.1, is not installed; install it, or "
     "CUDA's ptxas"},
    {result::kPtxTooNew, ErrorCode::Compile, false, "the driver is too old; install a newer one"},
    {result::kIllegalAddress, ErrorCode::Device, true, kAfterFault},
    {result::kTooManyResources, ErrorCode::Compile, false,
     "the kernel wants more registers or shared memory than a multiprocessor has"},
    {result::kTimeout, ErrorCode::Device, true, kAfterFault},
    {result::kContextDestroyed, ErrorCode::Device, true, kDestroyed},
    {result::kAssert, ErrorCode::Device, true, kAfterFault},
    {result::kStackError, ErrorCode::Device, true, kAfterFault},
    {result::kIllegalInstruction, ErrorCode::Device, true, kAfterFault},
    {result::kMisaligned, ErrorCode::Device, true, kAfterFault},
    {result::kInvalidAddressSpace, ErrorCode::Device, true, kAfterFault},
    {result::kInvalidCounter, ErrorCode::Device, true, kAfterFault},
    {result::kLaunchFailed, ErrorCode::Device, true, kAfterFault},
    {result::kTensorMemoryLeak, ErrorCode::Device, true, kAfterFault},
    {result::kServerEnded, ErrorCode::Device, true, kAfterFault},
    {result::kExternalDevice, ErrorCode::Device, true, kAfterFault},
    {result::kNotWhileCapturing, ErrorCode::Device, false,
     "the stream is being captured into a graph; run what waits or copies before"},
    {result::kCaptureBroken, ErrorCode::Device, false,
     "a call that may not be captured ended the capture of the stream; begin it again"},
    {result::kImplicitCapture, ErrorCode::Device, false,
     "another stream is being captured, which the legacy default one may not disturb; give a stream"
     " of your own"},
    {result::kDriverMismatch, ErrorCode::Device, false,
     "the driver's library and its kernel module are of two versions; restart the machine"},
    {result::kNoForwardCompatibility, ErrorCode::Device, false,
     "CUDA's compatibility package does not serve this GPU; remove it, or install a newer driver"},
};

const Meaning* meaning_of(Result failure) {
  const auto* found = std::ranges::find(kMeanings, failure, &Meaning::result);
  return found != std::end(kMeanings) ? found : nullptr;
}

}  // namespace

ErrorCode code_of(Result failure) {
  const Meaning* meaning = meaning_of(failure);
  return meaning ? meaning->code : ErrorCode::Device;
}

bool loses_context(Result failure) {
  const Meaning* meaning = meaning_of(failure);
  return meaning && meaning->loses_context;
}

std::string describe(const Driver& driver, Result failure) {
  const char* name = nullptr;
  const char* text = nullptr;
  const bool named = driver.error_name(failure, &name) == result::kSuccess && name != nullptr;
  const bool told = driver.error_string(failure, &text) == result::kSuccess && text != nullptr;
  return (named ? name : std::string("unknown CUDA error")) + " (" + std::to_string(failure) + ")" +
         (told ? ": " + std::string(text) : "");
}

void require(const Driver& driver, Result result, const std::string& call) {
  if (result == result::kSuccess) return;
  const Meaning* meaning = meaning_of(result);
  throw Error(code_of(result), call + " failed with " + describe(driver, result) +
                                   (meaning ? "; " + std::string(meaning->remedy) : ""));
}

}  // namespace adjit::cuda
