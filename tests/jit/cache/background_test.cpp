#include "jit/cache/background.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

TEST(Background, DoesJobsInOrder) {
  std::vector<int> done;
  Background background;
  for (int k = 0; k < 100; ++k) background.enqueue([&, k] { done.push_back(k); });
  background.flush();
  ASSERT_EQ(done.size(), 100U);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(done[static_cast<size_t>(k)], k);
}

TEST(Background, DestructionDoesWhatIsQueued) {
  int done = 0;
  {
    Background background;
    for (int k = 0; k < 100; ++k)
      background.enqueue([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        ++done;
      });
  }
  EXPECT_EQ(done, 100);
}

TEST(Background, FlushOfNothingReturns) {
  Background background;
  background.flush();
}

TEST(Background, AJobMayFlushAndThrow) {
  bool reached = false;
  Background background;
  background.enqueue([&] {
    background.flush();
    throw std::runtime_error("lost");
  });
  background.enqueue([&] { reached = true; });
  background.flush();
  EXPECT_TRUE(reached);
}

TEST(Background, CountsTheBytesThatWait) {
  Background background;
  std::promise<void> gate;
  background.enqueue([&] { gate.get_future().wait(); }, 5);
  background.enqueue([] {}, 7);
  EXPECT_EQ(background.waiting_bytes(), 12U);
  gate.set_value();
  background.flush();
  EXPECT_EQ(background.waiting_bytes(), 0U);
}

TEST(Background, TakesNoSignals) {
  sigset_t mask{};
  sigset_t ours{};
  Background background;
  background.enqueue([&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  background.flush();
  for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGXFSZ})
    EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
  EXPECT_EQ(sigismember(&mask, SIGSEGV), 0);
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGUSR1), 0);
}

TEST(Background, ManyThreadsQueueAndFlush) {
  std::atomic<int> done{0};
  Background background;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        background.enqueue([&] { ++done; });
        if (k % 50 == 0) background.flush();
      }
    });
  for (std::thread& thread : threads) thread.join();
  background.flush();
  EXPECT_EQ(done, 800);
}

// The fork happens while the thread is busy and jobs wait: the child drops them, works on its own,
// and ends.
TEST(Background, AForkedChildStartsAfresh) {
  if (!test::kThreadsAfterFork) GTEST_SKIP() << "not under this sanitizer";
  std::atomic<int> done{0};
  std::promise<void> started;
  std::promise<void> gate;
  auto background = std::make_unique<Background>();
  background->enqueue([&] {
    started.set_value();
    gate.get_future().wait();
    ++done;
  });
  background->enqueue([&] { ++done; }, 9);
  started.get_future().wait();
  EXPECT_EQ(test::in_child([&] {
              if (background->waiting_bytes() != 0) return 1;
              background->flush();
              background->enqueue([&] { done += 10; });
              background->flush();
              background.reset();
              return done == 10 ? 0 : 2;
            }),
            0);
  gate.set_value();
  background->flush();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace adjit::cache
