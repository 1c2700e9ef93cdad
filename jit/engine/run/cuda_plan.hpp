// jit/engine/run/cuda_plan.hpp -- a plan with its code in a GPU and all that its calls share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/cuda/gpu.hpp"
#include "jit/cuda/module.hpp"
#include "jit/cuda/stream.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/cuda_sections.hpp"

namespace adjit::engine {

/// A kernel of the plan. The addresses of all kernels' tensors lie one behind the other in a
/// frame's table.
struct CudaKernel {
  FunctionHandle function = nullptr;
  size_t table = 0, tensors = 0;  // position of its first tensor, and their number
  Grid grid;                      // without blocks: it has no task
  bool by_table = false;          // it takes the address of a copy of its part of the table
};

KernelLaunch launch_of(const CudaKernel& kernel, void** parameters);

struct CudaPlan {
  ExecutionPlan plan;
  std::shared_ptr<Gpu> gpu;
  std::unique_ptr<LoadedModule> module;
  std::vector<CudaKernel> kernels;
  std::vector<CudaSection> sections;  // of the plan's steps
  struct Use {
    size_t position, kernel;
  };
  std::vector<std::vector<Use>> uses;  // per buffer: where the tables have it
  std::vector<size_t> arguments;       // buffers that are the caller's
  std::vector<size_t> checks;          // buffers of the data checks' numbers
  size_t table_size = 0;
  DeviceMemory constants;  // uploaded
};

/// `image`: code for the device that defines the symbols of the plan's kernels. ErrorCode::Device,
/// Compile or Memory as the driver says.
CudaPlan load_cuda_plan(ExecutionPlan plan, std::shared_ptr<Gpu> gpu, const std::string& image);

}  // namespace adjit::engine
