// tests/jit/engine/export/gpu_source_test.cpp -- exported functions for a GPU, which the fake
// driver runs, against the interpreter; what they load, when they fail, what they say.
#include "jit/engine/export/gpu_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "jit/cuda/driver.hpp"
#include "jit/cuda/driver_numbers.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/joins.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/engine/export/exported_library.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kTwice = "def f(float(300) x) -> (y) { y(i) = x(i) * 2.0 }";
constexpr const char* kTake = "def f(float(5) x, int64(3) i) -> (y) { y(k) = x(i(k)) }";
// With a workspace.
constexpr const char* kSums =
    "def f(float(9, 12) x) -> (y) {\n s(i) +=! exp(x(i, j))\n t(j) +=! x(i, j) * s(i)\n"
    " y(i, j) = s(i) * t(j)\n}";
constexpr const char* kLoop =
    "def f(int64 k0, float(8, 4) h0, float(4, 4) W) -> (k, h, go) {\n"
    "  go0() = k0() > 0\n"
    "  scan (k, h, go) = step[while](carry int64 n = k0, carry float(8, 4) s = h0, "
    "carry bool g = go0, fixed float(4, 4) w = W) -> (m, t, more) {\n"
    "    m() = n() - 1\n    p(i, j) +=! s(i, r) * w(j, r)\n"
    "    t(i, j) = tanh(p(i, j) * 0.1)\n    more() = m() > 0\n  }\n}";

class GpuSource : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fake.runs_kernels()) GTEST_SKIP() << "the fake driver runs no kernels here";
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    fake.show_devices(2);
    driver.init(0);
    for (int device = 0; device < 2; ++device) driver.retain_primary(&contexts[device], device);
  }
  void TearDown() override {
    for (void* block : blocks_) fake.give_back(block);
    fake.set_current_context(nullptr);
    EXPECT_EQ(fake.faults(), "");
  }

  static ExportedFunction function_of(const Graph& graph, const std::string& name = "f") {
    Engine engine(memory_only(1));
    Request request = request_of(graph);
    request.target = "cuda";
    return exported(engine.compiler(), request, name);
  }
  static ExportedFunction function_of(const char* text) { return function_of(parse_graph(text)); }

  void enter(int device = 0) { fake.set_current_context(contexts[device]); }

  void* on_gpu(const void* bytes, size_t size) {
    void* const block = blocks_.emplace_back(fake.allocate(std::max<size_t>(size, 1)));
    if (bytes != nullptr) std::memcpy(block, bytes, size);
    return block;
  }
  void* on_gpu(const Array& array) { return on_gpu(array.bytes.data(), array.bytes.size()); }

  // Runs a function on what the graph takes; "": it gives what the interpreter gives.
  std::string difference(const ExportedLibrary& library, const ExportedFunction& f,
                         const Graph& graph, const std::vector<Array>& inputs) {
    std::vector<Array> outputs;
    std::vector<void*> arguments;
    for (const Array& input : inputs) arguments.push_back(on_gpu(input));
    for (const ArraySpec& spec : f.plan.outputs) {
      outputs.push_back(Array::zeros(spec.dtype, spec.shape));
      arguments.push_back(on_gpu(nullptr, outputs.back().bytes.size()));
    }
    arguments.push_back(nullptr);  // the default stream
    const int status = library.call(f.name, arguments);
    if (status != 0) return library.message(f.name, status);
    for (size_t k = 0; k < outputs.size(); ++k)
      std::memcpy(outputs[k].bytes.data(), arguments[inputs.size() + k], outputs[k].bytes.size());
    return first_difference(graph, inputs, outputs);
  }
  void compare(const std::vector<Graph>& graphs) {
    std::vector<ExportedFunction> functions;
    for (size_t k = 0; k < graphs.size(); ++k)
      functions.push_back(function_of(graphs[k], "f" + std::to_string(k)));
    const ExportedLibrary library(functions);
    enter();
    const int before = fake.live() - static_cast<int>(blocks_.size());
    for (size_t k = 0; k < graphs.size(); ++k) {
      EXPECT_EQ(difference(library, functions[k], graphs[k], small_inputs(graphs[k], k)), "")
          << print(graphs[k]);
      library.found<void()>(functions[k].name + "_unload")();
    }
    EXPECT_EQ(fake.live() - static_cast<int>(blocks_.size()), before) << "all is given back";
  }

  // y = 2 x on the GPU, whose code is these images.
  struct Twice {
    std::unique_ptr<ExportedLibrary> library;
    std::vector<void*> arguments;  // x, y, the default stream

    int run() const { return library->call("f", arguments); }
    std::string message(int status) const { return library->message("f", status); }
  };
  Twice twice(const ExportedFunction& f) {
    const std::vector<float> x(300, 4), y(300, 0);
    return {std::make_unique<ExportedLibrary>(std::span(&f, 1)),
            {on_gpu(x.data(), 1200), on_gpu(y.data(), 1200), nullptr}};
  }
  static float first(const Twice& f) { return *static_cast<const float*>(f.arguments[1]); }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = cuda::load_driver(ADJIT_FAKE_CUDA);
  ContextHandle contexts[2] = {};

 private:
  std::vector<void*> blocks_;
};

