// jit/engine/run/cuda_plan.cpp -- a plan with its code in a GPU: kernels, tables, constants.
#include "jit/engine/run/cuda_plan.hpp"

#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

void add_kernel(CudaPlan& loaded, const KernelPlan& kernel) {
  CudaKernel& added = loaded.kernels.emplace_back();
  added.function = loaded.module->function(kernel.symbol);
  added.table = loaded.table_size;
  added.tensors = kernel.tensors.size();
  const LaunchSize size = launch_size(kernel);
  added.grid = {size.blocks, size.threads, size.shared_bytes};
  if (added.grid.shared_bytes > 0)
    allow_shared_memory(loaded.gpu->context, added.function, added.grid.shared_bytes);
  added.by_table = kernel.by_table;
  for (size_t buffer : kernel.tensors)
    loaded.uses[buffer].push_back({loaded.table_size++, loaded.kernels.size() - 1});
}

}  // namespace

KernelLaunch launch_of(const CudaKernel& kernel, void** parameters) {
  return {kernel.function, kernel.grid, parameters};
}

CudaPlan load_cuda_plan(ExecutionPlan plan, std::shared_ptr<Gpu> gpu, const std::string& image) {
  invariant(plan.slot_bytes == 0, "a plan for a GPU has slots of threads");
  CudaPlan loaded;
  loaded.plan = std::move(plan);
  loaded.gpu = std::move(gpu);
  loaded.module = loaded.gpu->memory.with_room(
      [&] { return std::make_unique<LoadedModule>(loaded.gpu->context, image); });
  loaded.uses.resize(loaded.plan.buffers.size());
  for (const KernelPlan& kernel : loaded.plan.kernels) add_kernel(loaded, kernel);
  loaded.sections = sections_of(loaded.plan);
  for (size_t b = 0; b < loaded.plan.buffers.size(); ++b) {
    const Buffer::Kind kind = loaded.plan.buffers[b].kind;
    if (kind == Buffer::Kind::Input || kind == Buffer::Kind::Output) loaded.arguments.push_back(b);
    if (kind == Buffer::Kind::Check) loaded.checks.push_back(b);
  }
  const std::string& constants = loaded.plan.constants;
  loaded.constants = loaded.gpu->memory.allocate(std::ssize(constants));
  if (constants.empty()) return loaded;
  const CurrentContext current(loaded.gpu->context);
  const Stream stream(loaded.gpu->context);
  copy_to_device(current, loaded.constants.address(), constants.data(), std::ssize(constants),
                 stream.handle());
  synchronize(current, stream.handle());
  return loaded;
}

}  // namespace adjit::engine
