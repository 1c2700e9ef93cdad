// tests/jit/engine/cuda_engine_test.cpp -- graphs through the whole engine with the target "cuda",
// which the fake driver runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/cuda/driver.hpp"
#include "jit/cuda/driver_numbers.hpp"
#include "jit/engine/engine.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/process/scratch_folder.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

class CudaEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fake.runs_kernels()) GTEST_SKIP() << "the fake driver runs no kernels here";
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    cuda::driver().init(0);  // the reset forgot it
  }

  static Request for_gpu(Graph graph) {
    Request request = request_of(std::move(graph));
    request.target = "cuda";
    return request;
  }
  void expect_right(const Graph& graph) {
    Engine engine(memory_only(1));
    const std::vector<Array> inputs = small_inputs(graph, 1);
    EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, for_gpu(graph), inputs)), "");
    EXPECT_EQ(fake.faults(), "");
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
};

TEST_F(CudaEngine, RunsComputations) {
  for (const Graph& graph :
       {matmul_graph(5, 7, 6), softmax_graph(9, 12), conv_graph(1, 2, 5, 5, 3, 1, true),
        total_graph(9, 11), column_sum_graph(13, 5)})
    expect_right(graph);
}

TEST_F(CudaEngine, RunsScansWithinScans) { expect_right(parse_graph(kScanInAScan)); }

TEST_F(CudaEngine, LaunchesScansAsOneGraph) {
  expect_right(
      parse_graph("def f(double(3) h0, double(6, 3) x, double(3, 3) w) -> (h, ys) {\n"
                  "  scan (h, ys) = step[6](carry double(3) h = h0, over double(3) r = x, "
                  "fixed double(3, 3) v = w) -> (n, n) {\n"
                  "    p(i) +=! h(j) * v(j, i)\n"
                  "    n(i) = tanh(p(i) + r(i))\n"
                  "  }\n"
                  "}"));
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 1);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
}

TEST_F(CudaEngine, FindsAnIndexOutOfRange) {
  Engine engine(memory_only(1));
  const Graph graph =
      parse_graph("def main(float(5) x, int64(3) i) -> (y) { y(k) = x(i(k)) where k in 0:3 }");
  const Array x = Array::of(DType::Float32, {5}, std::vector<double>{1, 2, 3, 4, 5});
  const Array good = Array::of(DType::Int64, {3}, std::vector<double>{4, 0, 2}),
              bad = Array::of(DType::Int64, {3}, std::vector<double>{4, 9, 2});
  const std::vector<Array> made = run_compiled(engine, for_gpu(graph), {x, good});
  EXPECT_EQ(made[0].at(0), 5);
  try {
    run_compiled(engine, for_gpu(graph), {x, bad});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds);
    EXPECT_NE(std::string(error.what()).find('9'), std::string::npos) << error.what();
  }
  EXPECT_EQ(fake.faults(), "");
}

TEST_F(CudaEngine, KeepsItsCodeApartFromTheProcessors) {
  Engine engine(memory_only(1));
  const Graph graph = matmul_graph(3, 4, 5);
  const Request gpu = for_gpu(graph), cpu = request_of(graph);
  EXPECT_NE(engine.key(gpu), engine.key(cpu));
  EXPECT_EQ(engine.compile(gpu).executable->device(), 0);
  EXPECT_EQ(engine.compile(cpu).executable->device(), -1);
  EXPECT_TRUE(engine.compile(gpu).from_memory);
}

TEST_F(CudaEngine, DevicesOfOneModelShareAKeyNotAnExecutable) {
  fake.show_devices(2);
  Engine engine(memory_only(1));
  Request one = for_gpu(matmul_graph(3, 4, 5)), two = one;
  two.target = "cuda:1";
  EXPECT_EQ(engine.key(one), engine.key(two));
  EXPECT_EQ(engine.compile(one).executable->device(), 0);
  EXPECT_EQ(engine.compile(two).executable->device(), 1);
  engine.keep_schedule(one, "[]");
  for (const Request& request : {one, two})
    EXPECT_TRUE(engine.compile(request).executable->report().kept_schedule) << request.target;
}

TEST_F(CudaEngine, EntriesOutliveAMachineThatCannotLoadThem) {
  const process::ScratchFolder folder(::testing::TempDir(), "adjit-gpu-cache");
  EngineOptions options;
  options.store.directory = folder / "cache";
  const Request request = for_gpu(matmul_graph(3, 4, 5));
  {
    Engine engine(options);
    EXPECT_EQ(engine.compile(request).executable->report().cache, "miss");
  }
  Engine engine(options);
  fake.fail("cuModuleLoadDataEx", cuda::result::kOutOfMemory);
  try {
    engine.compile(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Memory);
  }
  EXPECT_EQ(engine.compile(request).executable->report().cache, "disk");
}

TEST_F(CudaEngine, RunsRandomGraphs) {
  for (uint64_t seed = 1; seed <= 12; ++seed) expect_right(random_graph(seed));
}

}  // namespace
}  // namespace adjit::testing
