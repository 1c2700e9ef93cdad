// jit/engine/compile_kernels.cpp -- parallel compilation, and objects as bytes.
#include "jit/engine/compile_kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>

#include "autosched/nests.hpp"
#include "jit/cpu/object.hpp"
#include "jit/cpu/parallel.hpp"

namespace adjit {

std::string kernel_symbol(size_t kernel) { return "adjit_kernel_" + std::to_string(kernel); }

EmittedKernel emit_listed(const KernelList& list, size_t k, const TargetFeatures& features,
                          const KernelNames& names) {
  const KernelList::Entry& entry = list.entries()[k];
  return emit_kernel(*entry.program, entry.kernel, *entry.layouts, features, names(k));
}

CodegenLevel level_of(const KernelList& list, size_t k, const EmittedKernel& kernel,
                      const TargetFeatures& features) {
  constexpr size_t kMany = 64;
  constexpr double kPoints = 4096;  // of all calls
  const KernelList::Entry& entry = list.entries()[k];
  const double points = points_of(*entry.program, entry.program->kernels[entry.kernel]) *
                        static_cast<double>(entry.calls);
  if (!kernel.register_tile && list.entries().size() > kMany && points <= kPoints)
    return CodegenLevel::Fast;
  return codegen_level(kernel.register_tile, features);
}

CompiledKernels compile_kernels(const KernelList& list, TargetMachines& machines,
                                const KernelNames& names) {
  const size_t count = list.entries().size();
  CompiledKernels compiled;
  compiled.kernels.resize(count);
  compiled.objects.resize(count);
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k = next++; k < count; k = next++) try {
        compiled.kernels[k] = emit_listed(list, k, machines.target().vector, names);
        llvm::Module& module = *compiled.kernels[k].module;
        set_target(module, machines);
        compiled.objects[k] = compile_module(
            module, machines, level_of(list, k, compiled.kernels[k], machines.target().vector));
        compiled.kernels[k].module.reset();
        compiled.kernels[k].context.reset();
      } catch (...) {
        failures[k] = std::current_exception();
      }
  };
  const size_t threads = std::min(count, static_cast<size_t>(ThreadPool::available_threads()));
  {
    std::vector<std::jthread> helpers;
    for (size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return compiled;
}

std::vector<std::shared_ptr<LoadedCode>> load_objects(CodeLoader& loader,
                                                      std::span<const std::vector<char>> objects,
                                                      const ExecutionPlan& plan) {
  if (objects.size() != plan.kernels.size())
    throw Error(ErrorCode::Cache, "an execution plan does not fit its objects");
  std::vector<std::shared_ptr<LoadedCode>> code;
  for (size_t k = 0; k < objects.size(); ++k) {
    const std::string symbols[] = {plan.kernels[k].symbol};
    code.push_back(loader.load(objects[k], symbols));
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

}  // namespace adjit
