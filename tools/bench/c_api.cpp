// tools/bench/c_api.cpp -- what a warm call costs through the C interface: arrays checked and
// kernels run, on arrays small enough that nothing else counts.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bindings/c/adjit.h"

namespace {

void check(adjit_status status) {
  if (status == ADJIT_OK) return;
  std::fprintf(stderr, "%s: %s\n", adjit_status_name(status), adjit_last_error_message());
  std::exit(1);
}

constexpr const char* kSource =
    "def f(float(N) x, float(N) y) -> (z) { z(i) = x(i) * y(i) + x(i) }";

class WarmCall {
 public:
  explicit WarmCall(int64_t extent)
      : x_(static_cast<size_t>(extent), 1.0f), z_(x_), shape_(extent) {
    adjit_context_options options{};
    options.struct_size = sizeof(options);
    options.cache_mode = "off";
    check(adjit_context_create(&options, &context_));
    check(adjit_text_module_create(kSource, "bench", &module_));
    const adjit_dtype dtypes[] = {ADJIT_FLOAT32, ADJIT_FLOAT32};
    const int32_t ranks[] = {1, 1};
    const int64_t shapes[] = {extent, extent};
    check(adjit_text_module_instantiate(module_, "f", 2, dtypes, ranks, shapes, &computation_));
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = 1;
    tensor_.dtype = {kDLFloat, 32, 1};
    tensor_.shape = &shape_;
    tensor_.data = x_.data();
    result_ = tensor_;
    result_.data = z_.data();
    const DLTensor* inputs[] = {&tensor_, &tensor_};
    check(adjit_computation_lower(context_, computation_, 2, inputs, nullptr, &lowered_));
    check(adjit_lowered_compile(lowered_, &executable_));
  }
  ~WarmCall() {
    adjit_executable_destroy(executable_);
    adjit_lowered_destroy(lowered_);
    adjit_computation_destroy(computation_);
    adjit_text_module_destroy(module_);
    adjit_context_destroy(context_);
  }
  WarmCall(const WarmCall&) = delete;
  WarmCall& operator=(const WarmCall&) = delete;

  void run() {
    const DLTensor* inputs[] = {&tensor_, &tensor_};
    DLTensor* outputs[] = {&result_};
    check(adjit_executable_run(executable_, 2, inputs, 1, outputs));
  }
  void run_raw() {
    const void* inputs[] = {x_.data(), x_.data()};
    void* outputs[] = {z_.data()};
    check(adjit_executable_run_raw(executable_, inputs, outputs));
  }

 private:
  std::vector<float> x_, z_;
  int64_t shape_;
  DLTensor tensor_{}, result_{};
  adjit_context* context_ = nullptr;
  adjit_text_module* module_ = nullptr;
  adjit_computation* computation_ = nullptr;
  adjit_lowered* lowered_ = nullptr;
  adjit_executable* executable_ = nullptr;
};

void CheckedCall(benchmark::State& state) {
  WarmCall call(state.range(0));
  for (auto _ : state) call.run();
}
void RawCall(benchmark::State& state) {
  WarmCall call(state.range(0));
  for (auto _ : state) call.run_raw();
}

BENCHMARK(CheckedCall)->Arg(16)->Arg(1024)->Unit(benchmark::kNanosecond);
BENCHMARK(RawCall)->Arg(16)->Arg(1024)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
