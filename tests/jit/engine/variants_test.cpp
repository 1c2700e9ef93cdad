// tests/jit/engine/variants_test.cpp -- calls on a GPU with arrays at any addresses, which the fake
// driver runs: no access is at an address that its size does not divide.
#include "jit/engine/variants.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "jit/cuda/driver.hpp"
#include "jit/engine/engine.hpp"
#include "jit/engine/inspect.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/emit/strided.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::testing {
namespace {

/// Elements of each argument's own size that it lies behind a block's beginning: of the inputs,
/// then of the outputs.
using Shifts = std::vector<int64_t>;

class GpuVariants : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fake.runs_kernels()) GTEST_SKIP() << "the fake driver runs no kernels here";
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    cuda::driver().init(0);          // the reset forgot it
    fake.have_multiprocessors(1);    // vectors in programs of 4096 elements
    engine.emplace(memory_only(1));  // which asks for them when it meets the GPU
  }
  void TearDown() override {
    EXPECT_NE(fake.faults().find(expected_fault), std::string::npos) << fake.faults();
    EXPECT_EQ(fake.faults().empty(), expected_fault.empty()) << fake.faults();
  }

  static Request for_gpu(Graph graph) {
    Request request = request_of(std::move(graph));
    request.target = "cuda";
    return request;
  }
  static Request for_gpu(const std::string& text) { return for_gpu(parse_graph(text)); }

  /// The variants of what a request is compiled to.
  struct Served {
    std::shared_ptr<Executable> usual;
    std::unique_ptr<Variants> variants;
    std::vector<Request> compiled;  // of variants
  };
  std::unique_ptr<Served> served(Request request) {
    auto made = std::make_unique<Served>();
    made->usual = engine->compile(request).executable;
    request.schedule_json = made->usual->report().schedule;
    made->variants = std::make_unique<Variants>(
        request, made->usual, [this, to = made.get()](const Request& r, const CancelHook&) {
          to->compiled.push_back(r);
          return engine->compile(r).executable;
        });
    return made;
  }

  /// Blocks of the device for a call's arrays, with room around them.
  class Placed {
   public:
    Placed(tests::FakeCuda& fake, const ArraySpec& spec, int64_t shift) : fake_(fake), spec_(spec) {
      const Extent extent = extent_of(info(), layout());
      block_ = static_cast<std::byte*>(fake.allocate(static_cast<size_t>(extent.bytes + 1024)));
      const int64_t first = (extent.before + 255) / 256 * 256;
      first_ = block_ + first + shift * static_cast<int64_t>(size_of(spec.dtype));
    }
    ~Placed() { fake_.give_back(block_); }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
    std::byte* first() const { return first_; }
    void put(const Array& array) { testing::put(array, layout(), first_); }
    Array taken() const { return testing::taken(info(), layout(), first_); }

   private:
    TensorInfo info() const {
      TensorInfo made;
      made.dtype = spec_.dtype;
      made.shape = spec_.shape;
      return made;
    }
    TensorLayout layout() const { return {spec_.strides}; }

    tests::FakeCuda& fake_;
    const ArraySpec spec_;
    std::byte *block_ = nullptr, *first_ = nullptr;
  };

  /// The outputs of a call with arrays on the device.
  std::vector<Array> run(Served& served, const std::vector<Array>& inputs, const Shifts& shifts,
                         Executable* forced = nullptr) {
    const ExecutionPlan& plan = served.usual->plan();
    std::vector<std::unique_ptr<Placed>> placed;
    const auto place = [&](const ArraySpec& spec) {
      const size_t k = placed.size();
      placed.push_back(std::make_unique<Placed>(fake, spec, k < shifts.size() ? shifts[k] : 0));
      return placed.back()->first();
    };
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const ArraySpec& spec : plan.inputs) in.push_back(place(spec));
    for (const ArraySpec& spec : plan.outputs) out.push_back(place(spec));
    for (size_t k = 0; k < inputs.size(); ++k) placed[k]->put(inputs[k]);
    static constexpr std::array on_device{true, true, true, true, true, true};
    const std::span<const bool> all = std::span(on_device).first(placed.size());
    Executable& executable =
        forced ? *forced : served.variants->fitting(in.data(), out.data(), all);
    executable.run(in.data(), out.data(), {.on_device = all});
    executable.synchronize();
    std::vector<Array> outputs;
    for (size_t k = in.size(); k < placed.size(); ++k) outputs.push_back(placed[k]->taken());
    return outputs;
  }

  /// With each of the arrays shifted alone, and all of them: right, and the same bits.
  void expect_right_anywhere(const Request& request) {
    const Graph& graph = request.computation->graph();
    const std::vector<Array> inputs = small_inputs(graph, 3);
    const auto one = served(request);
    const std::vector<Array> usual = run(*one, inputs, {});
    EXPECT_EQ(first_difference(graph, inputs, usual), "");
    const size_t count = inputs.size() + usual.size();
    for (size_t k = 0; k <= count; ++k) {
      Shifts shifts(count, k == count ? 1 : 0);
      if (k < count) shifts[k] = 1;
      const std::vector<Array> shifted = run(*one, inputs, shifts);
      for (size_t o = 0; o < usual.size(); ++o)
        EXPECT_EQ(shifted[o].bytes, usual[o].bytes) << "argument " << k << ", output " << o;
      ASSERT_EQ(fake.faults(), "") << "argument " << k;
    }
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  std::optional<Engine> engine;
  std::string expected_fault;
};

