// The program as users run it: arguments, environment, exit codes.
#include <cstdio>

#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and error
};

class ProgramTest : public test::FilledShelf {
 protected:
  Outcome run(const std::string& arguments) {
    const std::string command =
        "env -u ADJIT_CACHE -u ADJIT_CACHE_MAX_SIZE -u ADJIT_CACHE_SHARED " + environment +
        " ADJIT_CACHE_DIR='" + scratch.path().string() + "' '" ADJIT_PROGRAM "' " + arguments +
        " 2>&1";
    Outcome result;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
      result.output.push_back(static_cast<char>(c));
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  std::string environment;
};

TEST_F(ProgramTest, EachCommandRuns) {
  const std::string a = add("a", 40, 1'000);
  const std::string b = add("b", 40, 2'000);
  use(a);
  const auto before = snapshot();
  for (const std::string& arguments :
       {std::string("list"), std::string("list --sort saved"), "show " + a.substr(0, 8),
        "cat --schedule " + a, "cat " + a + " --object", "cat --section schedule " + a,
        "why " + a + " " + b, std::string("why --last"), "diff " + a + " " + b,
        std::string("stats"), std::string("stats --json"), std::string("verify"),
        std::string("prune --max-size 1K --older-than 1d --dry-run"), std::string("doctor"),
        std::string("--help"), std::string("prune --help")}) {
    const Outcome result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
    EXPECT_FALSE(arguments != "diff " + a + " " + b && result.output.empty()) << arguments;
  }
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(run("prune --older-than 1d").exit_code, 0);
  EXPECT_TRUE(shelf().inventory.entries.empty());
  add("a");
  EXPECT_EQ(run("clear").exit_code, 0);
  EXPECT_TRUE(scratch.names().empty());
}

TEST_F(ProgramTest, UsageErrorsAreTwo) {
  add("a");
  for (const char* arguments :
       {"", "dance", "list --sort colour", "show", "show abc", "show ffffffff", "cat --text", "why",
        "why aaaa", "why --last aaaa", "prune", "prune --max-size lots", "prune --older-than 5",
        "cat aaaa", "cat --text --llvm aaaa", "diff aaaa"})
    EXPECT_EQ(run(arguments).exit_code, 2) << arguments;
}

TEST_F(ProgramTest, FindingsAreOne) {
  const std::string id = add("a");
  EXPECT_EQ(run("cat --llvm " + id).exit_code, 1);
  std::filesystem::resize_file(scratch / (id + ".entry"), 60);
  EXPECT_EQ(run("verify").exit_code, 1);
  EXPECT_EQ(run("show " + id).exit_code, 1);
  EXPECT_EQ(run("doctor").exit_code, 1);
  EXPECT_EQ(run("list").exit_code, 0);
}

TEST_F(ProgramTest, InputAndOutputErrorsAreThree) {
  add("a");
  EXPECT_EQ(run("list > /dev/full").exit_code, 3);
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  const Outcome refused = run("list");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_TRUE(contains(refused.output, "chmod 700")) << refused.output;
}

TEST_F(ProgramTest, TheEnvironmentAndDirSayWhere) {
  add("a");
  EXPECT_TRUE(contains(run("stats").output, "entries      1"));
  EXPECT_TRUE(
      contains(run("--dir '" + (scratch / "none").string() + "' stats").output, "entries      0"));
  environment = "ADJIT_CACHE_MAX_SIZE=64M";
  EXPECT_TRUE(contains(run("stats").output, "of 64.0 MiB"));
  environment = "ADJIT_CACHE_MAX_SIZE=lots";
  EXPECT_TRUE(contains(run("stats").output, "ADJIT_CACHE_MAX_SIZE is 'lots'"));
}

}  // namespace
}  // namespace adjit::cache_tool
