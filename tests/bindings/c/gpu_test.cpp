// tests/bindings/c/gpu_test.cpp -- targets, arrays, streams and allocators of a GPU, by the fake
// driver.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/bindings/c/support.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit_test {
namespace {

// square() for the first of two GPUs.
class GpuApi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fake.runs_kernels()) GTEST_SKIP() << "the fake driver runs no kernels here";
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    fake.show_devices(2);
    e = compiled_for("cuda");
  }
  void TearDown() override {
    EXPECT_EQ(fake.faults(), "");
    for (void* block : blocks) fake.give_back(block);
    unsetenv("ADJIT_CUDA_LIBRARY");
  }

  Executable compiled_for(const char* target) {
    adjit_lower_options options{};
    options.struct_size = sizeof options;
    options.target = target;
    adjit_lowered* made = nullptr;
    EXPECT_EQ(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made), ADJIT_OK)
        << adjit_last_error_message();
    return compiled(Lowered(made));
  }
  // The array's numbers on a device.
  DLTensor on_device(const Floats& array, int32_t device = 0) {
    DLTensor tensor = array.tensor;
    const size_t bytes = array.data.size() * sizeof(float);
    tensor.data = blocks.emplace_back(fake.allocate(bytes));
    std::memcpy(tensor.data, array.data.data(), bytes);
    tensor.device = {kDLCUDA, device};
    return tensor;
  }

  adjit::tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Context c = context();
  Computation f = square();
  Executable e;
  std::vector<void*> blocks;
};

TEST_F(GpuApi, ArraysMayLieOnTheDeviceOrNot) {
  Floats in({3, 4}), out({3, 4}, 7);
  DLTensor there = on_device(in), result = on_device(out);
  for (const DLTensor* input : {&in.tensor, &there}) {
    const DLTensor* inputs[] = {input};
    for (DLTensor* output : {&out.tensor, &result}) {
      DLTensor* outputs[] = {output};
      ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
      EXPECT_EQ(static_cast<const float*>(output->data)[5], 30);
      std::memset(output->data, 0, sizeof(float) * 12);
    }
  }
  const void* in_address[] = {in.data.data()};
  void* out_address[] = {out.data.data()};
  ADJIT_OK_OR_FAIL(adjit_executable_run_raw(e.get(), in_address, out_address));
  EXPECT_EQ(out.data[5], 30);
}

TEST_F(GpuApi, ArraysOfOtherDevicesAreRefusedWithBothNames) {
  const Floats in({3, 4}), out({3, 4});
  DLTensor there = on_device(in, 1), result = on_device(out);
  const DLTensor* inputs[] = {&there};
  DLTensor* outputs[] = {&result};
  EXPECT_FAILURE(adjit_executable_run(e.get(), 1, inputs, 1, outputs), ADJIT_DEVICE,
                 "input 0: an array lies on cuda:1, but this executable runs on cuda:0");
  there.device = {kDLMetal, 0};
  EXPECT_FAILURE(adjit_executable_run(e.get(), 1, inputs, 1, outputs), ADJIT_DEVICE,
                 "runs on cuda:0");
  there.device = {kDLCUDA, 0};
  EXPECT_FAILURE(adjit_executable_run(compiled_for("cpu").get(), 1, inputs, 1, outputs),
                 ADJIT_DEVICE, "runs on the CPU");
}

TEST_F(GpuApi, ACallIsToldItsStreamAndWhereItsWorkspaceComesFrom) {
  const Floats in({3, 4}), out({3, 4});
  const DLTensor there = on_device(in);
  DLTensor result = on_device(out);
  const DLTensor* inputs[] = {&there};
  DLTensor* outputs[] = {&result};
  adjit_run_options options{};
  options.struct_size = sizeof options;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's name for the thread's own stream
  options.stream = reinterpret_cast<void*>(uintptr_t{2});
  const auto run = [&] {
    return adjit_executable_run_with(e.get(), 1, inputs, 1, outputs, &options);
  };
  ADJIT_OK_OR_FAIL(run());
  EXPECT_EQ(static_cast<const float*>(result.data)[5], 30);
  options.allocate = [](void*, size_t) -> void* { return nullptr; };
  EXPECT_FAILURE(run(), ADJIT_INVALID, "one is NULL");
  options.user = &fake;
  options.allocate = [](void* user, size_t bytes) {
    return static_cast<adjit::tests::FakeCuda*>(user)->allocate(bytes);
  };
  options.free = [](void* user, void* memory) {
    static_cast<adjit::tests::FakeCuda*>(user)->give_back(memory);
  };
  std::memset(result.data, 0, sizeof(float) * 12);
  ADJIT_OK_OR_FAIL(run());
  EXPECT_EQ(static_cast<const float*>(result.data)[5], 30);
  options.device = 1;
  EXPECT_FAILURE(run(), ADJIT_DEVICE, "device 1 is given");
  ADJIT_OK_OR_FAIL(adjit_executable_synchronize(e.get()));
}

