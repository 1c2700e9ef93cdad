// tests/jit/engine/keys_test.cpp -- what makes a key another one, and what does not.
#include "jit/engine/keys.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Request sample_request() {
  return request_of(parse_graph("def main(float(3, 4) x) -> (y) { y(i, j) = x(i, j) * 2.0 }"));
}

// Entries of other sources are others: docs/internals/cache.md.
TEST(Keys, NameTheVersionAndTheSources) {
  const cache::Key key = code_key(sample_request(), cpu_target(), false);
  const std::string* made_by = key.find("adjit");
  ASSERT_NE(made_by, nullptr);
  const size_t slash = made_by->find('/');
  EXPECT_EQ(made_by->substr(0, slash), ADJIT_VERSION);
  EXPECT_TRUE(cache::signature_from_hex(made_by->substr(slash + 1))) << "128 bits of a hash";
  EXPECT_EQ(*key.find("llvm"), llvm_version());
}

TEST(Keys, DifferByWhatCodeDependsOn) {
  const CpuTarget target = cpu_target();
  const Request request = sample_request();
  const cache::Key plain = code_key(request, target, false);
  Request strided = request, scheduled = request, bounded = request, titled = request;
  strided.layouts[0].strides = {1, 3};
  scheduled.schedule_json = "[]";
  bounded.memory_budget = 1 << 20;
  titled.title = "for people";
  for (const Request& other : {strided, scheduled, bounded})
    EXPECT_TRUE(first_difference(plain, code_key(other, target, false)));
  EXPECT_EQ(first_difference(plain, code_key(request, target, true)), "checks");
  EXPECT_FALSE(first_difference(plain, code_key(titled, target, false)));
}

TEST(Keys, AScheduleIsKeptForAnyScheduleAndBudget) {
  const CpuTarget target = cpu_target();
  const Request request = sample_request();
  Request other = request, strided = request;
  other.schedule_json = "[]";
  other.memory_budget = 1 << 20;
  strided.layouts[0].strides = {1, 3};
  const cache::Key key = kept_schedule_key(request, target);
  EXPECT_FALSE(first_difference(key, kept_schedule_key(other, target)));
  EXPECT_EQ(first_difference(key, kept_schedule_key(strided, target)), "strides");
}

}  // namespace
}  // namespace adjit::testing
