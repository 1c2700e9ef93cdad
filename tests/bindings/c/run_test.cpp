// tests/bindings/c/run_test.cpp -- lowering, compiling, running: arrays that fit and arrays that do
// not.
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

TEST(RunApi, FromTraceToResult) {
  Ready r;
  Floats in({3, 4}), out({3, 4});
  ADJIT_OK_OR_FAIL(r.run(&in.tensor, &out.tensor));
  for (size_t k = 0; k < 12; ++k) EXPECT_EQ(out.data[k], static_cast<float>(k * k + k));
  std::fill(out.data.begin(), out.data.end(), 0.0f);
  const void* inputs[] = {in.data.data()};
  void* outputs[] = {out.data.data()};
  ADJIT_OK_OR_FAIL(adjit_executable_run_raw(r.e.get(), inputs, outputs));
  EXPECT_EQ(out.data[11], 11 * 11 + 11);
}

TEST(RunApi, LoweredForTheStridesOfItsInputs) {
  const Context c = context();
  const Computation f = square();
  for (const auto& [first, strides] : {std::pair{size_t{0}, std::vector<int64_t>{1, 3}},
                                       {11, {-4, -1}},
                                       {3, {4, -1}},
                                       {0, {0, 1}},
                                       {1, {0, 0}}}) {
    Floats in({3, 4}), out({3, 4});
    in.view(first, strides);
    const Executable e = compiled(lowered(c, f, {&in.tensor}));
    const DLTensor* inputs[] = {&in.tensor};
    DLTensor* outputs[] = {&out.tensor};
    ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        const auto x =
            static_cast<float>(static_cast<int64_t>(first) + i * strides[0] + j * strides[1]);
        EXPECT_EQ(out.data[static_cast<size_t>(4 * i + j)], x * x + x);
      }
    Floats plain({3, 4});
    const DLTensor* other[] = {&plain.tensor};
    EXPECT_FAILURE(adjit_executable_run(e.get(), 1, other, 1, outputs), ADJIT_SHAPE, "strides");
  }
}

TEST(RunApi, ProposesAndKeepsSchedules) {
  const Context c = context();
  const Computation f = square();
  const auto l = lowered(c, f);
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_proposals(l.get(), 3, 1, &json));
  const nlohmann::json proposals = nlohmann::json::parse(json);
  ASSERT_GE(proposals.size(), 1u);
  EXPECT_LE(proposals.size(), 3u);
  EXPECT_EQ(proposals[0]["changes"], "");
  EXPECT_GT(proposals[0]["predicted"].get<double>(), 0);
  EXPECT_FAILURE(adjit_lowered_proposals(l.get(), 0, 1, &json), ADJIT_INVALID, "at least one");
  const std::string moves = proposals.back()["schedule"].dump();
  ADJIT_OK_OR_FAIL(adjit_lowered_keep_schedule(l.get(), moves.c_str()));
  ADJIT_OK_OR_FAIL(adjit_lowered_keep_schedule(l.get(), nullptr));
  EXPECT_FAILURE(adjit_lowered_keep_schedule(l.get(), "[1]"), ADJIT_SCHEDULE, "move 0");
  EXPECT_FAILURE(adjit_lowered_keep_schedule(l.get(), ""), ADJIT_SCHEDULE, "empty text");
}

TEST(RunApi, RunsNeitherOnADeviceNorInMemoryOfTheCaller) {
  Ready r;
  Floats in({3, 4}), out({3, 4}, 7);
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  const auto run = [&](auto change) {
    adjit_run_options options{};
    options.struct_size = sizeof options;
    change(options);
    return adjit_executable_run_with(r.e.get(), 1, inputs, 1, outputs, &options);
  };
  int stream = 0;
  EXPECT_FAILURE(run([](auto& o) { o.device = 1; }), ADJIT_DEVICE, "CPU");
  EXPECT_FAILURE(run([&](auto& o) { o.stream = &stream; }), ADJIT_DEVICE, "CPU");
  EXPECT_FAILURE(
      run([](auto& o) { o.allocate = [](void*, size_t) { return static_cast<void*>(nullptr); }; }),
      ADJIT_INVALID, "memory_budget");
  EXPECT_FAILURE(run([](auto& o) { o.free = [](void*, void*) {}; }), ADJIT_INVALID,
                 "memory_budget");
  EXPECT_FAILURE(run([](auto& o) { o.struct_size = 0; }), ADJIT_INVALID, "struct_size");
  EXPECT_EQ(out.data[5], 12) << "nothing has run";
  ADJIT_OK_OR_FAIL(run([](auto&) {}));
  EXPECT_EQ(out.data[5], 30);
}

