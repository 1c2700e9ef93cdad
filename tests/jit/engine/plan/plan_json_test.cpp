// tests/jit/engine/plan/plan_json_test.cpp -- what is stored reads back, and what is damaged is
// refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jit/engine/plan/plan.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using nlohmann::json;

TEST(PlanJson, SurvivesJson) {
  ExecutionPlan plan = planned(kChain).plan;
  EXPECT_EQ(plan_from_json(to_json(plan), plan.constants), plan);
  plan.checks = {{"the read \"x\" \n(i)", 1, 5, {"i"}, {4}}};
  const size_t check = plan.buffers.size(), slice = check + 1, in = check + 2, out = check + 3;
  plan.buffers.push_back({Buffer::Kind::Check, 1, 0});
  for (int k = 0; k < 3; ++k) plan.buffers.push_back({Buffer::Kind::Step, 0, 0});
  plan.kernels[0].tensors.push_back(check);
  plan.scans = {{3,
                 true,
                 false,
                 0,
                 {{slice, 2, -8}},
                 {{in, out, 3, 0, {64, 128}}},
                 {{false, 0}},
                 {{false, 1}}}};
  plan.steps.push_back({true, 0});
  plan.inputs[0].strides = {-3};
  plan.outputs[0].alignment = 16;
  plan.kernels[1].parallel = true;
  plan.kernels[1].tasks = 12;
  plan.kernels[2] = {.symbol = "k",
                     .tensors = {0, plan.buffers.size()},
                     .tasks = 12,
                     .parallel = true,
                     .chained = true};
  plan.steps[2].waits.clear();
  plan.steps[3].waits = {0, 1};
  plan.buffers.push_back({Buffer::Kind::Slot, 64, 128});
  plan.slot_bytes = 192;
  EXPECT_EQ(plan_from_json(to_json(plan), plan.constants), plan);
  const ExecutionPlan empty;
  EXPECT_EQ(plan_from_json(to_json(empty), ""), empty);
}

void expect_refused(const std::string& text, const std::string& constants = "") {
  try {
    plan_from_json(text, constants);
    ADD_FAILURE() << "taken: " << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Cache) << e.what();
  }
}

TEST(PlanJson, TextThatIsCutOffIsRefused) {
  const ExecutionPlan plan = planned(kChain).plan;
  const std::string text = to_json(plan);
  for (size_t size = 0; size < text.size(); ++size)
    expect_refused(text.substr(0, size), plan.constants);
}

// Every value of the plan replaced by one of another type, and every member taken away.
TEST(PlanJson, ValuesOfTheWrongTypeAreRefused) {
  const ExecutionPlan plan = planned(kChain).plan;
  const json whole = json::parse(to_json(plan));
  ASSERT_TRUE(whole.contains("buffers"));
  const json flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json damaged = whole;
    damaged[json::json_pointer(pointer)] = value.is_string() ? json(3) : json("rubbish");
    expect_refused(damaged.dump(), plan.constants);
  }
  json renamed = whole;
  renamed["inputs"][0]["dtype"] = "float33";
  expect_refused(renamed.dump(), plan.constants);
  for (const auto& [name, value] : whole.items()) {
    json damaged = whole;
    damaged.erase(name);
    expect_refused(damaged.dump(), plan.constants);
  }
  for (const auto& [name, value] : whole["kernels"][0].items()) {
    json damaged = whole;
    damaged["kernels"][0].erase(name);
    expect_refused(damaged.dump(), plan.constants);
  }
}

// Numbers that would make a call touch foreign memory.
TEST(PlanJson, PlacesThatDoNotExistAreRefused) {
  const ExecutionPlan plan = planned(kChain).plan;
  const auto with = [&](const auto& damage) {
    ExecutionPlan damaged = plan;
    damage(damaged);
    expect_refused(to_json(damaged), plan.constants);
  };
  for (int kind = 0; kind <= 5; ++kind)
    for (int64_t at : {int64_t{-1}, int64_t{1} << 40, INT64_MAX, INT64_MIN})
      with([&](ExecutionPlan& p) { p.buffers[2] = {static_cast<Buffer::Kind>(kind), at, 0}; });
  for (int kind : {7, 9, 255})
    with([&](ExecutionPlan& p) { p.buffers[0] = {static_cast<Buffer::Kind>(kind), 0, 0}; });
  with([](ExecutionPlan& p) { p.buffers[0] = {Buffer::Kind::Input, 2, 0}; });
  with([](ExecutionPlan& p) { p.buffers[0] = {Buffer::Kind::Check, 0, 0}; });
  with([](ExecutionPlan& p) { p.kernels[0].tensors[0] = p.buffers.size(); });
  with([](ExecutionPlan& p) { p.steps[0].number = 5; });
  with([](ExecutionPlan& p) { p.steps[0] = {true, 0}; });
  // Slots: of a task, inside the slot, and only where tasks run one by one.
  const auto with_slot = [&](const Buffer& slot, bool parallel) {
    with([&](ExecutionPlan& p) {
      p.slot_bytes = 192;
      p.kernels[0].parallel = parallel;
      p.buffers[p.kernels[0].tensors[0]] = slot;
    });
  };
  with_slot({Buffer::Kind::Slot, 64, 192}, true);
  with_slot({Buffer::Kind::Slot, 0, -64}, true);
  with_slot({Buffer::Kind::Slot, 64, INT64_MAX}, true);
  with_slot({Buffer::Kind::Slot, 0, 64}, false);
  with([](ExecutionPlan& p) { p.kernels[0].chained = true; });
  with([](ExecutionPlan& p) {
    p.kernels[1].chained = true;
    p.kernels[1].tasks = 3;
  });
  with([](ExecutionPlan& p) { p.slot_bytes = -64; });
  with([](ExecutionPlan& p) { p.kernels[0].in_turn = 0; });
  with([](ExecutionPlan& p) {
    p.kernels[0].tasks = 3;
    p.kernels[0].in_turn = 2;
  });
  for (const size_t before : {size_t{1}, size_t{1000}})
    with([&](ExecutionPlan& p) { p.steps[1].waits = {before}; });
  with([](ExecutionPlan& p) { p.kernels[0].tasks = -1; });
  with([](ExecutionPlan& p) { p.workspace_bytes = -64; });
  with([](ExecutionPlan& p) { p.inputs[0].strides = {}; });
  with([](ExecutionPlan& p) { p.checks = {{"x", 0, 5, {"i", "j"}, {4}}}; });
  // The kernels were made for more constants than there are.
  expect_refused(to_json(plan), "");
}

