#include "jit/cache/contents/nearest.hpp"

#include <gtest/gtest.h>

#include "jit/cache/contents/entry_file.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::sample_entry;
using test::Scratch;

Key key(const std::string& graph, const std::string& cpu, const std::string& llvm) {
  return Key().add("graph", graph).add("cpu", cpu).add("llvm", llvm);
}

void publish(const Scratch& scratch, const Key& of, int64_t written_unix_ms) {
  ASSERT_EQ(publish_entry(real_file_system(), scratch.open().number(), signature_of(of),
                          encode(sample_entry(of))),
            0);
  test::set_age(scratch.entry(of), written_unix_ms);
}

std::optional<Nearest> nearest(const Scratch& scratch, const Key& to, size_t most = 100) {
  return find_nearest(real_file_system(), scratch.open().number(), to, most);
}

TEST(Nearest, FindsTheFewestDifferences) {
  const Scratch scratch;
  const Key wanted = key("x", "znver5", "19");
  EXPECT_FALSE(nearest(scratch, wanted));
  publish(scratch, wanted, 9'000);  // itself does not count
  EXPECT_FALSE(nearest(scratch, wanted));
  publish(scratch, Key().add("kept schedule", "1").add("graph", "x"), 8'000);  // nor another kind
  EXPECT_FALSE(nearest(scratch, wanted));
  publish(scratch, key("y", "znver4", "19"), 7'000);
  EXPECT_EQ(nearest(scratch, wanted)->differing, 2U);
  EXPECT_EQ(nearest(scratch, wanted)->difference, "graph");
  publish(scratch, key("x", "znver5", "18"), 1'000);
  EXPECT_EQ(nearest(scratch, wanted)->differing, 1U);
  EXPECT_EQ(nearest(scratch, wanted)->difference, "llvm");
  publish(scratch, key("x", "znver4", "19"), 2'000);  // as near, and later
  EXPECT_EQ(nearest(scratch, wanted)->difference, "cpu");
  EXPECT_EQ(nearest(scratch, wanted)->id, signature_of(key("x", "znver4", "19")));
  EXPECT_EQ(nearest(scratch, wanted, 3)->difference, "graph");  // only the latest three
}

// With ADJIT_CHECK_NAN, or with a memory budget, keys have a component more.
TEST(Nearest, AComponentThatOneKeyLacksIsADifference) {
  const Scratch scratch;
  const Key plain = key("x", "znver5", "19");
  publish(scratch, plain, 1'000);
  publish(scratch, key("y", "znver5", "18"), 2'000);
  const std::optional<Nearest> found = nearest(scratch, Key(plain).add("checks", "nan"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, signature_of(plain));
  EXPECT_EQ(found->differing, 1U);
  EXPECT_EQ(found->difference, "checks");
  EXPECT_EQ(nearest(scratch, key("x", "znver5", "20"))->id, signature_of(plain));
}

}  // namespace
}  // namespace adjit::cache