TEST(RunApi, AProfileHasEveryKernelWithItsWork) {
  Ready r;
  Floats in({3, 4}), out({3, 4});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_profile(r.e.get(), 1, inputs, 1, outputs, 3, &json));
  const nlohmann::json kernels = nlohmann::json::parse(json);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["calls"], 1);
  EXPECT_EQ(kernels[0]["bytes"], 2 * 12 * 4);
  EXPECT_EQ(kernels[0]["flops"], 2 * 12) << json;
  EXPECT_GT(kernels[0]["microseconds"].get<double>(), 0);
  EXPECT_GT(kernels[0]["roofline"].get<double>(), 0);
  EXPECT_GE(kernels[0]["predicted"].get<double>(), kernels[0]["roofline"].get<double>());
  EXPECT_EQ(out.data[11], 11 * 11 + 11);
  const char* untouched = json;
  EXPECT_FAILURE(adjit_executable_profile(r.e.get(), 1, inputs, 1, outputs, 0, &json),
                 ADJIT_INVALID, "repeats");
  EXPECT_FAILURE(adjit_executable_profile(r.e.get(), 0, inputs, 1, outputs, 1, &json),
                 ADJIT_INVALID, "takes 1 inputs");
  EXPECT_FAILURE(adjit_executable_profile(nullptr, 1, inputs, 1, outputs, 1, &json), ADJIT_INVALID,
                 "executable");
  EXPECT_EQ(json, untouched);
}

TEST(RunApi, ExplainsWhatAScheduleIsExpectedToTake) {
  const Context c = context();
  const Computation f = square();
  const Lowered l = lowered(c, f);
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_explain(l.get(), &text));
  EXPECT_GT(std::string(text).size(), 20u);
  const char* again = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_explain(l.get(), &again));
  EXPECT_EQ(text, again) << "lives as long as the handle";
  EXPECT_FAILURE(adjit_lowered_explain(nullptr, &again), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_explain(l.get(), nullptr), ADJIT_INVALID, "text");
}