// A scan has its own steps, slices and carries; one that runs itself would never end.
TEST(PlanJson, ScansOfWhatDoesNotExistAreRefused) {
  const ExecutionPlan plan = planned(kChain).plan;
  const size_t slice = plan.buffers.size(), in = slice + 1, out = slice + 2, slot = slice + 3;
  const ScanPlan scan{
      3, false, false, 0, {{slice, 2, 8}}, {{in, out, 0, 0, {0, 0}}}, {{false, 1}}, {{false, 0}}};
  ExecutionPlan scanning = plan;
  for (int k = 0; k < 3; ++k) scanning.buffers.push_back({Buffer::Kind::Step, 0, 0});
  scanning.buffers.push_back({Buffer::Kind::Slot, 0, 64});
  scanning.slot_bytes = 64;
  scanning.kernels[0].tensors.insert(scanning.kernels[0].tensors.end(), {slice, in, out});
  scanning.scans = {scan};
  scanning.steps = {{true, 0}};
  EXPECT_EQ(plan_from_json(to_json(scanning), scanning.constants), scanning);
  const auto with_scan = [&](const auto& damage) {
    ExecutionPlan damaged = scanning;
    damage(damaged.scans[0]);
    expect_refused(to_json(damaged), damaged.constants);
  };
  with_scan([](ScanPlan& s) { s.trips = -1; });
  with_scan([](ScanPlan& s) { s.steps[0] = {true, 0}; });
  with_scan([](ScanPlan& s) { s.steps[0].number = 100; });
  with_scan([](ScanPlan& s) { s.before[0].number = 100; });
  with_scan([](ScanPlan& s) { s.before[0] = {true, 0}; });
  with_scan([](ScanPlan& s) { s.tasks = -1; });
  with_scan([](ScanPlan& s) { s.tasks = 7; });  // its kernel has others
  // A slot's address is its thread's, and those of a scan's slices and carries are the scan's.
  with_scan([&](ScanPlan& s) { s.slices[0].of = slot; });
  with_scan([&](ScanPlan& s) { s.slices[0].of = slice; });
  with_scan([&](ScanPlan& s) { s.slices[0].buffer = 2; });
  with_scan([&](ScanPlan& s) { s.carries[0].start = slot; });
  with_scan([&](ScanPlan& s) { s.carries[0].start = in; });
  with_scan([&](ScanPlan& s) { s.carries[0].final = slot; });
  with_scan([&](ScanPlan& s) { s.carries[0].in = slice; });
  with_scan([&](ScanPlan& s) { s.carries[0].out = slot; });
  with_scan([](ScanPlan& s) { s.slices.clear(); });
  with_scan([](ScanPlan& s) { s.before = {{false, 0}}; });
  for (const std::vector<StepPlan>& steps :
       {std::vector<StepPlan>{{true, 0}, {true, 0}}, {{false, 0}}, {{true, 0}, {false, 0}}}) {
    ExecutionPlan damaged = scanning;
    damaged.steps = steps;
    expect_refused(to_json(damaged), damaged.constants);
  }
  // Tasks through all steps move buffers that only the steps' kernels may name.
  const auto with_tasks = [&](size_t buffer) {
    ExecutionPlan p = plan;
    p.kernels[0].tasks = 4;
    p.kernels[0].parallel = true;
    p.scans = {scan};
    p.steps = {{true, 0}};
    p.scans[0].tasks = 4;
    p.scans[0].slices = {{buffer, 2, 8}};
    p.scans[0].carries.clear();
    p.buffers.push_back({Buffer::Kind::Step, 0, 0});
    return p;
  };
  const ExecutionPlan right = with_tasks(plan.buffers.size());
  EXPECT_EQ(plan_from_json(to_json(right), right.constants), right);
  expect_refused(to_json(with_tasks(plan.kernels[1].tensors[0])), plan.constants);
  with_scan([](ScanPlan& s) { s.slices[0].buffer = 1000; });
  with_scan([](ScanPlan& s) { s.slices[0].of = 1000; });
  with_scan([](ScanPlan& s) { s.carries[0].final = 1000; });
  with_scan([](ScanPlan& s) { s.carries[0].spares[1] = -64; });
  with_scan([](ScanPlan& s) { s.carries[0].spares[0] = int64_t{1} << 40; });
  with_scan([](ScanPlan& s) { s.carries[0].bytes = -1; });
  with_scan([](ScanPlan& s) { s.carries[0].bytes = int64_t{1} << 40; });
  with_scan([](ScanPlan& s) {
    s.conditional = true;
    s.carries.clear();
  });
}

}  // namespace
}  // namespace adjit::testing
