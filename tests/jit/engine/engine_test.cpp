// tests/jit/engine/engine_test.cpp -- memory, disk, damage; strides; outputs that are inputs.
#include "jit/engine/engine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "autosched/search/scheduler.hpp"
#include "runtime/diff/simplify/long_sums.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/engine/refused_by_emitter.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kMatmul =
    "def main(float(5, 7) A, float(7, 6) B) -> (C) {\n"
    "  C(i, j) +=! A(i, r_k) * B(r_k, j) where i in 0:5, j in 0:6, r_k in 0:7\n}\n";

class EngineOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjit-engine-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  EngineOptions options() const {
    EngineOptions options = memory_only(1);
    options.store.mode = cache::Mode::ReadWrite;
    options.store.directory = directory_;
    return options;
  }
  std::unique_ptr<Engine> engine() const { return std::make_unique<Engine>(options()); }

  std::filesystem::path directory_;
};

std::string origin(Engine& engine) {
  const Compiled compiled = engine.compile(request_of(parse_graph(kMatmul)));
  return compiled.from_memory ? "memory" : compiled.executable->report().cache;
}

TEST_F(EngineOnDisk, CompilesOnceThenMemoryThenDisk) {
  auto first = engine();
  EXPECT_EQ(origin(*first), "miss");
  EXPECT_EQ(origin(*first), "memory");
  first->store().flush();
  EXPECT_EQ(origin(*engine()), "disk");
}

TEST_F(EngineOnDisk, AHitSaysThatNothingIsDumped) {
  auto first = engine();
  EXPECT_EQ(origin(*first), "miss");
  first->store().flush();
  std::vector<std::string> warnings;
  EngineOptions logged = options();
  logged.log = [&](cache::Level level, const std::string& message) {
    if (level == cache::Level::Warning) warnings.push_back(message);
  };
  ::setenv("ADJIT_DUMP", (directory_ / "dump").c_str(), 1);
  Engine(std::move(logged)).compile(request_of(parse_graph(kMatmul)));
  ::unsetenv("ADJIT_DUMP");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("set ADJIT_CACHE=off"), std::string::npos) << warnings[0];
  EXPECT_FALSE(std::filesystem::exists(directory_ / "dump"));
}

// Of schedules that passes made; moves that are given have none.
TEST_F(EngineOnDisk, ADumpHasTheProgramAfterEachPass) {
  const std::string moves =
      schedule_of(engine()->compiler(), request_of(parse_graph(kMatmul))).moves_json;
  const auto passes_of = [&](const std::string& given) -> std::optional<std::string> {
    const std::filesystem::path dumped = directory_ / "dump";
    std::filesystem::remove_all(dumped);
    ::setenv("ADJIT_DUMP", dumped.c_str(), 1);
    Request request = request_of(parse_graph(kMatmul));
    request.schedule_json = given;
    std::make_unique<Engine>(memory_only(1))->compile(request);
    ::unsetenv("ADJIT_DUMP");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dumped)) {
      if (entry.path().filename() != "4-passes.txt") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      return text.str();
    }
    return std::nullopt;
  };
  const std::optional<std::string> made = passes_of("");
  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(made->starts_with("# start\ndef main"));
  EXPECT_NE(made->find("# schedule kernels\nkernel 0: float(5, 6) C"), std::string::npos) << *made;
  EXPECT_EQ(passes_of(moves), std::nullopt);
}

// A kept schedule that is legal, but unrolls more than the emitter does.
TEST_F(EngineOnDisk, AScheduleThatTheEmitterRefusesIsNotWhatIsDescribed) {
  const Request request = request_of(parse_graph(kLongBody));
  std::set<std::string> dumped;
  {
    auto first = engine();
    const std::string chosen = schedule_of(first->compiler(), request).moves_json;
    EXPECT_NE(chosen, "[]");
    first->keep_schedule(request, kUnrolled);
    EXPECT_NE(schedule_of(first->compiler(), request).moves_json, chosen);
    EXPECT_EQ(compiled_program(first->compiler(), request).moves_json, "[]");
    const std::filesystem::path folder = directory_ / "dump";
    ::setenv("ADJIT_DUMP", folder.c_str(), 1);
    const CompileReport report = first->compile(request).executable->report();
    ::unsetenv("ADJIT_DUMP");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      dumped.insert(entry.path().filename());
    EXPECT_TRUE(dumped.contains("4-schedule.txt"));
    EXPECT_FALSE(dumped.contains("4-passes.txt"));
    EXPECT_EQ(report.fallbacks.size(), 1u);
    EXPECT_EQ(report.schedule, "[]");
    EXPECT_FALSE(report.kept_schedule);
    std::filesystem::remove_all(folder);
    first->store().flush();
  }
  const CompileReport report = engine()->compile(request).executable->report();
  EXPECT_EQ(report.cache, "disk");
  EXPECT_EQ(report.schedule, "[]");
  EXPECT_FALSE(report.kept_schedule);
}