TEST(LoweredApi, CostsAreThereAsData) {
  const Context c = context();
  const Computation f = square();
  const Lowered l = lowered(c, f);
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_cost(l.get(), &text));
  const std::string json = text;
  EXPECT_EQ(json.front(), '{');
  for (const char* key : {"\"microseconds\"", "\"inputs\"", "\"terms\"", "\"analytic\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
  EXPECT_FAILURE(adjit_lowered_cost(nullptr, &text), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_cost(l.get(), nullptr), ADJIT_INVALID, "json");
}

TEST(RunApi, CountsAndNullsAreChecked) {
  Ready r;
  Floats in({3, 4}), out({3, 4});
  const DLTensor *inputs[] = {&in.tensor, &in.tensor}, *nothing[] = {nullptr};
  DLTensor *outputs[] = {&out.tensor}, *nowhere[] = {nullptr};
  adjit_executable* e = r.e.get();
  EXPECT_FAILURE(adjit_executable_run(e, 2, inputs, 1, outputs), ADJIT_INVALID, "1 inputs");
  EXPECT_FAILURE(adjit_executable_run(e, 0, nullptr, 1, outputs), ADJIT_INVALID, "not 0");
  EXPECT_FAILURE(adjit_executable_run(e, -1, inputs, 1, outputs), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_executable_run(e, 1, nullptr, 1, outputs), ADJIT_INVALID, "inputs");
  EXPECT_FAILURE(adjit_executable_run(e, 1, inputs, 1, nullptr), ADJIT_INVALID, "outputs");
  EXPECT_FAILURE(adjit_executable_run(e, 1, nothing, 1, outputs), ADJIT_INVALID, "inputs");
  EXPECT_FAILURE(adjit_executable_run(e, 1, inputs, 1, nowhere), ADJIT_INVALID, "outputs");
  EXPECT_FAILURE(adjit_executable_run(nullptr, 1, inputs, 1, outputs), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_run_raw(nullptr, nullptr, nullptr), ADJIT_INVALID, "executable");
  adjit_executable_destroy(nullptr);
  adjit_lowered_destroy(nullptr);
}

TEST(LowerApi, RefusesWhatItCannotTake) {
  const Context c = context();
  const Computation f = square();
  adjit_lowered* l = untouched<adjit_lowered>();
  const auto lower = [&](const adjit_lower_options* options, int32_t count = 0,
                         const DLTensor* const* inputs = nullptr) {
    return adjit_computation_lower(c.get(), f.get(), count, inputs, options, &l);
  };
  adjit_lower_options options{};
  EXPECT_FAILURE(lower(&options), ADJIT_INVALID, "struct_size");
  options.struct_size = 3;
  EXPECT_FAILURE(lower(&options), ADJIT_INVALID, "struct_size");
  options.struct_size = sizeof options;
  setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  options.target = "cuda:1";
  EXPECT_FAILURE(lower(&options), ADJIT_DEVICE, "/nowhere/libcuda.so.1");
  unsetenv("ADJIT_CUDA_LIBRARY");
  options.target = "tpu";
  EXPECT_FAILURE(lower(&options), ADJIT_DEVICE, "tpu");
  Floats wrong({3, 5});
  const DLTensor *inputs[] = {&wrong.tensor}, *nothing[] = {nullptr};
  EXPECT_FAILURE(lower(nullptr, 1, inputs), ADJIT_SHAPE, "(3, 5)");
  EXPECT_FAILURE(lower(nullptr, 2, inputs), ADJIT_INVALID, "not 2");
  EXPECT_FAILURE(lower(nullptr, -1, inputs), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(lower(nullptr, 1, nothing), ADJIT_INVALID, "inputs");
  wrong.tensor.ndim = -1;
  EXPECT_FAILURE(lower(nullptr, 1, inputs), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_lower(nullptr, f.get(), 0, nullptr, nullptr, &l), ADJIT_INVALID,
                 "context");
  EXPECT_FAILURE(adjit_computation_lower(c.get(), nullptr, 0, nullptr, nullptr, &l), ADJIT_INVALID,
                 "computation");
  EXPECT_FAILURE(adjit_computation_lower(c.get(), f.get(), 0, nullptr, nullptr, nullptr),
                 ADJIT_INVALID, "lowered");
  EXPECT_EQ(l, untouched<adjit_lowered>());
}

TEST(LowerApi, SchedulesReplay) {
  const Context c = context();
  const Computation f = square();
  const Lowered l = lowered(c, f);
  const char *text = nullptr, *stages = nullptr, *schedule = nullptr, *json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_text(l.get(), &text));
  ADJIT_OK_OR_FAIL(adjit_lowered_stages(l.get(), &stages));
  ADJIT_OK_OR_FAIL(adjit_lowered_schedule(l.get(), &schedule));
  ADJIT_OK_OR_FAIL(adjit_lowered_schedule_json(l.get(), &json));
  EXPECT_NE(std::string(text).find("def square"), std::string::npos) << text;
  EXPECT_NE(std::string(stages).find("\"flops\""), std::string::npos) << stages;
  EXPECT_NE(std::string(schedule).find("kernel 0"), std::string::npos) << schedule;
  adjit_lower_options options{};
  options.struct_size = sizeof options;
  options.schedule_json = json;
  options.title = "replayed";
  adjit_lowered* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made));
  const Lowered again(made);
  const char* same = nullptr;
  ADJIT_OK_OR_FAIL(adjit_lowered_schedule(again.get(), &same));
  EXPECT_STREQ(same, schedule);
  compiled(again);
}

TEST(LowerApi, EmptyTextIsNoSchedule) {
  const Context c = context();
  const Computation f = square();
  adjit_lower_options options{};
  options.struct_size = sizeof options;
  options.schedule_json = "";
  adjit_lowered* made = nullptr;
  EXPECT_FAILURE(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made),
                 ADJIT_SCHEDULE, "empty text");
}

TEST(LowerApi, ForeignSchedulesFailWhereTheyAreUsed) {
  const Context c = context();
  const Computation f = square();
  for (const char* json : {"rubbish", "{}", "[{\"move\": \"fly\"}]",
                           "[{\"move\": \"unroll\", \"stage\": \"nobody\", \"axis\": 0, "
                           "\"factor\": 2}]"}) {
    adjit_lower_options options{};
    options.struct_size = sizeof options;
    options.schedule_json = json;
    adjit_lowered* made = nullptr;
    ADJIT_OK_OR_FAIL(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &made));
    const Lowered l(made);
    adjit_executable* e = untouched<adjit_executable>();
    const char* text = untouched<char>();
    EXPECT_FAILURE(adjit_lowered_compile(l.get(), &e), ADJIT_SCHEDULE, "");
    EXPECT_FAILURE(adjit_lowered_schedule(l.get(), &text), ADJIT_SCHEDULE, "");
    EXPECT_EQ(e, untouched<adjit_executable>());
    EXPECT_EQ(text, untouched<char>());
  }
}

