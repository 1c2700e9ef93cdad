// tests/bindings/c/cancel_test.cpp -- long runs and compilations that a hook ends.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

// Says yes when it is asked for the first time, and remembers that it was.
struct Impatient {
  std::atomic<int> asked{0};
  std::atomic<bool> yes{true};
  static int hook(void* user) {
    auto& self = *static_cast<Impatient*>(user);
    ++self.asked;
    return self.yes;
  }
};

Context context_with(Impatient* impatient) {
  adjit_context_options options{};
  options.struct_size = sizeof options;
  options.cache_mode = "off";
  options.num_threads = 2;
  if (impatient) {
    options.cancel = Impatient::hook;
    options.cancel_user = impatient;
  }
  adjit_context* context = nullptr;
  EXPECT_EQ(adjit_context_create(&options, &context), ADJIT_OK) << adjit_last_error_message();
  return Context(context);
}

Computation from_text(const std::string& text, std::vector<int64_t> shape) {
  adjit_text_module* module = nullptr;
  EXPECT_EQ(adjit_text_module_create(text.c_str(), "cancel", &module), ADJIT_OK)
      << adjit_last_error_message();
  const TextModule owner(module);
  const adjit_dtype dtype = ADJIT_FLOAT32;
  const auto rank = static_cast<int32_t>(shape.size());
  adjit_computation* computation = nullptr;
  EXPECT_EQ(
      adjit_text_module_instantiate(module, "f", 1, &dtype, &rank, shape.data(), &computation),
      ADJIT_OK)
      << adjit_last_error_message();
  return Computation(computation);
}

Lowered lower(const Context& context, const Computation& computation) {
  adjit_lowered* lowered = nullptr;
  EXPECT_EQ(
      adjit_computation_lower(context.get(), computation.get(), 0, nullptr, nullptr, &lowered),
      ADJIT_OK)
      << adjit_last_error_message();
  return Lowered(lowered);
}

Executable compiled(const Context& context, const Computation& computation) {
  adjit_executable* executable = nullptr;
  EXPECT_EQ(adjit_lowered_compile(lower(context, computation).get(), &executable), ADJIT_OK)
      << adjit_last_error_message();
  return Executable(executable);
}

// while c < limit: c = max(c, c), which never ends.
Computation loop() {
  adjit_trace* body = nullptr;
  EXPECT_EQ(adjit_trace_create("body", &body), ADJIT_OK);
  const Trace body_owner(body);
  adjit_tensor c = 0, limit = 0, next = 0, go_on = 0;
  EXPECT_EQ(adjit_trace_input(body, "c", ADJIT_FLOAT32, 0, nullptr, 0, &c), ADJIT_OK);
  EXPECT_EQ(adjit_trace_input(body, "go", ADJIT_BOOL, 0, nullptr, 0, &go_on), ADJIT_OK);
  EXPECT_EQ(adjit_trace_input(body, "limit", ADJIT_FLOAT32, 0, nullptr, 0, &limit), ADJIT_OK);
  int32_t count = 1;
  const adjit_tensor doubled[] = {c, c};
  EXPECT_EQ(adjit_trace_operator(body, "maximum", 2, doubled, nullptr, &count, &next), ADJIT_OK)
      << adjit_last_error_message();
  adjit_tensor less = 0;
  const adjit_tensor pair[] = {next, limit};
  count = 1;
  EXPECT_EQ(adjit_trace_operator(body, "less", 2, pair, nullptr, &count, &less), ADJIT_OK)
      << adjit_last_error_message();
  const adjit_tensor outputs[] = {next, less};
  adjit_computation* step = nullptr;
  EXPECT_EQ(adjit_trace_finish(body, 2, outputs, &step), ADJIT_OK) << adjit_last_error_message();
  const Computation step_owner(step);

  adjit_trace* trace = nullptr;
  EXPECT_EQ(adjit_trace_create("loop", &trace), ADJIT_OK);
  const Trace owner(trace);
  adjit_tensor x = 0, n = 0, first = 0;
  EXPECT_EQ(adjit_trace_input(trace, "x", ADJIT_FLOAT32, 0, nullptr, 0, &x), ADJIT_OK);
  EXPECT_EQ(adjit_trace_input(trace, "n", ADJIT_FLOAT32, 0, nullptr, 0, &n), ADJIT_OK);
  count = 1;
  const adjit_tensor start[] = {x, n};
  EXPECT_EQ(adjit_trace_operator(trace, "less", 2, start, nullptr, &count, &first), ADJIT_OK);
  const adjit_tensor operands[] = {x, first, n};
  adjit_tensor results[2];
  EXPECT_EQ(adjit_trace_while(trace, step, 2, 3, operands, 2, results), ADJIT_OK)
      << adjit_last_error_message();
  adjit_computation* computation = nullptr;
  EXPECT_EQ(adjit_trace_finish(trace, 1, results, &computation), ADJIT_OK)
      << adjit_last_error_message();
  return Computation(computation);
}