std::string muladd(const std::string& dtype, int64_t rows, int64_t columns) {
  const std::string of = dtype + "(" + std::to_string(rows) + ", " + std::to_string(columns) + ") ";
  return "def f(" + of + "x, " + of + "z) -> (y) { y(i, j) = x(i, j) * x(i, j) + z(i, j) }";
}

constexpr const char* kTanhAdjoint =
    "def f(float(1024, 2048) x, float(1024, 2048) g) -> (d) {\n"
    " t(i, j) = tanh(x(i, j))\n d(i, j) = g(i, j) * (1.0 - t(i, j) * t(i, j))\n}";

int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST_F(GpuVariants, VectorsAreLoadedAndStoredWholeWhereTheArgumentsAreAligned) {
  for (const std::string& text : {muladd("float", 1024, 2048), std::string(kTanhAdjoint)}) {
    Request request = for_gpu(text);
    const auto ptx = [&] { return assembly_text(engine->compiler(), request); };
    EXPECT_EQ(occurrences(ptx(), "ld.global.nc.v4.f32"), 2) << ptx();
    EXPECT_EQ(occurrences(ptx(), "st.global.v4.f32"), 1) << ptx();
    request.unaligned = {0, 1, 2};
    EXPECT_EQ(occurrences(ptx(), ".global.v"), 0) << ptx();
    request.unaligned = {1};
    EXPECT_EQ(occurrences(ptx(), "ld.global.nc.v4.f32"), 1) << ptx();
    EXPECT_EQ(occurrences(ptx(), "st.global.v4.f32"), 1) << ptx();
  }
}

