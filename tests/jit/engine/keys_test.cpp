// tests/jit/engine/keys_test.cpp -- what makes a key another one, and what does not.
#include "jit/engine/keys.hpp"

#include <gtest/gtest.h>

#include "jit/engine/backend/cpu_backend.hpp"
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
  const cache::Key key = code_key(sample_request(), code_components(cpu_target()), false);
  const std::string* made_by = key.find("adjit");
  ASSERT_NE(made_by, nullptr);
  const size_t slash = made_by->find('/');
  EXPECT_EQ(made_by->substr(0, slash), ADJIT_VERSION);
  EXPECT_TRUE(cache::signature_from_hex(made_by->substr(slash + 1))) << "128 bits of a hash";
  EXPECT_EQ(*key.find("llvm"), llvm_version());
}

TEST(Keys, DifferByWhatCodeDependsOn) {
  const Components machine = code_components(cpu_target());
  const Request request = sample_request();
  const cache::Key plain = code_key(request, machine, false);
  Request strided = request, scheduled = request, bounded = request, titled = request;
  strided.layouts[0].strides = {1, 3};
  scheduled.schedule_json = "[]";
  bounded.memory_budget = 1 << 20;
  titled.title = "for people";
  for (const Request& other : {strided, scheduled, bounded})
    EXPECT_TRUE(first_difference(plain, code_key(other, machine, false)));
  EXPECT_EQ(first_difference(plain, code_key(request, machine, true)), "checks");
  EXPECT_FALSE(first_difference(plain, code_key(titled, machine, false)));
}

// A loss here would be an entry that is taken for another one.
TEST(Keys, NameEachThingThatCodeDependsOn) {
  const CpuTarget target = cpu_target();
  const Request request = sample_request();
  Request tripled =
      request_of(parse_graph("def main(float(3, 4) x) -> (y) { y(i, j) = x(i, j) * 3.0 }"));
  Transformation pullback;
  pullback.kind = Transformation::Kind::Vjp;
  pullback.wrt = {0};
  pullback.outputs = {0};
  Request derived = request;
  derived.computation = Computation::transformed(*request.computation, pullback);
  CpuTarget triple = target, cpu = target, features = target;
  triple.triple += "x";
  cpu.cpu += "x";
  features.features += ",+x";
  const auto expect = [&](const cache::Key& plain, const auto& key_of) {
    const auto difference = [&](const Request& r, const CpuTarget& t) {
      return first_difference(plain, key_of(r, t));
    };
    EXPECT_EQ(difference(tripled, target), "graph");
    EXPECT_EQ(difference(derived, target), "transformations");
    EXPECT_EQ(difference(request, cpu), "cpu");
    EXPECT_EQ(difference(request, features), "features");
    ASSERT_NE(plain.find("cores"), nullptr);
    EXPECT_EQ(*plain.find("cores"), std::to_string(ThreadPool::available_threads()));
  };
  const auto code = [](const Request& r, const CpuTarget& t) {
    return code_key(r, code_components(t), false);
  };
  expect(code(request, target), code);
  const auto kept = [](const Request& r, const CpuTarget& t) {
    return kept_schedule_key(r, schedule_components(t));
  };
  expect(kept(request, target), kept);
  EXPECT_EQ(first_difference(code(request, target), code(request, triple)), "triple");
}

TEST(Keys, NameTheAlignmentOfAGpusArguments) {
  const Components machine{{"target", "cuda"}};
  Request request = sample_request();
  EXPECT_EQ(code_key(request, machine, false).find("alignment"), nullptr) << "of a processor";
  request.target = "cuda";
  Request shifted = request;
  shifted.unaligned = {1};
  const cache::Key key = code_key(request, machine, false);
  EXPECT_EQ(*key.find("alignment"), "16");
  EXPECT_EQ(first_difference(key, code_key(shifted, machine, false)), "alignment");
  EXPECT_FALSE(
      first_difference(kept_schedule_key(request, machine), kept_schedule_key(shifted, machine)))
      << "a schedule serves them all";
}

TEST(Keys, AScheduleIsKeptForAnyScheduleAndBudget) {
  const Components machine = schedule_components(cpu_target());
  const Request request = sample_request();
  Request other = request, strided = request;
  other.schedule_json = "[]";
  other.memory_budget = 1 << 20;
  strided.layouts[0].strides = {1, 3};
  const cache::Key key = kept_schedule_key(request, machine);
  EXPECT_FALSE(first_difference(key, kept_schedule_key(other, machine)));
  EXPECT_EQ(first_difference(key, kept_schedule_key(strided, machine)), "strides");
}

}  // namespace
}  // namespace adjit::testing
