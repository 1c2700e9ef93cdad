// tests/jit/engine/run/on_fake_gpu.hpp -- plans whose kernels are a test's, on the fake driver.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/cuda/gpu.hpp"
#include "jit/cuda/result.hpp"
#include "jit/cuda/stream.hpp"
#include "jit/engine/run/cuda_executable.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/cuda/kernels.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

inline constexpr int64_t kFloats = 200;  // of an array
inline constexpr int64_t kFloatsBytes = kFloats * static_cast<int64_t>(sizeof(float));

/// A fake GPU, and executables of floats on it.
class OnFakeGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda::require(driver, driver.init(0), "cuInit");
    if (!driver.takes_bitcode) GTEST_SKIP() << "the fake driver runs no kernels here";
    gpu = std::make_shared<Gpu>(driver, cuda::device_named(driver, "cuda"));
    gpu->context.handle();
    before = fake.live();
  }
  void TearDown() override {
    if (gpu == nullptr || lost) return;
    EXPECT_EQ(fake.faults(), "");
    gpu.reset();
    EXPECT_EQ(fake.live(), before) << "all is given back";
  }

  /// Inputs x and z, output y, each of kFloats.
  static ExecutionPlan arrays(int inputs, int outputs) {
    ExecutionPlan plan;
    const ArraySpec spec{DType::Float32, {kFloats}, {1}};
    plan.inputs.assign(static_cast<size_t>(inputs), spec);
    plan.outputs.assign(static_cast<size_t>(outputs), spec);
    for (int k = 0; k < inputs; ++k) plan.buffers.push_back({Buffer::Kind::Input, k});
    for (int k = 0; k < outputs; ++k) plan.buffers.push_back({Buffer::Kind::Output, k});
    return plan;
  }
  static void add_kernel(ExecutionPlan& plan, std::string symbol, std::vector<size_t> tensors,
                         std::vector<StepPlan>* steps = nullptr) {
    plan.kernels.push_back({.symbol = std::move(symbol),
                            .tensors = std::move(tensors),
                            .tasks = kFloats,
                            .parallel = true});
    (steps ? *steps : plan.steps).push_back({false, plan.kernels.size() - 1, {}});
  }
  std::unique_ptr<CudaExecutable> loaded(ExecutionPlan plan, const std::string& kernels) {
    return std::make_unique<CudaExecutable>(
        load_cuda_plan(std::move(plan), gpu, cuda::image_of(kernels)), CompileReport());
  }
  /// y = x + 2 z by two kernels with a workspace between them.
  std::unique_ptr<CudaExecutable> sum_of_three() {
    ExecutionPlan plan = arrays(2, 1);
    plan.buffers.push_back({Buffer::Kind::Workspace, 64});
    plan.workspace_bytes = 64 + kFloatsBytes;
    add_kernel(plan, "add", {0, 1, 3});
    add_kernel(plan, "add", {3, 1, 2});
    return loaded(std::move(plan), pointwise_of("add", "fadd float %a, %b"));
  }
  static std::string pointwise_of(const std::string& name, const std::string& value) {
    return cuda::pointwise(name, static_cast<int>(kFloats), "  %c = " + value);
  }

  /// A kernel that adds two arrays up to a third one, whose addresses it takes from a table.
  static std::string sum_by_table(const std::string& name) {
    return "\ndefine ptx_kernel void @" + name + R"((ptr addrspace(1) %table) {
  %k = call i64 @task(i64 200)
  %none = icmp slt i64 %k, 0
  br i1 %none, label %end, label %work
work:
  %tz = getelementptr i64, ptr addrspace(1) %table, i64 1
  %ty = getelementptr i64, ptr addrspace(1) %table, i64 2
  %x = load ptr addrspace(1), ptr addrspace(1) %table
  %z = load ptr addrspace(1), ptr addrspace(1) %tz
  %y = load ptr addrspace(1), ptr addrspace(1) %ty
  %px = getelementptr float, ptr addrspace(1) %x, i64 %k
  %pz = getelementptr float, ptr addrspace(1) %z, i64 %k
  %py = getelementptr float, ptr addrspace(1) %y, i64 %k
  %a = load float, ptr addrspace(1) %px
  %b = load float, ptr addrspace(1) %pz
  %c = fadd float %a, %b
  store float %c, ptr addrspace(1) %py
  br label %end
end:
  ret void
})";
  }

  /// An array of the device with these numbers.
  class OnDevice {
   public:
    OnDevice(Gpu& of, const std::vector<float>& numbers)
        : gpu_(of), block_(of.memory.allocate(bytes(numbers))), size_(numbers.size()) {
      const CurrentContext current(gpu_.context);
      copy_to_device(current, block_.address(), numbers.data(), bytes(numbers), nullptr);
    }
    void* address() const { return pointer_to(block_.address()); }
    std::vector<float> read() const {
      const CurrentContext current(gpu_.context);
      std::vector<float> numbers(size_);
      copy_to_host(current, numbers.data(), block_.address(), bytes(numbers), nullptr);
      return numbers;
    }

   private:
    static int64_t bytes(const std::vector<float>& numbers) {
      return static_cast<int64_t>(numbers.size() * sizeof(float));
    }
    Gpu& gpu_;
    DeviceMemory block_;
    size_t size_;
  };

  static std::vector<float> numbers(float first, float step = 1) {
    std::vector<float> made(kFloats);
    for (size_t k = 0; k < made.size(); ++k) made[k] = first + step * static_cast<float>(k);
    return made;
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = cuda::load_driver(ADJIT_FAKE_CUDA);
  std::shared_ptr<Gpu> gpu;
  int before = 0;
  bool lost = false;  // the context, with all that is in it, by a fault that is expected
};

}  // namespace adjit::testing
