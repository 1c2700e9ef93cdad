#include "jit/cache/memory_tier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/allocation_count.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using Tier = MemoryTier<std::string>;

Signature key(uint64_t number) { return {number, ~number}; }

auto maker(const std::string& value) {
  return [value] { return std::make_shared<std::string>(value); };
}

Tier::Pointer never() {
  ADD_FAILURE() << "made again";
  return nullptr;
}

TEST(MemoryTier, MakesOnceAndFindsAgain) {
  Tier tier;
  EXPECT_EQ(tier.find(key(1)), nullptr);
  const Tier::Pointer made = tier.get_or_create(key(1), maker("one"));
  EXPECT_EQ(*made, "one");
  EXPECT_EQ(tier.get_or_create(key(1), never), made);
  EXPECT_EQ(tier.find(key(1)), made);
  EXPECT_EQ(tier.find({1, 0}), nullptr);
  EXPECT_EQ(tier.size(), 1U);
}

TEST(MemoryTier, ErasedValuesLiveOnWithTheirHolders) {
  Tier tier;
  const Tier::Pointer held = tier.get_or_create(key(1), maker("one"));
  tier.get_or_create(key(2), maker("two"));
  EXPECT_TRUE(tier.erase(key(1)));
  EXPECT_FALSE(tier.erase(key(1)));
  EXPECT_EQ(*held, "one");
  EXPECT_EQ(*tier.get_or_create(key(1), maker("new one")), "new one");
  tier.clear();
  EXPECT_EQ(tier.size(), 0U);
  EXPECT_EQ(tier.bytes(), 0U);
}

TEST(MemoryTier, AFailureIsThrownAndForgotten) {
  Tier tier;
  const auto fail = []() -> Tier::Pointer { throw std::runtime_error("no"); };
  EXPECT_THROW(tier.get_or_create(key(1), fail), std::runtime_error);
  EXPECT_EQ(tier.size(), 0U);
  EXPECT_EQ(*tier.get_or_create(key(1), maker("one")), "one");
}

TEST(MemoryTier, ANullResultIsNotRemembered) {
  Tier tier;
  EXPECT_EQ(tier.get_or_create(key(1), [] { return Tier::Pointer(); }), nullptr);
  EXPECT_EQ(tier.size(), 0U);
  EXPECT_EQ(*tier.get_or_create(key(1), maker("one")), "one");
}

TEST(MemoryTier, AValueMayNeedOthersButNotItself) {
  Tier tier;
  const auto nested = [&] {
    return std::make_shared<std::string>(*tier.get_or_create(key(2), maker("two")) + "!");
  };
  EXPECT_EQ(*tier.get_or_create(key(1), nested), "two!");
  const std::function<Tier::Pointer()> itself = [&] { return tier.get_or_create(key(3), itself); };
  EXPECT_THROW(tier.get_or_create(key(3), itself), Error);
}

TEST(MemoryTier, CapacityLetsTheLeastRecentlyUsedGo) {
  Tier tier(10, [](const std::string& value) { return value.size(); });
  tier.get_or_create(key(1), maker("1111"));
  tier.get_or_create(key(2), maker("2222"));
  EXPECT_NE(tier.find(key(1)), nullptr);
  tier.get_or_create(key(3), maker("333"));
  EXPECT_EQ(tier.find(key(2)), nullptr);
  EXPECT_NE(tier.find(key(1)), nullptr);
  EXPECT_NE(tier.find(key(3)), nullptr);
  EXPECT_EQ(tier.bytes(), 7U);
  // One that is too large on its own still serves until the next.
  tier.get_or_create(key(4), maker("the whole capacity and more"));
  EXPECT_EQ(tier.size(), 1U);
  EXPECT_NE(tier.find(key(4)), nullptr);
  tier.get_or_create(key(5), maker("5"));
  EXPECT_EQ(tier.find(key(4)), nullptr);
  EXPECT_EQ(tier.bytes(), 1U);
}

// Signatures whose high halves agree modulo a power of two share a lock, and a list of uses.
TEST(MemoryTier, RecencyHoldsAmongNeighbours) {
  Tier tier(2);
  tier.get_or_create(key(0), maker("0"));
  tier.get_or_create(key(1024), maker("1024"));
  EXPECT_NE(tier.find(key(0)), nullptr);
  tier.get_or_create(key(2048), maker("2048"));
  EXPECT_NE(tier.find(key(0)), nullptr);
  EXPECT_EQ(tier.find(key(1024)), nullptr);
}

TEST(MemoryTier, CapacityWithoutSizesIsACount) {
  Tier tier(3);
  for (uint64_t k = 0; k < 50; ++k) tier.get_or_create(key(k), maker("x"));
  EXPECT_EQ(tier.size(), 3U);
  for (uint64_t k = 47; k < 50; ++k) EXPECT_NE(tier.find(key(k)), nullptr);
}

