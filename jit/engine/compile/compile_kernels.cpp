// jit/engine/compile/compile_kernels.cpp -- parallel compilation, and objects as bytes.
#include "jit/engine/compile/compile_kernels.hpp"

#include <string_view>
#include <unordered_map>

#include "jit/cpu/object.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/compile/kernel_passes.hpp"
#include "runtime/process/in_parallel.hpp"

namespace adjit::engine {

std::string kernel_symbol(size_t kernel) { return "adjit_kernel_" + std::to_string(kernel); }

CodegenLevel level_of(bool register_tile, size_t different, double points, bool long_body,
                      const TargetFeatures& features, unsigned instructions) {
  constexpr size_t kMany = 64, kFew = 8;
  constexpr unsigned kMostAllocated = 4096;
  constexpr double kSomePoints = 4096, kManyPoints = 1 << 15;
  if (!register_tile && instructions > kMostAllocated) return CodegenLevel::Fast;
  if (!register_tile && different > kMany && points <= kSomePoints) return CodegenLevel::Fast;
  if (long_body && points >= (different <= kFew ? kSomePoints : kManyPoints))
    return CodegenLevel::Less;
  return codegen_level(register_tile, features);
}

namespace {

KernelPasses passes_of(const KernelList& list, TargetMachines& machines, const KernelNames& names) {
  return {list, machines.target().vector,
          [&machines](llvm::Module& module) { set_target(module, machines); }, names};
}

}  // namespace

CompiledKernels compile_kernels(const KernelList& list, TargetMachines& machines,
                                const KernelNames& names) {
  const size_t count = list.entries().size();
  CompiledKernels compiled;
  compiled.objects.resize(count);
  KernelPasses passes = passes_of(list, machines, names);
  const auto threads = static_cast<size_t>(ThreadPool::available_threads());
  in_parallel(count, threads, [&](size_t k, size_t) { passes.emit(k); });
  passes.count();
  const std::vector<size_t> order = passes.longest_first();
  in_parallel(count, threads, [&](size_t place, size_t) {
    const size_t k = order[place];
    passes.compile(k, [&](const EmittedKernel& kernel, CodegenLevel level) {
      compiled.objects[k] = compile_module(*kernel.module, machines, level);
    });
  });
  compiled.kernels = passes.take();
  return compiled;
}

void check_emission(const KernelList& list, TargetMachines& machines) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes = passes_of(list, machines, names);
  in_parallel(list.entries().size(), static_cast<size_t>(ThreadPool::available_threads()),
              [&](size_t k, size_t) { passes.emit(k); });
}

void for_each_different(const KernelList& list, TargetMachines& machines,
                        const std::function<void(const EmittedKernel&, CodegenLevel)>& visit) {
  const KernelNames names = kernel_symbol;
  KernelPasses passes = passes_of(list, machines, names);
  for (size_t k = 0; k < list.entries().size(); ++k) passes.emit(k);
  passes.count();
  for (size_t k = 0; k < list.entries().size(); ++k) passes.compile(k, visit);
}

std::vector<std::shared_ptr<LoadedCode>> load_objects(CodeLoader& loader,
                                                      std::span<const std::vector<char>> objects,
                                                      const ExecutionPlan& plan) {
  if (objects.size() != plan.kernels.size())
    throw Error(ErrorCode::Cache, "an execution plan does not fit its objects");
  std::vector<std::shared_ptr<LoadedCode>> code;
  std::unordered_map<std::string_view, std::shared_ptr<LoadedCode>> loaded;
  for (size_t k = 0; k < objects.size(); ++k) {
    const std::string& symbol = plan.kernels[k].symbol;
    std::shared_ptr<LoadedCode>& own = loaded[symbol];
    if (!own || !objects[k].empty()) own = loader.load(objects[k], std::span(&symbol, 1));
    code.push_back(own);
  }
  return code;
}

std::string join_objects(std::span<const std::vector<char>> objects) {
  std::string bytes;
  for (const std::vector<char>& object : objects) {
    uint64_t size = object.size();
    for (int k = 0; k < 8; ++k, size >>= 8) bytes += static_cast<char>(size & 0xff);
    bytes.append(object.data(), object.size());
  }
  return bytes;
}

std::vector<std::vector<char>> split_objects(std::string_view bytes) {
  std::vector<std::vector<char>> objects;
  while (!bytes.empty()) {
    if (bytes.size() < 8) throw Error(ErrorCode::Cache, "the list of objects is cut off");
    uint64_t size = 0;
    for (size_t k = 8; k-- > 0;) size = size << 8 | static_cast<unsigned char>(bytes[k]);
    bytes.remove_prefix(8);
    if (size > bytes.size()) throw Error(ErrorCode::Cache, "the list of objects is cut off");
    objects.emplace_back(bytes.begin(), bytes.begin() + static_cast<long>(size));
    bytes.remove_prefix(size);
  }
  return objects;
}

}  // namespace adjit::engine