TEST_F(GpuVariants, AreMadeOnceForEachClassAndServeWhatFitsThem) {
  const Request request = for_gpu(muladd("float", 64, 64));
  const std::vector<Array> inputs = small_inputs(request.computation->graph(), 1);
  const auto one = served(request);
  const auto compiled = [&](const Shifts& shifts) {
    run(*one, inputs, shifts);
    return one->compiled.size();
  };
  EXPECT_EQ(compiled({0, 0, 0}), 0u);
  EXPECT_EQ(compiled({4, 8, 256}), 0u) << "16 bytes divide these, too";
  EXPECT_EQ(compiled({1, 0, 0}), 1u);
  EXPECT_EQ(one->compiled.back().unaligned, (std::vector<size_t>{0}));
  EXPECT_EQ(one->compiled.back().schedule_json, one->usual->report().schedule);
  EXPECT_EQ(compiled({3, 0, 4}), 1u);
  EXPECT_EQ(compiled({0, 0, 0}), 1u);
  EXPECT_EQ(compiled({0, 1, 0}), 2u);
  EXPECT_EQ(compiled({0, 0, 2}), 3u);
  EXPECT_EQ(compiled({1, 1, 0}), 4u);
  EXPECT_EQ(compiled({0, 1, 1}), 5u);
  EXPECT_EQ(one->compiled.back().unaligned, (std::vector<size_t>{0, 1, 2})) << "fits any";
  EXPECT_EQ(compiled({1, 0, 1}), 5u);
  EXPECT_EQ(compiled({1, 0, 0}), 5u);
}

TEST_F(GpuVariants, HostsArraysAndProcessorsNeedNone) {
  const auto one = served(for_gpu(muladd("float", 64, 64)));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses that nobody reads
  const void* odd = reinterpret_cast<const void*>(uintptr_t{4});
  const void* in[] = {odd, odd};
  void* out[] = {const_cast<void*>(odd)};
  constexpr std::array host{false, false, false};
  EXPECT_EQ(&one->variants->fitting(in, out, {}), one->usual.get());
  EXPECT_EQ(&one->variants->fitting(in, out, host), one->usual.get());
  Request request = request_of(parse_graph(muladd("float", 64, 64)));
  const auto on_cpu = served(request);
  EXPECT_EQ(&on_cpu->variants->fitting(in, out, {}), on_cpu->usual.get());
  on_cpu->variants->synchronize();
}

TEST_F(GpuVariants, ElementsOfAnySizeMayLieAnywhere) {
  expect_right_anywhere(for_gpu(muladd("float", 64, 64)));
  expect_right_anywhere(for_gpu(muladd("float16", 64, 128)));
  expect_right_anywhere(for_gpu(muladd("double", 64, 64)));
  expect_right_anywhere(for_gpu(muladd("int8", 64, 128)));
}

TEST_F(GpuVariants, RowsMayBeApartByAnyNumberOfElements) {
  for (const int64_t stride : {65, 66, 68, -64, -67}) {
    Request request = for_gpu(muladd("float", 64, 64));
    request.layouts[0].strides = {stride, 1};
    expect_right_anywhere(request);
  }
  Request request = for_gpu(muladd("float", 64, 64));
  request.layouts[0].strides = {64, -1};
  request.layouts[1].strides = {1, 64};
  expect_right_anywhere(request);
}

// Windows, neighbours, reductions, a scatter, and a result in place of what it has the elements of.
TEST_F(GpuVariants, NeighboursAndRowsAndScattersMayLieAnywhere) {
  expect_right_anywhere(
      for_gpu("def f(float(66, 68) x) -> (y, s) {\n"
              " y(i, j) = x(i, j) + x(i + 1, j + 1) * x(i + 2, j + 4) where i in 0:64, j in 0:64\n"
              " s(i) +=! y(i, j)\n}"));
  expect_right_anywhere(
      for_gpu("def f(float(9, 512) x, int64(9) at) -> (h) {\n"
              " z(i, j) = 0.5 where i in 0:9, j in 0:512\n"
              " scatter h(at(p) + 4, j) +=! x(p, j) from z where p in 0:9, j in 0:512\n}"));
  expect_right_anywhere(
      for_gpu("def f(float(4096) x) -> (y, s) {\n a(k) = x(k) * 3.0\n"
              " y(i, j) = a(64 * i + j) where i in 0:64, j in 0:64\n s() +=! a(k)\n}"));
}

