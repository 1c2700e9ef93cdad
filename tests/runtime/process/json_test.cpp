// tests/runtime/process/json_test.cpp -- JSON values without memory.
#include "runtime/process/json.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "tests/forked_child.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::process {
namespace {

TEST(Json, KeepsTheOrderOfMembers) {
  const char* const text = R"({"b":[1,2.5,{"z":null}],"a":"x"})";
  EXPECT_EQ(Json::parse(text).dump(), text);
  const Json made = {{"b", {1, 2.5, {{"z", nullptr}}}}, {"a", "x"}};
  EXPECT_EQ(made.dump(), text);
}

TEST(Json, ElementsOfAVectorComeFromMemory) {
  std::vector<Json> list;
  for (int k = 0; k < 1000; ++k) list.push_back(Json::array({k}));
  const std::vector<Json> copy = list;
  list.clear();
  EXPECT_EQ(copy[999][0], 999);
}

// Of this process, until nothing is left of what it may have.
void take_all_memory() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (size_t{1} << 20);
  setrlimit(RLIMIT_AS, &limit);
  for (size_t bytes = size_t{1} << 20; bytes > 0; bytes /= 2)
    while (void* volatile taken = std::malloc(bytes)) static_cast<void>(taken);
}

TEST(Json, IsDestroyedWithoutMemory) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need their address space";
  EXPECT_EQ(test::in_child([] {
              Json object = Json::object();
              for (int k = 0; k < 50; ++k) {
                Json list = Json::array();
                for (int n = 0; n < 400; ++n) list.push_back({{"n", n}, {"list", {1, 2}}});
                object["member" + std::to_string(k)] = std::move(list);
              }
              Json second = object;
              take_all_memory();
              object = nullptr;
              second = nullptr;
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace adjit::process