TEST(MemoryTier, AHitAllocatesNothing) {
  if (test::kSanitized) GTEST_SKIP() << "allocations are the sanitizer's";
  Tier tier(100);
  tier.get_or_create(key(1), maker("one"));
  tier.get_or_create(key(2), maker("two"));
  EXPECT_GT(testing::allocation_count(), 0U);
  const size_t before = testing::allocation_count();
  for (int k = 0; k < 100; ++k) {
    tier.get_or_create(key(1), never);
    tier.find(key(2));
  }
  EXPECT_EQ(testing::allocation_count(), before);
}

TEST(MemoryTier, AHitTakesWellUnderAMicrosecond) {
  Tier tier;
  for (uint64_t k = 0; k < 1000; ++k) tier.get_or_create(key(k), maker("value"));
  double best_ns = 1e9;
  for (int pass = 0; pass < 20; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t k = 0; k < 1000; ++k) tier.get_or_create(key(k), never);
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    best_ns = std::min(best_ns, elapsed.count() / 1000);
  }
  RecordProperty("best_ns", static_cast<int>(best_ns));
  if (!test::kSanitized) {
    EXPECT_LT(best_ns, 1000);
  }
}

TEST(MemoryTier, ManyThreadsMakeEachValueOnce) {
  constexpr uint64_t values = 50;
  Tier tier;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  std::vector<std::vector<Tier::Pointer>> seen(6);
  for (auto& mine : seen)
    threads.emplace_back([&] {
      for (uint64_t k = 0; k < values; ++k)
        mine.push_back(tier.get_or_create(key(k), [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          return std::make_shared<std::string>(std::to_string(k));
        }));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, static_cast<int>(values));
  for (const auto& mine : seen) EXPECT_EQ(mine, seen[0]);
}

TEST(MemoryTier, WaitersShareTheFailure) {
  Tier tier;
  std::promise<void> started;
  std::promise<void> gate;
  std::thread first([&] {
    EXPECT_THROW(tier.get_or_create(key(1),
                                    [&]() -> Tier::Pointer {
                                      started.set_value();
                                      gate.get_future().wait();
                                      throw Error(ErrorCode::Compile, "too hard");
                                    }),
                 Error);
  });
  started.get_future().wait();
  std::atomic<int> shared{0};
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t)
    waiters.emplace_back([&] {
      try {
        tier.get_or_create(key(1), maker("another try"));
      } catch (const Error& error) {
        if (std::string(error.what()) == "too hard") ++shared;
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // let them wait, not try anew
  gate.set_value();
  first.join();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_GT(shared, 0);
}

TEST(MemoryTier, ThreadsUnderPressureKeepTheCount) {
  Tier tier(20, [](const std::string& value) { return value.size(); });
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t k = 0; k < 2000; ++k) {
        const uint64_t number = (k * (t + 3)) % 40;
        const auto value = tier.get_or_create(key(number), maker(std::to_string(number)));
        EXPECT_EQ(*value, std::to_string(number));
        if (k % 97 == 0) tier.erase(key(number));
        if (k % 501 == 0) tier.clear();
      }
    });
  for (std::thread& thread : threads) thread.join();
  size_t bytes = 0;
  size_t count = 0;
  for (uint64_t number = 0; number < 40; ++number)
    if (const auto value = tier.find(key(number))) {
      bytes += value->size();
      ++count;
    }
  EXPECT_EQ(tier.bytes(), bytes);
  EXPECT_EQ(tier.size(), count);
  EXPECT_LE(bytes, 20U);
}

// Forks while other threads hit and make values: the child must find what was there and wait for
// nobody.
TEST(MemoryTier, AForkedChildKeepsValuesAndWaitsForNobody) {
  Tier tier;
  tier.get_or_create(key(1), maker("kept"));
  std::promise<void> started;
  std::promise<void> gate;
  std::thread maker_thread([&] {
    tier.get_or_create(key(2), [&] {
      started.set_value();
      gate.get_future().wait();
      return std::make_shared<std::string>("parent's");
    });
  });
  std::atomic<bool> stop{false};
  std::thread hitter([&] {
    while (!stop) tier.find(key(1));
  });
  started.get_future().wait();
  for (int k = 0; k < 20; ++k)
    EXPECT_EQ(test::in_child([&] {
                if (*tier.get_or_create(key(1), never) != "kept") return 1;
                return *tier.get_or_create(key(2), maker("child's")) == "child's" ? 0 : 2;
              }),
              0);
  stop = true;
  gate.set_value();
  hitter.join();
  maker_thread.join();
  EXPECT_EQ(*tier.find(key(2)), "parent's");
}

}  // namespace
}  // namespace adjit::cache