struct LoopArrays {
  float start, limit, result = 0;
  const void* in[2] = {&start, &limit};
  void* out[1] = {&result};
};

TEST(Cancel, ALoopThatNeverEndsCanBeEnded) {
  Impatient impatient;
  impatient.yes = false;  // a slow compilation asks, too
  const Context context = context_with(&impatient);
  const Executable executable = compiled(context, loop());
  impatient.yes = true;
  const int before = impatient.asked;
  LoopArrays endless{0, 1};
  EXPECT_FAILURE(adjit_executable_run_raw(executable.get(), endless.in, endless.out),
                 ADJIT_CANCELLED, "cancelled");
  EXPECT_EQ(impatient.asked, before + 1);
  LoopArrays ends{2, 1};  // the next call works
  ADJIT_OK_OR_FAIL(adjit_executable_run_raw(executable.get(), ends.in, ends.out));
  EXPECT_EQ(ends.result, 2);
}

TEST(Cancel, ARunHasAHookOfItsOwn) {
  Impatient impatient;
  const Context context = context_with(nullptr);
  const Executable executable = compiled(context, loop());
  float start = 0, limit = 1, result = 0;
  const auto scalar = [](float& value) {
    DLTensor tensor{};
    tensor.data = &value;
    tensor.device = {kDLCPU, 0};
    tensor.dtype = {kDLFloat, 32, 1};
    return tensor;
  };
  DLTensor a = scalar(start), b = scalar(limit), c = scalar(result);
  const DLTensor* in[] = {&a, &b};
  DLTensor* out[] = {&c};
  adjit_run_options options{};
  options.struct_size = sizeof options;
  options.cancel = Impatient::hook;
  options.user = &impatient;
  EXPECT_FAILURE(adjit_executable_run_with(executable.get(), 2, in, 1, out, &options),
                 ADJIT_CANCELLED, "cancelled");
  options.device = 1;
  EXPECT_FAILURE(adjit_executable_run_with(executable.get(), 2, in, 1, out, &options), ADJIT_DEVICE,
                 "CPU");
}

TEST(Cancel, TasksOfAParallelKernelAreMomentsToo) {
  Impatient impatient;
  impatient.yes = false;
  const Context context = context_with(&impatient);
  // Each of the 1,024 elements takes four million exponentials; all are one kernel. Whole, it would
  // take three seconds: on a busy machine the other thread computes much before this one asks.
  const Computation slow = from_text(
      "def f(float(N) A) -> (C) {\n"
      "  C(i) +=! exp(sin(A(r_k) * A(r_j) + A(i) * A(r_l)))\n"
      "    where i in 0:1024, r_k in 0:1024, r_j in 0:1024, r_l in 0:4\n"
      "}\n",
      {1024});
  const Executable executable = compiled(context, slow);
  impatient.yes = true;
  std::vector<float> in(1024, 0.5f), out(1024);
  const void* inputs[] = {in.data()};
  void* outputs[] = {out.data()};
  const int before = impatient.asked;
  EXPECT_FAILURE(adjit_executable_run_raw(executable.get(), inputs, outputs), ADJIT_CANCELLED,
                 "cancelled");
  EXPECT_EQ(impatient.asked, before + 1);
}

// Some hundred different kernels, as one computation.
std::string many_kernels() {
  std::string text = "def f(float(N) A) -> (T) {\n";
  for (int k = 0; k < 160; ++k) {
    const std::string from = k == 0 ? "A" : "T" + std::to_string(k - 1);
    const std::string to = k == 159 ? "T" : "T" + std::to_string(k);
    text += "  " + to + "(i) +=! sin(" + from + "(i) * " + from + "(r_j)) * " + std::to_string(k) +
            ".25 where i in 0:" + std::to_string(200 - k) + ", r_j in 0:40\n";
  }
  return text + "}\n";
}

