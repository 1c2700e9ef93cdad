// tests/runtime/process/run_program_test.cpp -- other programs: found, and run to their end.
#include "runtime/process/run_program.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "runtime/process/scratch_folder.hpp"

namespace adjit::process {
namespace {

class RunProgram : public testing::Test {
 protected:
  ProgramRun run(const std::string& program, const std::vector<std::string>& arguments) {
    return run_program(program, arguments, folder / "printed");
  }
  ScratchFolder folder{testing::TempDir(), "run-program"};
};

TEST_F(RunProgram, BothStreamsAreReadAndTheStatus) {
  const ProgramRun ran = run("sh", {"-c", "echo one; echo two >&2; cat; exit 3"});
  EXPECT_EQ(ran.status, 3);
  EXPECT_EQ(ran.printed, "one\ntwo\n");
  EXPECT_EQ(ran.failure, "");
  EXPECT_EQ(run("/bin/sh", {"-c", ":"}).status, 0);
}

TEST_F(RunProgram, ArgumentsAreNotAShells) {
  EXPECT_EQ(run("printf", {"%s,", "a b", "$HOME", "*"}).printed, "a b,$HOME,*,");
}

TEST_F(RunProgram, WhatIsNotThereOrWasKilledSaysSo) {
  const ProgramRun none = run("/nowhere/program", {});
  EXPECT_EQ(none.status, -1);
  EXPECT_EQ(none.failure, "No such file or directory");
  const ProgramRun killed = run("sh", {"-c", "kill -9 $$"});
  EXPECT_EQ(killed.status, -1);
  EXPECT_EQ(killed.failure, "");
}

TEST_F(RunProgram, AnUnknownEndIsNoSuccess) {
  std::signal(SIGCHLD, SIG_IGN);
  const ProgramRun ran = run("sh", {"-c", "echo one; exit 1"});
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(ran.status, -1);
  EXPECT_TRUE(ran.failure.starts_with("how it ended is not known: ")) << ran.failure;
}

TEST_F(RunProgram, ProgramsAreFoundInThePath) {
  const std::optional<std::string> found = find_program("sh");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ends_with("/sh")) << *found;
  EXPECT_FALSE(find_program("no-program-of-this-name"));
}

}  // namespace
}  // namespace adjit::process
