// tests/jit/engine/export/library_test.cpp -- the files of a library, and the C compiler that makes
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "jit/engine/export/export.hpp"
#include "runtime/expr/error.hpp"
#include "tests/jit/engine/export/export_folder.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

/// CC for as long as it lives.
class Compiler {
 public:
  explicit Compiler(const std::string& path) {
    if (const char* before = std::getenv("CC")) before_ = before;
    ::setenv("CC", path.c_str(), 1);
  }
  ~Compiler() { before_.empty() ? ::unsetenv("CC") : ::setenv("CC", before_.c_str(), 1); }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

 private:
  std::string before_;
};

/// Functions of no kernel: what is asked here needs no code.
std::vector<ExportedFunction> named(std::initializer_list<const char*> names) {
  std::vector<ExportedFunction> functions;
  for (const char* name : names) {
    functions.emplace_back();
    functions.back().name = name;
  }
  return functions;
}

std::set<std::string> files_in(const ExportFolder& folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder.path))
    names.insert(file.path().filename());
  return names;
}

std::string refused(const char* library, std::initializer_list<const char*> functions,
                    ErrorCode code, const std::filesystem::path& directory) {
  try {
    export_library(library, named(functions), directory);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

TEST(ExportLibrary, WritesItsFourFilesAndNoOther) {
  const ExportFolder folder;
  export_library("made", named({"f", "g"}), folder.path / "new");
  EXPECT_EQ(files_in(folder), std::set<std::string>{"new"});
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder.path / "new"))
    files.insert(file.path().filename());
  EXPECT_EQ(files, (std::set<std::string>{"made.h", "made.c", "made.o", "libmade.so"}));
}

TEST(ExportLibrary, NamesThatAreNoIdentifiersAreRefusedBeforeAnythingIsWritten) {
  const ExportFolder folder;
  const ErrorCode invalid = ErrorCode::Invalid;
  for (const char* name :
       {"", "1st", "a-b", "a b", "../up", "\xc3\xa4", "double", "main", "new", "co_await"}) {
    EXPECT_NE(refused(name, {"f"}, invalid, folder.path).find("no C identifier"),
              std::string::npos);
    EXPECT_NE(refused("l", {"f", name}, invalid, folder.path).find("no C identifier"),
              std::string::npos);
  }
  EXPECT_NE(refused("l", {"f", "g", "f"}, invalid, folder.path).find("two functions are named 'f'"),
            std::string::npos);
  EXPECT_TRUE(files_in(folder).empty());
}

TEST(ExportLibrary, AFolderThatCannotBeWrittenIsNamed) {
  const ExportFolder folder;
  const std::filesystem::path file = folder.path / "file";
  std::ofstream(file).close();
  EXPECT_NE(refused("l", {"f"}, ErrorCode::Invalid, file).find(file.string()), std::string::npos);
}

TEST(ExportLibrary, ACompilerThatIsNotThereIsNamedWithTheRemedy) {
  const ExportFolder folder;
  const Compiler compiler("/no/such/compiler");
  const std::string said = refused("l", {"f"}, ErrorCode::Compile, folder.path);
  EXPECT_NE(said.find("'/no/such/compiler' cannot be run"), std::string::npos) << said;
  EXPECT_NE(said.find("set CC"), std::string::npos) << said;
}

TEST(ExportLibrary, WhatAFailingCompilerSaysIsPassedOnAndItsFilesAreRemoved) {
  const ExportFolder folder;
  const std::filesystem::path script = folder.path / "cc";
  std::ofstream(script) << "#!/bin/sh\necho so much for \"$1\" >&2\nexit 3\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Compiler compiler(script);
  const std::string said = refused("l", {"f"}, ErrorCode::Compile, folder.path);
  EXPECT_NE(said.find("failed: so much for -std=c11"), std::string::npos) << said;
  EXPECT_EQ(files_in(folder), (std::set<std::string>{"cc", "l.c", "l.h"}));
}

}  // namespace
}  // namespace adjit::testing
