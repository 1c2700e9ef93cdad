#include "runtime/process/fork.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/forked_child.hpp"

namespace adjit::process {
namespace {

using adjit::test::in_child;

TEST(ForkHandler, CallsEachInItsProcess) {
  int before = 0;
  int in_parent = 0;
  int in_forked = 0;
  {
    const ForkHandler handler([&] { ++before; }, [&] { ++in_parent; }, [&] { ++in_forked; });
    const ForkHandler silent({}, {}, {});
    EXPECT_EQ(in_child([&] { return 100 * before + 10 * in_parent + in_forked; }), 101);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(in_parent, 1);
    EXPECT_EQ(in_forked, 0);
  }
  EXPECT_EQ(in_child([&] { return before; }), 1);  // no longer registered
}

TEST(ForkHandler, AChildCanRegisterAndForkAgain) {
  EXPECT_EQ(in_child([] {
              int grandchildren = 0;
              const ForkHandler handler({}, [&] { ++grandchildren; }, {});
              return in_child([] { return 5; }) + grandchildren;
            }),
            6);
}

TEST(ForkDelay, NoChildSeesTheMiddleOfIt) {
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!stop) {
        {
          const ForkDelay outer;
          const ForkDelay nested;
          ++inside;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          --inside;
        }
        std::this_thread::yield();
      }
    });
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(in_child([&] {
                const ForkDelay in_the_child_as_well;
                return inside.load();
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkDelay, DoesNotKeepItsOwnThreadFromForking) {
  const ForkDelay mine;
  EXPECT_EQ(in_child([] {
              const ForkDelay again;
              return in_child([] { return 7; });
            }),
            7);
}

TEST(ForkDelay, SeveralThreadsForkAtOnce) {
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        {
          const ForkDelay between;
        }
        right += in_child([] {
                   const ForkDelay delay;
                   return 3;
                 }) == 3;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

TEST(BriefLock, IsFreeInAChild) {
  std::mutex mutex;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) const BriefLock lock(mutex);
  });
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(in_child([&] {
                const BriefLock lock(mutex);
                return 9;
              }),
              9);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace adjit::process