TEST_F(GpuSource, RandomGraphsGiveWhatTheInterpreterGives) {
  std::vector<Graph> graphs;
  for (uint64_t seed = 1; seed <= 12; ++seed)
    graphs.push_back(random_graph(seed, {.max_extent = seed % 2 ? 6 : 12,
                                         .scatters = seed % 3 == 0,
                                         .custom_combiners = seed % 5 == 0,
                                         .zero_extents = seed % 7 == 0}));
  compare(graphs);
}

TEST_F(GpuSource, ScansAndJoinsGiveWhatTheInterpreterGives) {
  compare({parse_graph(kScanInAScan), parse_graph(kLoop), parse_graph(kSums),
           parse_graph(join_text({3, 1, 4}, 0, 6)), parse_graph(R"(
def f(float(5) x, float c0) -> (c, ys) {
  scan (c, ys) = step[5, reverse](carry float s = c0, over float v = x) -> (t, u) {
    u() = s() - v()
    t() = u() * 0.5
  }
})")});
}

TEST_F(GpuSource, FunctionsForBothMachinesMayBeOfOneLibrary) {
  const Graph graph = parse_graph(kTwice);
  Engine engine(memory_only(1));
  const std::vector<ExportedFunction> functions{
      exported(engine.compiler(), request_of(graph), "here"), function_of(graph, "there")};
  const ExportedLibrary library(functions);
  enter();
  EXPECT_EQ(difference(library, functions[1], graph, small_inputs(graph, 1)), "");
  std::vector<float> x(300, 4), y(300, 0);
  EXPECT_EQ(library.call("here", {x.data(), y.data()}), 0);
  EXPECT_EQ(y[299], 8);
}

TEST_F(GpuSource, CodeIsLoadedOnceInEachContext) {
  const Twice f = twice(function_of(kTwice));
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      enter();
      for (int n = 0; n < 3; ++n) EXPECT_EQ(f.run(), 0);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first(f), 8);
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx"), 1);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 12);
  enter(1);
  EXPECT_EQ(f.run(), 0);
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx"), 2);
  enter();
  const auto unload = f.library->found<void()>("f_unload");
  unload();
  unload();  // nothing is there any more
  EXPECT_EQ(fake.calls("cuModuleUnload"), 1) << "of the current context";
  EXPECT_EQ(f.run(), 0);
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx"), 3);
}

TEST_F(GpuSource, AnImageForAnotherGpuIsPassedOver) {
  ExportedFunction function = function_of(kTwice);
  function.images.insert(function.images.begin(), "no image");
  const Twice f = twice(function);
  enter();
  EXPECT_EQ(f.run(), 0);
  EXPECT_EQ(first(f), 8);
  EXPECT_EQ(fake.calls("cuModuleLoadDataEx"), 2);
  enter(1);
  fake.fail("cuModuleLoadDataEx", cuda::result::kNoBinary);
  EXPECT_EQ(f.run(), 0);
}

TEST_F(GpuSource, WhatTheDriverRefusesIsAStatusAndNothingIsKept) {
  const ExportedFunction f = function_of(kSums);
  const ExportedLibrary library(std::span(&f, 1));
  std::vector<float> x(108, 1), y(108, 0);
  const std::vector<void*> arguments{on_gpu(x.data(), 432), on_gpu(y.data(), 432), nullptr};
  enter();
  const int before = fake.live();
  for (const char* symbol : {"cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode",
                             "cuModuleLoadDataEx", "cuModuleGetFunction", "cuStreamIsCapturing",
                             "cuMemAllocAsync", "cuLaunchKernel", "cuMemFreeAsync"}) {
    fake.fail(symbol, 700);
    const int status = library.call("f", arguments);
    EXPECT_EQ(status, -700) << symbol;
    EXPECT_EQ(library.message("f", status), "an illegal memory access was encountered");
    if (std::string(symbol) == "cuMemFreeAsync") break;  // that one is the context's end
    library.found<void()>("f_unload")();
    EXPECT_EQ(fake.live(), before) << symbol;
  }
  fake.fail("cuMemAllocAsync", cuda::result::kOutOfMemory);
  EXPECT_EQ(library.call("f", arguments), 1);
  EXPECT_EQ(library.message("f", 1), "out of memory");
  fake.set_current_context(nullptr);
  EXPECT_NE(library.message("f", library.call("f", arguments)).find("no CUDA context is current"),
            std::string::npos);
  EXPECT_EQ(library.message("f", 99), "unknown status");
}

TEST_F(GpuSource, AddressesThatCodeIsNotMadeForAreAStatus) {
  Twice f = twice(function_of(kTwice));
  enter();
  const std::vector<void*> right = f.arguments;
  f.arguments[0] = static_cast<float*>(right[0]) + 1;
  EXPECT_EQ(f.message(f.run()), "in0 lies at an address that 16 bytes do not divide");
  f.arguments = right;
  f.arguments[1] = static_cast<float*>(right[1]) + 2;
  EXPECT_EQ(f.message(f.run()), "out0 lies at an address that 16 bytes do not divide");
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
}

TEST_F(GpuSource, IndicesOutOfRangeAreAStatusOfACallThatWaits) {
  const ExportedFunction f = function_of(kTake);
  const ExportedLibrary library(std::span(&f, 1));
  const std::vector<float> x{1, 2, 3, 4, 5}, y(3, 0);
  std::vector<int64_t> i{4, 0, 2};
  std::vector<void*> arguments{on_gpu(x.data(), 20), on_gpu(i.data(), 24), on_gpu(y.data(), 12),
                               nullptr};
  enter();
  EXPECT_EQ(library.call("f", arguments), 0);
  EXPECT_EQ(*static_cast<const float*>(arguments[2]), 5);
  EXPECT_GE(fake.calls("cuStreamSynchronize"), 1);
  static_cast<int64_t*>(arguments[1])[2] = 5;
  const int status = library.call("f", arguments);
  EXPECT_EQ(status, 2);
  EXPECT_NE(library.message("f", status).find("index out of range in"), std::string::npos);
  // A call that is captured cannot wait.
  StreamHandle stream = nullptr;
  driver.create_stream(&stream, 1);
  fake.capture(stream, true);
  arguments[3] = stream;
  EXPECT_EQ(library.call("f", arguments), 0);
  fake.capture(stream, false);
}

TEST_F(GpuSource, LoopsByDataCannotBeCaptured) {
  const ExportedFunction f = function_of(kLoop);
  const ExportedLibrary library(std::span(&f, 1));
  StreamHandle stream = nullptr;
  enter();
  driver.create_stream(&stream, 1);
  fake.capture(stream, true);
  const std::vector<float> h(32, 0), w(16, 0);
  const int64_t k = 3;
  EXPECT_EQ(
      library.call("f", {on_gpu(&k, 8), on_gpu(h.data(), 128), on_gpu(w.data(), 64),
                         on_gpu(nullptr, 8), on_gpu(nullptr, 128), on_gpu(nullptr, 1), stream}),
      -cuda::result::kNotWhileCapturing);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
  fake.capture(stream, false);
}

TEST_F(GpuSource, ADriverThatIsNotThereIsNamed) {
  const Twice f = twice(function_of(kTwice));
  setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  EXPECT_NE(f.message(f.run()).find("/nowhere/libcuda.so.1"), std::string::npos)
      << f.message(f.run());
  const Twice other = twice(function_of(kTwice));
  setenv("ADJIT_CUDA_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(other.message(other.run()), "the CUDA driver 'libm.so.6' lacks cuGetErrorString");
  setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
}

TEST_F(GpuSource, TheHeaderSaysWhatCallersOwe) {
  const std::vector<ExportedFunction> functions{function_of(parse_graph(kTake), "take"),
                                                function_of(parse_graph(kLoop), "loop")};
  const std::string header = export_header("l", functions);
  EXPECT_NE(
      header.find("int take(const float* in0, const int64_t* in1, float* out0, void* stream);\n"
                  "const char* take_message(int status);\nvoid take_unload(void);\n"),
      std::string::npos)
      << header;
  EXPECT_NE(header.find("16 bytes divide the addresses of arrays"), std::string::npos) << header;
  EXPECT_NE(header.find("waits until it is done"), std::string::npos) << header;
  EXPECT_NE(header.find("waits for each step of a loop, and cannot be captured"), std::string::npos)
      << header;
}

TEST_F(GpuSource, IsTheSameEveryTime) {
  const ExportedFunction a = function_of(kSums), b = function_of(kSums);
  EXPECT_EQ(gpu_function_text(a), gpu_function_text(b));
}

// The declarations of the driver's functions are those that adjit itself calls by.
TEST_F(GpuSource, DeclaresTheFunctionsThatItCalls) {
  const std::string text = gpu_support_text();
  EXPECT_NE(text.find("  Result (*free_async)(DevicePointer memory, StreamHandle stream);\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("{\"cuMemFreeAsync\", offsetof(struct adjit_driver, free_async)}"),
            std::string::npos);
  EXPECT_EQ(text.find("cuGraphLaunch"), std::string::npos);
}

TEST_F(GpuSource, ItsCCompilesWithoutWarnings) {
  const ExportedFunction f = function_of(kLoop);
  const ExportedLibrary library(std::span(&f, 1));
  const std::string flags = " -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only ";
  EXPECT_EQ(std::system(("cc" + flags + (library.folder() / "made.c").string()).c_str()), 0);
}

}  // namespace
}  // namespace adjit::testing