TEST(Cancel, ACompilationEndsBetweenItsPhasesAndCanBeHadAgain) {
  Impatient impatient;
  const Context context = context_with(&impatient);
  const Lowered lowered = lower(context, from_text(many_kernels(), {200}));
  adjit_executable* executable = untouched<adjit_executable>();
  EXPECT_FAILURE(adjit_lowered_compile(lowered.get(), &executable), ADJIT_CANCELLED, "cancelled");
  EXPECT_EQ(executable, untouched<adjit_executable>());
  EXPECT_EQ(impatient.asked, 1);
  impatient.yes = false;
  ADJIT_OK_OR_FAIL(adjit_lowered_compile(lowered.get(), &executable));
  adjit_executable_destroy(executable);
  EXPECT_GT(impatient.asked, 1);
}

TEST(Cancel, WhoWaitsForACancelledCompilationMakesIt) {
  // The hook belongs to the context, so to both threads: it says yes to the first one only.
  struct First {
    std::thread::id cancelled;
    std::atomic<bool> waiting{false};
    static int hook(void* user) {
      auto& self = *static_cast<First*>(user);
      return std::this_thread::get_id() == self.cancelled && self.waiting;
    }
  } first;
  adjit_context_options options{};
  options.struct_size = sizeof options;
  options.cache_mode = "off";
  options.cancel = First::hook;
  options.cancel_user = &first;
  adjit_context* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_context_create(&options, &made));
  const Context context(made);
  const Computation computation = from_text(many_kernels(), {200});
  first.cancelled = std::this_thread::get_id();
  adjit_status second = ADJIT_INTERNAL;
  std::thread waiter([&] {
    const Lowered lowered = lower(context, computation);
    first.waiting = true;
    adjit_executable* executable = nullptr;
    second = adjit_lowered_compile(lowered.get(), &executable);
    adjit_executable_destroy(executable);
  });
  adjit_executable* executable = nullptr;
  const adjit_status status = adjit_lowered_compile(lower(context, computation).get(), &executable);
  waiter.join();
  adjit_executable_destroy(executable);
  EXPECT_TRUE(status == ADJIT_CANCELLED || status == ADJIT_OK);  // whoever was first
  EXPECT_EQ(second, ADJIT_OK);
}

// What belongs to no context asks the thread's hook.
class WithoutContext : public ::testing::Test {
 protected:
  // The value and the gradient of thousands of stages, which is not derived yet.
  static Computation long_gradient() {
    std::string text = "def f(float(N) A) -> (S) {\n  B0(i) = A(i)\n";
    constexpr int kStages = 4000;
    for (int k = 0; k < kStages; ++k)
      text += "  B" + std::to_string(k + 1) + "(i) +=! sin(B" + std::to_string(k) +
              "(r_j)) * A(i) where r_j in 0:3\n";
    const Computation forward =
        from_text(text + "  S() +=! B" + std::to_string(kStages) + "(r_i)\n}\n", {3});
    const int32_t first[] = {0};
    adjit_computation* made = nullptr;
    EXPECT_EQ(adjit_computation_vjp(forward.get(), 1, first, 1, first, 1, &made), ADJIT_OK);
    return Computation(made);
  }

  // The hook ends the call, which then works without it.
  template <class Call>
  static void expect_asked(Call&& call) {
    Impatient impatient;
    ADJIT_OK_OR_FAIL(adjit_thread_set_cancel(Impatient::hook, &impatient));
    EXPECT_FAILURE(call(), ADJIT_CANCELLED, "cancelled");
    EXPECT_EQ(impatient.asked, 1);
    ADJIT_OK_OR_FAIL(adjit_thread_set_cancel(nullptr, nullptr));
    ADJIT_OK_OR_FAIL(call());
    EXPECT_EQ(impatient.asked, 1);
  }
};

TEST_F(WithoutContext, PartitionAsksTheThreadsHook) {
  const Computation joint = long_gradient();
  adjit_computation *forward = nullptr, *backward = nullptr;
  expect_asked(
      [&] { return adjit_computation_partition(joint.get(), 1, 1, -1, &forward, &backward); });
  const Computation front(forward), back(backward);
}

TEST_F(WithoutContext, TheTextAsksTheThreadsHook) {
  const Computation derived = long_gradient();
  const char* text = nullptr;
  expect_asked([&] { return adjit_computation_text(derived.get(), &text); });
  EXPECT_NE(text, nullptr);
}

TEST_F(WithoutContext, StagesAskTheThreadsHook) {
  const Computation derived = long_gradient();
  const char* json = nullptr;
  expect_asked([&] { return adjit_computation_stages(derived.get(), &json); });
  EXPECT_NE(json, nullptr);
}

}  // namespace
}  // namespace adjit_test
