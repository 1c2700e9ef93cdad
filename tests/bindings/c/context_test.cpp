// tests/bindings/c/context_test.cpp -- contexts, their options, logs.
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

adjit_context_options options() {
  adjit_context_options o{};
  o.struct_size = sizeof o;
  o.cache_mode = "off";
  return o;
}

TEST(ContextApi, OptionsAreChecked) {
  adjit_context* made = untouched<adjit_context>();
  const auto create = [&](const auto& change) {
    adjit_context_options o = options();
    change(o);
    return adjit_context_create(&o, &made);
  };
  EXPECT_FAILURE(create([](auto& o) { o.struct_size = 0; }), ADJIT_INVALID, "struct_size");
  EXPECT_FAILURE(create([](auto& o) { o.struct_size = 2; }), ADJIT_INVALID, "struct_size");
  EXPECT_FAILURE(create([](auto& o) { o.num_threads = -1; }), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(create([](auto& o) { o.num_threads = 1 << 20; }), ADJIT_INVALID, "1048576");
  EXPECT_FAILURE(create([](auto& o) { o.cache_mode = "readonly"; }), ADJIT_INVALID, "readonly");
  EXPECT_FAILURE(create([](auto& o) { o.target_features = "z80"; }), ADJIT_INVALID, "z80");
  EXPECT_FAILURE(adjit_context_create(nullptr, nullptr), ADJIT_INVALID, "context");
  EXPECT_EQ(made, untouched<adjit_context>());
  adjit_context_destroy(nullptr);
}

TEST(ContextApi, TellsAboutItself) {
  const Context c = context();
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_context_info(c.get(), &json));
  for (const char* part : {"\"version\"", "\"llvm\":\"19", "\"triple\"", "\"threads\":2",
                           "\"mode\":\"off\"", "\"gpus\":["})
    EXPECT_NE(std::string(json).find(part), std::string::npos) << part << " in " << json;
  const char* text = untouched<char>();
  EXPECT_FAILURE(adjit_context_info(nullptr, &text), ADJIT_INVALID, "context");
  EXPECT_FAILURE(adjit_context_info(c.get(), nullptr), ADJIT_INVALID, "json");
  EXPECT_FAILURE(adjit_context_flush(nullptr), ADJIT_INVALID, "context");
  EXPECT_EQ(text, untouched<char>());
}

TEST(ContextApi, TellsWhatItsHeaderSays) {
  const Context c = context();
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_context_info(c.get(), &json));
  const auto members = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  using Names = std::set<std::string>;
  const nlohmann::json info = nlohmann::json::parse(json);
  EXPECT_EQ(members(info), (Names{"version", "llvm", "compiler", "target", "threads", "subnormals",
                                  "gpus", "cache"}));
  EXPECT_EQ(members(info["target"]), (Names{"triple", "cpu", "features", "vector_bits"}));
  EXPECT_EQ(members(info["cache"]), (Names{"directory", "mode", "writable", "max_bytes"}));
  const Executable e = compiled(lowered(c, square()));
  ADJIT_OK_OR_FAIL(adjit_executable_report(e.get(), &json));
  EXPECT_EQ(members(nlohmann::json::parse(json)),
            (Names{"target", "cache", "miss_reason", "trace_ms", "derive_ms", "schedule_ms",
                   "compile_ms", "load_ms", "kernels", "workspace_bytes", "code_bytes",
                   "kept_schedule", "fallbacks", "key", "id"}));
}

TEST(ContextApi, OfAnOlderCpuGivesTheSameResults) {
  for (const char* level : {"x86-64-v2", "x86-64-v3"}) {
    adjit_context_options o = options();
    o.target_features = level;
    adjit_context* made = nullptr;
    ADJIT_OK_OR_FAIL(adjit_context_create(&o, &made));
    const Context c(made);
    const Executable e = compiled(lowered(c, square()));
    Floats in({3, 4}), out({3, 4});
    const DLTensor* inputs[] = {&in.tensor};
    DLTensor* outputs[] = {&out.tensor};
    ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
    EXPECT_EQ(out.data[11], 132) << level;
  }
}

TEST(ContextApi, TheDiskCacheServesTheNextContext) {
  const ScratchDirectory scratch;
  const auto origin = [&] {
    adjit_context_options o = options();
    const std::string directory = scratch.path.string();
    o.cache_directory = directory.c_str();
    o.cache_mode = "rw";
    adjit_context* made = nullptr;
    EXPECT_EQ(adjit_context_create(&o, &made), ADJIT_OK) << adjit_last_error_message();
    const Context c(made);
    const Executable e = compiled(lowered(c, square()));
    EXPECT_EQ(adjit_context_flush(c.get()), ADJIT_OK);
    const char* report = "";
    EXPECT_EQ(adjit_executable_report(e.get(), &report), ADJIT_OK);
    return std::string(report);
  };
  EXPECT_NE(origin().find("\"cache\":\"miss\""), std::string::npos);
  EXPECT_NE(origin().find("\"cache\":\"disk\""), std::string::npos);
}

TEST(ContextApi, SubnormalNumbersAsTheOptionSaysElseTheEnvironment) {
  const auto told = [](int32_t option) {
    adjit_context_options o = options();
    o.keep_subnormals = option;
    adjit_context* made = nullptr;
    EXPECT_EQ(adjit_context_create(&o, &made), ADJIT_OK) << adjit_last_error_message();
    const Context c(made);
    const char* json = "";
    EXPECT_EQ(adjit_context_info(c.get(), &json), ADJIT_OK);
    return std::string(json).find("\"subnormals\":\"keep\"") != std::string::npos;
  };
  EXPECT_FALSE(told(0));
  EXPECT_TRUE(told(1));
  setenv("ADJIT_SUBNORMALS", "keep", 1);
  EXPECT_TRUE(told(0));
  EXPECT_FALSE(told(-1));
  setenv("ADJIT_SUBNORMALS", "maybe", 1);
  adjit_context* made = nullptr;
  EXPECT_FAILURE(adjit_context_create(nullptr, &made), ADJIT_INVALID, "maybe");
  unsetenv("ADJIT_SUBNORMALS");
}

// A directory that cannot be used is a warning to the caller's log; compiling goes on without it.
TEST(ContextApi, LogsToTheCaller) {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch.path / "file";
  std::ofstream(file).close();
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
  } log;
  adjit_context_options o = options();
  const std::string directory = (file / "below").string();
  o.cache_directory = directory.c_str();
  o.cache_mode = "rw";
  o.log_user = &log;
  o.log = [](void* user, adjit_log_level level, const char* message) {
    Log& to = *static_cast<Log*>(user);
    const std::lock_guard lock(to.mutex);
    if (level <= ADJIT_LOG_WARNING) to.lines.emplace_back(message);
  };
  adjit_context* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_context_create(&o, &made));
  {
    const Context c(made);
    compiled(lowered(c, square()));
  }
  EXPECT_FALSE(log.lines.empty());
}

}  // namespace
}  // namespace adjit_test
