// jit/engine/run/cuda_steps.hpp -- the steps of a call on a GPU, in order: kernels, scans, loops.
#pragma once

#include <vector>

#include "jit/engine/run/cuda_frame.hpp"
#include "jit/engine/run/kernel_time.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

/// A call that puts its work into a stream.
struct CudaCall {
  CudaFrame& frame;
  const CurrentContext& current;
  StreamHandle stream;
  Cancellable* cancellable = nullptr;        // asked before each kernel; null: nobody asks
  std::vector<KernelTime>* times = nullptr;  // of each kernel; each is waited for then
};

/// Puts all steps of the plan into the stream, in a frame with the addresses of the call's arrays:
/// a section that has one as its graph, but for calls that are captured or measured. Returns before
/// they are done, but for loops that end where data says so: each of their steps is waited for.
void run_plan(const CudaCall& call);

/// Until all that is in the call's stream is done, or its context is lost. Not while it is
/// captured.
void wait_quietly(const CudaCall& call);

}  // namespace adjit::engine