TEST_F(EngineOnDisk, AKeptScheduleIsReportedFromMemoryAndFromDisk) {
  const Request request = request_of(parse_graph(kMatmul));
  for (const char* cache : {"miss", "disk"}) {
    auto first = engine();
    if (std::string_view(cache) == "miss") first->keep_schedule(request, "[]");
    const CompileReport report = first->compile(request).executable->report();
    EXPECT_EQ(report.cache, cache);
    EXPECT_EQ(report.schedule, "[]");
    EXPECT_TRUE(report.kept_schedule);
  }
}

TEST_F(EngineOnDisk, ConstantsAreStoredOnce) {
  constexpr size_t kBytes = 400'000;
  Graph graph;
  const TensorId c = add_constant(graph, "c", DType::Float32, {kBytes / 4},
                                  std::vector<std::byte>(kBytes, std::byte{0x3f}));
  const TensorId x = add_input(graph, "x", DType::Float32, {kBytes / 4});
  const ExprId i = graph.pool.axis(0);
  graph.outputs = add_compute(graph, "y", shape_box({kBytes / 4}), {},
                              {graph.pool.add(read(graph, x, {{i}}), read(graph, c, {{i}}))});
  auto first = engine();
  first->compile(request_of(graph));
  first->store().flush();
  uint64_t stored = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_))
    stored += file.file_size();
  EXPECT_GT(stored, kBytes);
  EXPECT_LT(stored, kBytes + 50'000);
  EXPECT_EQ(engine()->compile(request_of(graph)).executable->report().cache, "disk");
}

TEST_F(EngineOnDisk, ADamagedEntryIsAMiss) {
  auto first = engine();
  origin(*first);
  first->store().flush();
  int damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (file.file_size() < 1000) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(file.file_size() / 2));
    bytes.put('\x7f').put('\x11');
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  EXPECT_EQ(origin(*engine()), "miss");
}

TEST_F(EngineOnDisk, AnEntryThatLacksASectionIsAMissAndIsReplaced) {
  const Request request = request_of(parse_graph(kMatmul));
  auto first = engine();
  cache::Entry entry;
  entry.key = first->key(request);
  entry.add("schedule", "[]");
  first->store().save(entry);
  first->store().flush();
  const CompileReport report = first->compile(request).executable->report();
  EXPECT_EQ(report.cache, "miss");
  EXPECT_EQ(report.miss_reason, "the entry cannot be used: the entry lacks a section");
  first->store().flush();
  EXPECT_EQ(origin(*engine()), "disk");
}

TEST(Engine, ReadsNegativeAndTransposedStridesInPlace) {
  Engine engine(memory_only(1));
  const Graph graph = parse_graph(
      "def main(float(3, 4) X) -> (Y) { Y(i, j) = X(i, j) * 2.0 where i in 0:3, j in 0:4 }");
  std::vector<float> memory(12);
  std::iota(memory.begin(), memory.end(), 0.0f);
  for (const auto& [strides, start] :
       {std::pair{std::vector<int64_t>{1, 3}, 0}, std::pair{std::vector<int64_t>{-4, -1}, 11}}) {
    Request request = request_of(graph);
    request.layouts[0].strides = strides;
    std::vector<float> out(12, -1);
    const void* in[] = {memory.data() + start};
    void* outs[] = {out.data()};
    engine.compile(request).executable->run(in, outs);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 4; ++j)
        EXPECT_EQ(out[static_cast<size_t>(4 * i + j)],
                  2 * memory[static_cast<size_t>(start + i * strides[0] + j * strides[1])]);
  }
}

TEST(Engine, OutputsMayBeInputsAndRepeat) {
  Engine engine(memory_only(1));
  Graph graph = parse_graph("def main(float(4) X) -> (Y) { Y(i) = X(i) + 1.0 where i in 0:4 }");
  graph.outputs = {graph.inputs[0], graph.outputs[0], graph.outputs[0]};
  const std::vector<Array> inputs{Array::of(DType::Float32, {4}, std::vector<double>{1, 2, 3, 4})};
  const std::vector<Array> outputs = run_compiled(engine, request_of(graph), inputs);
  ASSERT_EQ(outputs.size(), 3u);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(outputs[0].at(k), static_cast<double>(k + 1));
    EXPECT_EQ(outputs[1].at(k), static_cast<double>(k + 2));
    EXPECT_EQ(outputs[2].at(k), static_cast<double>(k + 2));
  }
}

TEST(Engine, RefusesForeignSchedules) {
  Engine engine(memory_only(1));
  EXPECT_THROW(engine.compile(request_of(parse_graph(kMatmul), "not a schedule")), Error);
  // Nor is it one where the key's word for no schedule is compiled already.
  engine.compile(request_of(parse_graph(kMatmul)));
  EXPECT_THROW(engine.compile(request_of(parse_graph(kMatmul), "default")), Error);
}

TEST(Engine, PlansSurviveJson) {
  Engine engine(memory_only(1));
  const ExecutionPlan& plan = engine.compile(request_of(parse_graph(kMatmul))).executable->plan();
  EXPECT_EQ(plan_from_json(to_json(plan), plan.constants), plan);
  EXPECT_THROW(plan_from_json("{}", ""), Error);
}

}  // namespace
}  // namespace adjit::testing
