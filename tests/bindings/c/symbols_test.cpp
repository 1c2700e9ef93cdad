// tests/bindings/c/symbols_test.cpp -- the header against the tests of this folder and against the
// library: every function is called somewhere, and every one is there.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names that the header declares with ADJIT_API.
std::set<std::string> declared() {
  const std::filesystem::path tests = ADJIT_TEST_SOURCE_DIR;
  const std::string header =
      read(tests.parent_path().parent_path().parent_path() / "bindings/c/adjit.h");
  std::set<std::string> names;
  // After each ADJIT_API, the last adjit_... before the parenthesis.
  for (size_t at = header.find("\nADJIT_API "); at != std::string::npos;
       at = header.find("\nADJIT_API ", at + 1)) {
    const size_t open = header.find('(', at);
    const size_t name = header.rfind("adjit_", open);
    if (open != std::string::npos && name > at) names.insert(header.substr(name, open - name));
  }
  return names;
}

TEST(Symbols, TheHeaderIsUnderstood) {
  const std::set<std::string> names = declared();
  EXPECT_GE(names.size(), 50u);
  EXPECT_TRUE(names.contains("adjit_trace_create"));
  EXPECT_TRUE(names.contains("adjit_executable_assembly"));
  EXPECT_FALSE(names.contains("adjit_status"));
}

TEST(Symbols, EveryFunctionIsCalledByATest) {
  std::string cpp, c;
  for (const auto& file : std::filesystem::directory_iterator(ADJIT_TEST_SOURCE_DIR)) {
    if (file.path().extension() == ".cpp") cpp += read(file.path());
    if (file.path().extension() == ".c") c += read(file.path());
  }
  for (const std::string& name : declared()) {
    EXPECT_NE(cpp.find(name + "("), std::string::npos) << name << " is in no C++ test";
    EXPECT_NE(c.find(name + "("), std::string::npos) << name << " is in no C test";
  }
}

TEST(Symbols, EveryFunctionIsExported) {
  void* library = dlopen(nullptr, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  for (const std::string& name : declared())
    EXPECT_NE(dlsym(library, name.c_str()), nullptr) << name;
  dlclose(library);
}

}  // namespace
}  // namespace adjit_test