// A step's rows lie t rows behind the first one: of 4 bytes more than a multiple of 16, say.
TEST_F(GpuVariants, ScansMayTakeRowsThatAreNotAligned) {
  const std::string text =
      "def f(float(4096) c0, float(3, 4096) x, float(4096) w) -> (c, ys) {\n"
      "  scan (c, ys) = rows[3](carry float(4096) a = c0, over float(4096) row = x, "
      "fixed float(4096) v = w) -> (n, m) {\n"
      "    n(i) = a(i) * v(i) + row(i)\n    m(i) = n(i) - row(i)\n  }\n}";
  const Request request = for_gpu(text);
  expect_right_anywhere(request);
  Request gaps = request;
  gaps.layouts[1].strides = {4097, 1};
  expect_right_anywhere(gaps);
  gaps.layouts[1].strides = {-4098, 1};
  expect_right_anywhere(gaps);
  std::string reverse = text;
  reverse.replace(reverse.find("[3]"), 3, "[3, reverse]");
  Request backwards = for_gpu(reverse);
  backwards.layouts[1].strides = {4097, 1};
  expect_right_anywhere(backwards);
}

TEST_F(GpuVariants, ScansWithinScansMayTakeRowsThatAreNotAligned) {
  Request request = for_gpu(
      "def f(float(4096) c0, float(2, 3, 4096) x) -> (c, ys) {\n"
      "  scan (c, ys) = outer[2](carry float(4096) a = c0, over float(3, 4096) rows = x) "
      "-> (last, s) {\n"
      "    scan (last, inner) = inner[3, reverse](carry float(4096) b = a, "
      "over float(4096) r = rows) -> (n, n) {\n"
      "      n(i) = b(i) * 0.5 + r(i)\n    }\n"
      "    s(i) = inner(0, i) + inner(2, i)\n  }\n}");
  expect_right_anywhere(request);
  request.layouts[1].strides = {3 * 4098, 4098, 1};
  expect_right_anywhere(request);
  request.layouts[1].strides = {3 * 4096 + 1, 4096, 1};
  expect_right_anywhere(request);
}

TEST_F(GpuVariants, WhatAScheduleWasKeptForServesAllClasses) {
  const Request request = for_gpu(muladd("float", 64, 64));
  const std::vector<Array> inputs = small_inputs(request.computation->graph(), 1);
  engine->keep_schedule(request, "[]");
  const auto one = served(request);
  EXPECT_TRUE(one->usual->report().kept_schedule);
  const std::vector<Array> usual = run(*one, inputs, {}), shifted = run(*one, inputs, {1, 1, 1});
  EXPECT_EQ(shifted[0].bytes, usual[0].bytes);
  EXPECT_EQ(one->compiled.at(0).schedule_json, "[]");
}

// The net under all this: were arrays taken for aligned that are not, it would show.
TEST_F(GpuVariants, AnAccessThatIsNotAlignedIsAFaultOfTheKernel) {
  const Request request = for_gpu(muladd("float", 64, 64));
  const std::vector<Array> inputs = small_inputs(request.computation->graph(), 1);
  const auto one = served(request);
  EXPECT_THROW(run(*one, inputs, {1, 0, 0}, one->usual.get()), Error) << "it is refused";
  EXPECT_EQ(fake.faults(), "");
  // As if the plan asked for nothing.
  const Compiler& compiler = engine->compiler();
  const Graph graph = checked_graph(compiler, request).graph;
  Program program = schedule_of(compiler, request, graph);
  MachineCode code = compile_program(compiler, request, graph, program);
  ExecutionPlan plan = plan_of(compiler, request, program, code.kernels, {});
  plan.inputs[0].alignment = 0;
  const std::shared_ptr<Executable> careless =
      backend_of(compiler, request)
          .load(code.sections, std::move(plan), CompileReport(), Stopwatch());
  EXPECT_THROW(run(*one, inputs, {1, 0, 0}, careless.get()), Error);
  expected_fault = "uses an address that 16 does not divide";
}

}  // namespace
}  // namespace adjit::testing
