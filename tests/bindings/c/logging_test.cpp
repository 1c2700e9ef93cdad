// tests/bindings/c/logging_test.cpp -- what ADJIT_LOG asks for reaches standard error, and no more.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

// What a context made under this ADJIT_LOG says while it compiles, with a cache directory that
// cannot be used: the engine informs, the cache warns.
std::string logged(const char* wanted) {
  const ScratchDirectory scratch;
  const std::string occupied = (scratch.path / "file").string();
  std::ofstream(occupied) << "no directory";
  ::setenv("ADJIT_LOG", wanted, 1);
  ::testing::internal::CaptureStderr();
  {
    adjit_context_options options{};
    options.struct_size = sizeof options;
    options.num_threads = 1;
    options.cache_directory = occupied.c_str();
    adjit_context* made = nullptr;
    EXPECT_EQ(adjit_context_create(&options, &made), ADJIT_OK) << adjit_last_error_message();
    const Context c(made);
    const Executable e = compiled(lowered(c, square()));
  }
  ::unsetenv("ADJIT_LOG");
  return ::testing::internal::GetCapturedStderr();
}

bool informs(const std::string& text) { return text.find("adjit: info: ") != std::string::npos; }
bool warns(const std::string& text) { return text.find("adjit: warning: ") != std::string::npos; }

struct Case {
  const char* text;
  bool info, warning;
};

class Logging : public ::testing::TestWithParam<Case> {};

TEST_P(Logging, SaysWhatIsAskedFor) {
  const std::string text = logged(GetParam().text);
  EXPECT_EQ(informs(text), GetParam().info) << text;
  EXPECT_EQ(warns(text), GetParam().warning) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Logging,
    ::testing::Values(Case{"", false, true}, Case{"warn", false, true},
                      Case{"warning", false, true}, Case{"error", false, false},
                      Case{"off", false, false}, Case{"info", true, true},
                      Case{"jit=info", true, true}, Case{"info,cache=error", true, false},
                      Case{"cache=off,info", true, false}, Case{"off,jit=info", true, false},
                      Case{"info,jit=off", false, true}, Case{"jit=trace,error", true, false},
                      Case{"loud", false, true}, Case{"jit=loud", false, true},
                      Case{"other=debug", false, true}, Case{",,info,", true, true}),
    [](const auto& info) { return "number_" + std::to_string(info.index); });

// What cannot be read is said, and the rest holds.
TEST(LoggingText, ComplainsOfWhatItCannotRead) {
  for (const char* good : {"", "warn", "jit=info,cache=off", ",,info,"})
    EXPECT_EQ(logged(good).find("ADJIT_LOG"), std::string::npos) << good;
  for (const auto& [text, unread] : std::vector<std::pair<const char*, const char*>>{
           {"bogus", "'bogus'"}, {"jit=loud", "'jit=loud'"}, {"info,net=debug", "'net=debug'"}}) {
    const std::string said = logged(text);
    EXPECT_NE(said.find("ADJIT_LOG: " + std::string(unread)), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace adjit_test
