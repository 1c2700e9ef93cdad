// tools/bench/engine.cpp -- latency and throughput of the engine: matrix products, first calls,
// warm calls, long chains.
//
// Rates are beside the machine's FMA peak on one core, measured in the same run (counter
// "of_peak").
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <random>

#include "jit/engine/engine.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "tools/bench/fma_peak.hpp"

namespace adjit::bench {
namespace {

double peak() {
  static const double value = fma_peak();
  return value;
}

EngineOptions options(int threads, const std::filesystem::path& directory = {}) {
  EngineOptions o;
  o.threads = threads;
  o.store.mode = directory.empty() ? cache::Mode::Off : cache::Mode::ReadWrite;
  o.store.directory = directory;
  return o;
}

Request request_of(std::shared_ptr<const Computation> computation) {
  Request request;
  for (const Computation::Tensor& input : computation->inputs())
    request.layouts.push_back(contiguous_layout(input.shape));
  request.computation = std::move(computation);
  return request;
}

std::shared_ptr<const Computation> from_text(const std::string& text,
                                             std::vector<std::vector<int64_t>> shapes) {
  const TextModule module = TextModule::parse(text);
  const std::vector<DType> dtypes(shapes.size(), DType::Float32);
  return std::make_shared<const Computation>(module.instantiate(module.names()[0], shapes, dtypes));
}

std::shared_ptr<const Computation> adjoint(const Computation& forward) {
  std::vector<size_t> wrt;
  for (size_t k = 0; k < forward.inputs().size(); ++k) wrt.push_back(k);
  return Computation::transformed(forward, {Transformation::Kind::Vjp, wrt, {0}, false});
}

std::shared_ptr<const Computation> matmul(int64_t n) {
  return from_text(
      "def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, r_k) * B(r_k, n) }",
      {{n, n}, {n, n}});
}

// The gradient step of a 3x3 convolution with padding, as one operator.
std::shared_ptr<const Computation> convolution_adjoint() {
  Trace trace("conv");
  const TensorId x = add_input(trace, "x", DType::Float32, {8, 64, 28, 28});
  const TensorId w = add_input(trace, "w", DType::Float32, {64, 64, 3, 3});
  const std::vector<TensorId> y =
      find_operator("nn.conv2d").trace(trace, std::vector{x, w}, {{"padding", 1}});
  return adjoint(Computation(trace.finish(y)));
}

// x * x * ... * x elementwise, n factors, and its gradient with respect to x.
std::shared_ptr<const Computation> chain(int64_t factors) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float32, {64});
  const ExprId i[] = {graph.pool.axis(0)};
  TensorId y = x;
  Domain domain;
  domain.extents = {64};
  domain.output_rank = 1;
  for (int64_t k = 1; k < factors; ++k) {
    const ExprId body = graph.pool.mul(read(graph, y, i), read(graph, x, i));
    y = add_compute(graph, "y", domain, {}, {body})[0];
  }
  graph.outputs = {y};
  return adjoint(Computation(std::move(graph)));
}

struct Arrays {
  explicit Arrays(const ExecutionPlan& plan) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> value(-1, 1);
    for (const auto* specs : {&plan.inputs, &plan.outputs})
      for (const ArraySpec& spec : *specs) {
        size_t count = 1;
        for (int64_t extent : spec.shape) count *= static_cast<size_t>(extent);
        memory.emplace_back(count);
        for (float& v : memory.back()) v = value(random);
      }
    for (size_t k = 0; k < memory.size(); ++k)
      (k < plan.inputs.size() ? inputs : outputs).push_back(memory[k].data());
  }
  std::vector<std::vector<float>> memory;
  std::vector<void*> inputs, outputs;
};

void run(benchmark::State& state, const std::shared_ptr<const Computation>& computation,
         int threads, double flops) {
  Engine engine(options(threads));
  const std::shared_ptr<Executable> executable = engine.compile(request_of(computation)).executable;
  Arrays arrays(executable->plan());
  executable->run(arrays.inputs.data(), arrays.outputs.data());
  double best = INFINITY;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    executable->run(arrays.inputs.data(), arrays.outputs.data());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (flops == 0) return;
  state.counters["GFLOPs_best"] = flops / best / 1e9;
  if (peak() > 0) state.counters["of_peak"] = flops / best / (peak() * threads);
}

void gemm_gradients(benchmark::State& state) {
  const int64_t n = state.range(0);
  run(state, adjoint(*matmul(n)), static_cast<int>(state.range(1)),
      4.0 * static_cast<double>(n * n * n));
}
BENCHMARK(gemm_gradients)
    ->ArgNames({"n", "threads"})
    ->Args({256, 1})
    ->Args({512, 1})
    ->Args({512, 2})
    ->Args({1024, 1})
    ->UseRealTime();

void convolution_gradients(benchmark::State& state) {
  // Products inside the padded border do not count: 8*64*64 * sum over taps of valid positions.
  const double taps = (28 + 27 + 27.0) * (28 + 27 + 27.0);
  run(state, convolution_adjoint(), static_cast<int>(state.range(0)), 4.0 * 8 * 64 * 64 * taps);
}
BENCHMARK(convolution_gradients)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

void warm_call(benchmark::State& state) {
  run(state, adjoint(*from_text("def f(float(N) x) -> (y) { y(i) = sin(x(i)) * x(i) }", {{16}})), 1,
      0);
}
BENCHMARK(warm_call)->UseRealTime();

// Derive, schedule, generate and link, in a process that has compiled before; tracing is the
// caller's.
void cold_compile(benchmark::State& state, std::shared_ptr<const Computation> (*make)()) {
  Engine warm(options(0));
  warm.compile(request_of(make()));
  for (auto _ : state) {
    state.PauseTiming();
    auto engine = std::make_unique<Engine>(options(0));
    const Request request = request_of(make());
    state.ResumeTiming();
    benchmark::DoNotOptimize(engine->compile(request).executable);
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
}
BENCHMARK_CAPTURE(cold_compile, convolution, convolution_adjoint)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(cold_compile, matmul_512, [] { return adjoint(*matmul(512)); })
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void from_disk(benchmark::State& state) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("adjit-bench-" + std::to_string(getpid()));
  {
    Engine engine(options(0, directory));
    engine.compile(request_of(convolution_adjoint()));
    engine.store().flush();
  }
  for (auto _ : state) {
    state.PauseTiming();
    auto engine = std::make_unique<Engine>(options(0, directory));
    const Request request = request_of(convolution_adjoint());
    state.ResumeTiming();
    const std::shared_ptr<Executable> executable = engine->compile(request).executable;
    state.PauseTiming();
    if (executable->report().cache != "disk") state.SkipWithError("not from disk");
    engine.reset();
    state.ResumeTiming();
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK(from_disk)->Unit(benchmark::kMillisecond)->UseRealTime();

void chain_compile(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Engine engine(options(0));
    const Request request = request_of(chain(state.range(0)));
    state.ResumeTiming();
    const std::shared_ptr<Executable> executable = engine.compile(request).executable;
    state.counters["kernels"] = static_cast<double>(executable->plan().kernels.size());
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(chain_compile)
    ->Arg(1000)
    ->Arg(3000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Complexity(benchmark::oN);

}  // namespace
}  // namespace adjit::bench

BENCHMARK_MAIN();
