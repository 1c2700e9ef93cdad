// tests/jit/cache/store_processes_test.cpp -- threads, processes, forks and exits.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "jit/cache/store.hpp"
#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using test::in_child;
using test::sample_entry;
using test::sample_key;
using test::start_child;
using test::wait_for;

using StoreProcesses = test::StoreTest;

TEST_F(StoreProcesses, ManyThreadsShareAStore) {
  Store store(options());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 60; ++k) {
        const Key key = sample_key(std::to_string((t + k) % 7));
        const Lookup found = store.load(key);
        if (found.entry && found.entry->key != key) ++wrong;
        if (!found.entry && found.miss_reason != "no entry") ++wrong;
        if (!found.entry) store.save(sample_entry(key, 3000));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store.counts().hits + store.counts().misses, 240U);
}

// Two processes publish one entry in two sizes while both read it: each sees one or the other,
// whole.
TEST_F(StoreProcesses, TwoProcessesRaceOnOneEntry) {
  constexpr uint64_t rounds = test::kSanitized ? 50 : 300;
  const Entry one = sample_entry(sample_key(), 100);
  const Entry other = sample_entry(sample_key(), 70'000);
  const auto racer = [&](const Entry& mine) {
    Store store(options());
    for (uint64_t k = 0; k < rounds; ++k) {
      store.save(mine);
      if (k % 3 == 0) store.flush();
      const Lookup found = store.load(sample_key());
      if (!found.entry && found.miss_reason != "no entry") return 1;
      if (found.entry && *found.entry != one && *found.entry != other) return 2;
    }
    store.flush();
    return store.counts().deleted == 0 && store.counts().published == rounds ? 0 : 3;
  };
  const pid_t first = start_child([&] { return racer(one); });
  const pid_t second = start_child([&] { return racer(other); });
  EXPECT_EQ(wait_for(first), 0);
  EXPECT_EQ(wait_for(second), 0);
  EXPECT_TRUE(Store(options()).load(sample_key()).entry);
  EXPECT_EQ(scratch.temporaries(), 0U);
}

TEST_F(StoreProcesses, AForkedChildLoadsAndSaves) {
  if (!test::kThreadsAfterFork) GTEST_SKIP() << "not under this sanitizer";
  seed();
  auto store = std::make_unique<Store>(options());
  for (int k = 0; k < 20; ++k) store->save(sample_entry(sample_key("busy"), 500'000));
  EXPECT_EQ(in_child([&] {
              if (!store->load(sample_key()).entry) return 1;
              store->save(sample_entry(sample_key("child")));
              store.reset();
              return 0;
            }),
            0);
  store.reset();
  Store after(options());
  EXPECT_TRUE(after.load(sample_key("child")).entry);
  EXPECT_TRUE(after.load(sample_key("busy")).entry);
}

// exit() with a store that nobody destroys: what was flushed is there, and nothing hangs or is
// torn.
TEST_F(StoreProcesses, ExitWithAStoreStillAliveIsHarmless) {
  EXPECT_EQ(in_child([&]() -> int {
              static Store& leaked = *new Store(options());
              leaked.save(sample_entry());
              leaked.flush();
              for (int k = 0; k < 20; ++k)
                leaked.save(sample_entry(sample_key(std::to_string(k)), 300'000));
              std::quick_exit(4);
            }),
            4);
  Store store(options());
  EXPECT_TRUE(store.load(sample_key()).entry);
  for (int k = 0; k < 20; ++k) {
    const Lookup found = store.load(sample_key(std::to_string(k)));
    EXPECT_TRUE(found.entry || found.miss_reason == "no entry") << found.miss_reason;
  }
}

}  // namespace
}  // namespace adjit::cache
