// tests/bindings/c/boundary_test.cpp -- statuses and their names, messages of each thread, option
// structs of other versions, the caller's float mode.
#include <barrier>
#include <set>
#include <thread>

#include <immintrin.h>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

TEST(Library, TellsItsVersion) {
  EXPECT_EQ(adjit_abi_version(), static_cast<uint32_t>(ADJIT_ABI_VERSION));
  const std::string version = adjit_version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << version;
}

TEST(Library, NamesEveryStatus) {
  std::set<std::string> names;
  for (int k = 0; k <= ADJIT_CANCELLED; ++k)
    names.insert(adjit_status_name(static_cast<adjit_status>(k)));
  EXPECT_EQ(names.size(), static_cast<size_t>(ADJIT_CANCELLED) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(adjit_status_name(ADJIT_OK), "ok");
  // The number of a newer library.
  volatile int beyond = ADJIT_CANCELLED + 1;
  EXPECT_STREQ(adjit_status_name(static_cast<adjit_status>(beyond)), "unknown");
}

TEST(Messages, BelongToTheirThread) {
  adjit_context* made = nullptr;
  ASSERT_EQ(adjit_context_create(nullptr, nullptr), ADJIT_INVALID);
  const std::string mine = adjit_last_error_message();
  std::string before, other;
  std::barrier step(2);
  std::jthread thread([&] {
    before = adjit_last_error_message();
    adjit_context_options o{};
    o.struct_size = sizeof o;
    o.cache_mode = "theirs";
    EXPECT_EQ(adjit_context_create(&o, &made), ADJIT_INVALID);
    step.arrive_and_wait();  // both have failed
    other = adjit_last_error_message();
  });
  EXPECT_EQ(adjit_text_module_create(nullptr, nullptr, nullptr), ADJIT_INVALID);
  const std::string newer = adjit_last_error_message();
  step.arrive_and_wait();
  thread.join();
  EXPECT_EQ(before, "") << "a thread that has not failed has no message";
  EXPECT_NE(other.find("theirs"), std::string::npos);
  EXPECT_NE(mine, newer);
  EXPECT_EQ(adjit_last_error_message(), newer);
}

TEST(Messages, StayUntilTheNextFailure) {
  ASSERT_EQ(adjit_context_create(nullptr, nullptr), ADJIT_INVALID);
  const std::string before = adjit_last_error_message();
  const Computation f = square();
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_text(f.get(), &text));
  EXPECT_EQ(adjit_last_error_message(), before) << "success says nothing";
}

// Longer than this version knows: a newer caller, whose members we ignore.
TEST(OptionStructs, OfOtherVersionsAreUnderstood) {
  struct {
    adjit_context_options known;
    uint64_t newer[4];
  } longer{adjit_context_options{}, {1, 2, 3, 4}};
  longer.known.struct_size = sizeof longer;
  adjit_context* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_context_create(&longer.known, &made));
  adjit_context_destroy(made);
  adjit_context_options shorter{};
  shorter.struct_size = offsetof(adjit_context_options, cache_directory);
  shorter.num_threads = 1;
  shorter.cache_directory = shorter.cache_mode = untouched<char>();
  ADJIT_OK_OR_FAIL(adjit_context_create(&shorter, &made));
  adjit_context_destroy(made);
}

// A caller compiled against an older, shorter struct: what it lacks is the default.
TEST(OptionStructs, WhatAShorterOneLacksIsTheDefault) {
  const Context c = context();
  const Computation f = square();
  adjit_lower_options options{};
  options.struct_size = offsetof(adjit_lower_options, title);
  options.target = "cpu";
  options.title = untouched<char>();  // lies behind the end: may not be read
  options.schedule_json = untouched<char>();
  adjit_lowered* l = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_lower(c.get(), f.get(), 0, nullptr, &options, &l));
  const Lowered owned(l);
  compiled(owned);
}

// Where the caller's mode flushes, a constant that is rounded to a subnormal number would be 0.
TEST(CallersFloatMode, DoesNotChangeNumbersThatAreKnownWhenTracing) {
  const auto text = [] {
    adjit_text_module* made = nullptr;
    EXPECT_EQ(
        adjit_text_module_create("def f(float x) -> (y) { y() = x() + 1e-39 }", nullptr, &made),
        ADJIT_OK);
    const TextModule module(made);
    const adjit_dtype dtype = ADJIT_FLOAT32;
    const int32_t rank = 0;
    adjit_computation* f = nullptr;
    EXPECT_EQ(adjit_text_module_instantiate(module.get(), "f", 1, &dtype, &rank, nullptr, &f),
              ADJIT_OK)
        << adjit_last_error_message();
    const Computation computation(f);
    const char* printed = "";
    EXPECT_EQ(adjit_computation_text(computation.get(), &printed), ADJIT_OK);
    return std::string(printed);
  };
  const std::string kept = text();
  EXPECT_NE(kept.find("1e-39"), std::string::npos) << kept;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
  const std::string flushed = text();
  const bool restored = _mm_getcsr() == (before | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
  _mm_setcsr(before);
  EXPECT_EQ(flushed, kept);
  EXPECT_TRUE(restored) << "the caller has another mode than before";
}

}  // namespace
}  // namespace adjit_test