TEST_F(GpuApi, ArraysThatAreNotAlignedAreServedToo) {
  const Floats in({3, 4}), out({3, 4});
  const DLTensor there = on_device(in);
  DLTensor result = on_device(out);
  const DLTensor* inputs[] = {&there};
  DLTensor* outputs[] = {&result};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
  const std::vector<float> expected(static_cast<const float*>(result.data),
                                    static_cast<const float*>(result.data) + 12);
  const auto shifted = [&](const DLTensor& array) {  // one element into a larger block
    DLTensor tensor = array;
    auto* const block = static_cast<float*>(blocks.emplace_back(fake.allocate(13 * sizeof(float))));
    std::memcpy(block + 1, array.data, 12 * sizeof(float));
    tensor.data = block;
    tensor.byte_offset = sizeof(float);
    return tensor;
  };
  const DLTensor odd_in = shifted(there);
  DLTensor odd_out = shifted(result);
  for (const DLTensor* input : {&there, &odd_in})
    for (DLTensor* output : {&result, &odd_out}) {
      inputs[0] = input;
      outputs[0] = output;
      auto* const made =
          reinterpret_cast<float*>(static_cast<char*>(output->data) + output->byte_offset);
      std::fill(made, made + 12, 0.0F);
      ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
      EXPECT_EQ(std::vector<float>(made, made + 12), expected);
    }
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_profile(e.get(), 1, inputs, 1, outputs, 1, &text));
  EXPECT_NE(std::string(text).find("\"calls\":1"), std::string::npos) << text;
  ADJIT_OK_OR_FAIL(adjit_executable_synchronize(e.get()));
}

TEST_F(GpuApi, KnowsTheDeviceOfMemory) {
  int32_t device = -1;
  void* const block = blocks.emplace_back(fake.allocate(16, 1));
  ADJIT_OK_OR_FAIL(adjit_gpu_of(block, &device));
  EXPECT_EQ(device, 1);
  EXPECT_FAILURE(adjit_gpu_of(&device, &device), ADJIT_DEVICE, "has given out no memory");
}

TEST_F(GpuApi, HasPtxAndPredictions) {
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_ptx(e.get(), &text));
  EXPECT_NE(std::string(text).find(".entry adjit_kernel_0"), std::string::npos);
  adjit_lower_options options{};
  options.struct_size = sizeof options;
  options.target = "cuda:1";
  adjit_lowered* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made));
  const Lowered l(made);
  ADJIT_OK_OR_FAIL(adjit_lowered_explain(l.get(), &text));
  EXPECT_NE(std::string(text).find("launch"), std::string::npos) << text;
  ADJIT_OK_OR_FAIL(adjit_lowered_cost(l.get(), &text));
  EXPECT_NE(std::string(text).find("\"launch\""), std::string::npos) << text;
  adjit_lowered* functions[] = {l.get()};
  const char* names[] = {"f"};
  const auto folder =
      std::filesystem::temp_directory_path() / ("adjit-gpu-export-" + std::to_string(getpid()));
  ADJIT_OK_OR_FAIL(adjit_lowered_export("f", 1, functions, names, folder.c_str()));
  EXPECT_TRUE(std::filesystem::exists(folder / "libf.so"));
  std::filesystem::remove_all(folder);
  options.target = "cuda:7";
  EXPECT_FAILURE(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made),
                 ADJIT_DEVICE, "cuda:7");
}

}  // namespace
}  // namespace adjit_test