TEST(LowerApi, NullIsRefusedAndTouchesNothing) {
  const Context c = context();
  const Lowered l = lowered(c, square());
  const Executable e = compiled(l);
  const char* text = untouched<char>();
  adjit_executable* made = untouched<adjit_executable>();
  EXPECT_FAILURE(adjit_lowered_text(nullptr, &text), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_text(l.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_lowered_stages(nullptr, &text), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_stages(l.get(), nullptr), ADJIT_INVALID, "json");
  EXPECT_FAILURE(adjit_lowered_schedule(nullptr, &text), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_schedule(l.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_lowered_schedule_json(nullptr, &text), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_schedule_json(l.get(), nullptr), ADJIT_INVALID, "json");
  EXPECT_FAILURE(adjit_lowered_compile(nullptr, &made), ADJIT_INVALID, "lowered");
  EXPECT_FAILURE(adjit_lowered_compile(l.get(), nullptr), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_report(nullptr, &text), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_report(e.get(), nullptr), ADJIT_INVALID, "json");
  EXPECT_FAILURE(adjit_executable_llvm(nullptr, &text), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_llvm(e.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_executable_assembly(nullptr, &text), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_assembly(e.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_executable_ptx(nullptr, &text), ADJIT_INVALID, "executable");
  EXPECT_FAILURE(adjit_executable_ptx(e.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_executable_ptx(e.get(), &text), ADJIT_DEVICE, "which has no PTX");
  EXPECT_FAILURE(adjit_executable_synchronize(nullptr), ADJIT_INVALID, "executable");
  EXPECT_EQ(text, untouched<char>());
  EXPECT_EQ(made, untouched<adjit_executable>());
}

TEST(ExecutableApi, ShowsItsInside) {
  const Context c = context();
  const Lowered l = lowered(c, square());
  const Executable e = compiled(l), again = compiled(l);
  const char *report = nullptr, *llvm = nullptr, *assembly = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_report(e.get(), &report));
  for (const char* part :
       {"\"target\":\"cpu\"", "\"cache\":\"miss\"", "\"compile_ms\"", "\"kernels\":1", "\"key\""})
    EXPECT_NE(std::string(report).find(part), std::string::npos) << report;
  ADJIT_OK_OR_FAIL(adjit_executable_report(again.get(), &report));
  EXPECT_NE(std::string(report).find("\"cache\":\"memory\""), std::string::npos) << report;
  ADJIT_OK_OR_FAIL(adjit_executable_llvm(e.get(), &llvm));
  EXPECT_NE(std::string(llvm).find("define void @adjit_kernel_0"), std::string::npos);
  ADJIT_OK_OR_FAIL(adjit_executable_assembly(e.get(), &assembly));
  EXPECT_NE(std::string(assembly).find("adjit_kernel_0"), std::string::npos);
}

// Handles may be destroyed in any order.
TEST(ExecutableApi, OutlivesWhatItWasMadeFrom) {
  Executable e;
  {
    Ready r;
    e = std::move(r.e);
  }
  Floats in({3, 4}), out({3, 4});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
  EXPECT_EQ(out.data[2], 6);
  const char* llvm = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_llvm(e.get(), &llvm));
}

TEST(ExecutableApi, ManyThreadsRunAndAsk) {
  Ready r;
  const Lowered l = lowered(r.c, r.f);
  std::vector<std::string> wrong(6);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        Floats in({3, 4}, static_cast<float>(t)), out({3, 4});
        const Executable e = compiled(l);
        const DLTensor* inputs[] = {&in.tensor};
        DLTensor* outputs[] = {&out.tensor};
        const char* text = nullptr;
        for (int round = 0; round < 20; ++round) {
          if (adjit_executable_run(r.e.get(), 1, inputs, 1, outputs) != ADJIT_OK ||
              adjit_executable_report(e.get(), &text) != ADJIT_OK ||
              adjit_lowered_schedule(l.get(), &text) != ADJIT_OK)
            wrong[t] = adjit_last_error_message();
          const float x = static_cast<float>(t) + 5;
          if (out.data[5] != x * x + x) wrong[t] = "another thread's result";
        }
      });
  }
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace adjit_test
