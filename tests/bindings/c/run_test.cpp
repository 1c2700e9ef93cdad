// tests/bindings/c/run_test.cpp -- lowering, compiling, running: arrays that fit and arrays that do
// not.
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

struct Ready {
  Context c = context();
  Computation f = square();
  Executable e = compiled(lowered(c, f));

  adjit_status run(const DLTensor* in, DLTensor* out) {
    const DLTensor* inputs[] = {in};
    DLTensor* outputs[] = {out};
    return adjit_executable_run(e.get(), 1, inputs, 1, outputs);
  }
};

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

TEST(RunApi, TheOffsetOfAnArrayCounts) {
  Ready r;
  Floats in({20}), out({3, 4});
  const int64_t shape[] = {3, 4};
  DLTensor inside = in.tensor;
  inside.ndim = 2;
  inside.shape = const_cast<int64_t*>(shape);
  inside.byte_offset = 5 * sizeof(float);
  ADJIT_OK_OR_FAIL(r.run(&inside, &out.tensor));
  EXPECT_EQ(out.data[0], 30);
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

TEST(RunApi, StridesOfSingleElementsSayNothing) {
  const Context c = context();
  const Trace t = trace();
  const Computation f = finish(t, {apply(t, "negative", {input(t, {1, 4, 1})})});
  const Executable e = compiled(lowered(c, f));
  Floats in({1, 4, 1}), out({1, 4, 1});
  in.view(0, {999, 1, -7});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
  EXPECT_EQ(out.data[3], -3);
}

TEST(RunApi, ArraysThatDoNotFitAreRefusedByName) {
  Ready r;
  const auto refused = [&](adjit_status status, const char* part, const auto& damage) {
    Floats in({3, 4}), out({3, 4}, 7);
    damage(in, out);
    EXPECT_FAILURE(r.run(&in.tensor, &out.tensor), status, part);
    EXPECT_EQ(out.data[5], 12) << "no result was written";
  };
  refused(ADJIT_SHAPE, "input 0", [](Floats& in, Floats&) { in.shape[1] = 3; });
  refused(ADJIT_SHAPE, "(4, 3)",
          [](Floats& in, Floats&) { in.shape = {4, 3}, in.tensor.shape = in.shape.data(); });
  refused(ADJIT_SHAPE, "input 0", [](Floats& in, Floats&) { in.tensor.ndim = 1; });
  refused(ADJIT_INVALID, "-2", [](Floats& in, Floats&) { in.tensor.ndim = -2; });
  refused(ADJIT_SHAPE, "output 0", [](Floats&, Floats& out) { out.shape[0] = 2; });
  refused(ADJIT_SHAPE, "strides", [](Floats& in, Floats&) { in.view(0, {1, 3}); });
  refused(ADJIT_SHAPE, "strides", [](Floats&, Floats& out) { out.view(0, {1, 3}); });
  refused(ADJIT_SHAPE, "strides", [](Floats&, Floats& out) { out.view(11, {-4, -1}); });
  refused(ADJIT_DTYPE, "float64", [](Floats& in, Floats&) { in.tensor.dtype.bits = 64; });
  refused(ADJIT_DTYPE, "int32", [](Floats&, Floats& out) { out.tensor.dtype.code = kDLInt; });
  refused(ADJIT_DTYPE, "lanes 2", [](Floats& in, Floats&) { in.tensor.dtype.lanes = 2; });
  refused(ADJIT_DEVICE, "CPU", [](Floats& in, Floats&) { in.tensor.device.device_type = kDLCUDA; });
  refused(ADJIT_DEVICE, "CPU",
          [](Floats&, Floats& out) { out.tensor.device.device_type = kDLCUDA; });
  refused(ADJIT_INVALID, "NULL", [](Floats& in, Floats&) { in.tensor.data = nullptr; });
  refused(ADJIT_INVALID, "NULL", [](Floats& in, Floats&) { in.tensor.shape = nullptr; });
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

TEST(RunApi, OutputsNeedMemoryOfTheirOwn) {
  Ready r;
  Floats memory({24});
  const int64_t shape[] = {3, 4};
  const auto at = [&](size_t first) {
    DLTensor view = memory.tensor;
    view.ndim = 2;
    view.shape = const_cast<int64_t*>(shape);
    view.data = memory.data.data() + first;
    return view;
  };
  for (size_t first : {0, 1, 11, 12}) {
    DLTensor in = at(first), out = at(12);
    if (first == 0) {
      EXPECT_EQ(r.run(&in, &out), ADJIT_OK) << "side by side: " << adjit_last_error_message();
      continue;
    }
    const float before = memory.data[12];
    EXPECT_FAILURE(r.run(&in, &out), ADJIT_INVALID, "output 0 overlaps input 0");
    EXPECT_FAILURE(r.run(&out, &in), ADJIT_INVALID, "output 0 overlaps input 0");
    EXPECT_EQ(memory.data[12], before);
  }
}

TEST(RunApi, OutputsMustNotOverlapEachOther) {
  const Context c = context();
  const Trace t = trace();
  const adjit_tensor x = input(t, {8});
  const Computation f =
      finish(t, {apply(t, "exp", {x}), apply(t, "negative", {x}), apply(t, "abs", {x})});
  const Executable e = compiled(lowered(c, f));
  Floats in({8}), a({8}), b({8}), d({8});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* apart[] = {&a.tensor, &b.tensor, &d.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 3, apart));
  DLTensor* twice[] = {&a.tensor, &b.tensor, &a.tensor};
  EXPECT_FAILURE(adjit_executable_run(e.get(), 1, inputs, 3, twice), ADJIT_INVALID, "overlaps");
}

// More arrays than the call keeps on its stack.
TEST(RunApi, ManyArrays) {
  const Context c = context();
  const Trace t = trace();
  std::vector<adjit_tensor> xs, ys;
  for (int k = 0; k < 50; ++k) xs.push_back(input(t, {2}));
  for (int k = 0; k < 50; ++k)
    ys.push_back(apply(t, "add", {xs[static_cast<size_t>(k)], xs[static_cast<size_t>(49 - k)]}));
  const Executable e = compiled(lowered(c, finish(t, ys)));
  std::vector<std::unique_ptr<Floats>> arrays;
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  for (int k = 0; k < 100; ++k)
    arrays.push_back(std::make_unique<Floats>(std::vector<int64_t>{2}, static_cast<float>(k)));
  for (size_t k = 0; k < 50; ++k) inputs.push_back(&arrays[k]->tensor);
  for (size_t k = 50; k < 100; ++k) outputs.push_back(&arrays[k]->tensor);
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 50, inputs.data(), 50, outputs.data()));
  for (size_t k = 50; k < 100; ++k) EXPECT_EQ(arrays[k]->data[1], 49 + 2);
  outputs[49] = &arrays[3]->tensor;
  EXPECT_FAILURE(adjit_executable_run(e.get(), 50, inputs.data(), 50, outputs.data()),
                 ADJIT_INVALID, "output 49 overlaps input 3");
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
  options.target = "cuda:1";
  EXPECT_FAILURE(lower(&options), ADJIT_DEVICE, "cuda:1");
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

// A caller compiled against an older, shorter struct: what it lacks is the default.
TEST(LowerApi, ShorterOptionStructsAreUnderstood) {
  const Context c = context();
  const Computation f = square();
  adjit_lower_options options{};
  options.struct_size = offsetof(adjit_lower_options, title);
  options.target = "cpu";
  options.title = untouched<char>();  // lies behind the end: may not be read
  options.schedule_json = untouched<char>();
  adjit_lowered* l = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &l));
  const Lowered owned(l);
  compiled(owned);
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
  EXPECT_EQ(text, untouched<char>());
  EXPECT_EQ(made, untouched<adjit_executable>());
}

TEST(ExecutableApi, ShowsItsInside) {
  const Context c = context();
  const Lowered l = lowered(c, square());
  const Executable e = compiled(l), again = compiled(l);
  const char *report = nullptr, *llvm = nullptr, *assembly = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_report(e.get(), &report));
  for (const char* part : {"\"cache\":\"miss\"", "\"compile_ms\"", "\"kernels\":1", "\"key\""})
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
