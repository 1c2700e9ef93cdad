#include "jit/cache/background.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/jit/cache/scratch.hpp"
#include "tests/refused_threads.hpp"

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

// In a child: its threads wait for this before more are refused.
void spin_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(Background, WithoutAThreadCallersDoOneJobAtATime) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need their address space";
  EXPECT_EQ(test::in_child([] {
              Background background;
              std::atomic<bool> refused{false}, overlap{false};
              std::atomic<int> inside{0}, done{0};
              std::vector<std::thread> threads;
              for (int t = 0; t < 4; ++t)
                threads.emplace_back([&] {
                  spin_until(refused);
                  for (int k = 0; k < 50; ++k)
                    background.enqueue([&] {
                      if (++inside != 1) overlap = true;
                      std::this_thread::sleep_for(std::chrono::microseconds(50));
                      --inside;
                      ++done;
                    });
                  background.flush();
                });
              adjit::test::refuse_threads();
              refused = true;
              for (std::thread& thread : threads) thread.join();
              if (overlap) return 1;
              return done == 200 && background.waiting_bytes() == 0 ? 0 : 2;
            }),
            0);
}

TEST(Background, WithoutAThreadAJobMayQueueFlushAndWriteTooMuch) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need their address space";
  EXPECT_EQ(test::in_child([] {
              adjit::test::refuse_threads();
              Background background;
              std::vector<int> done;
              background.enqueue([&] {
                background.enqueue([&] { done.push_back(2); });
                background.flush();
                raise(SIGXFSZ);  // as write() does beyond the limit of a file's size
                done.push_back(1);
              });
              background.flush();
              return done == std::vector<int>{1, 2} ? 0 : 1;
            }),
            0);
}

// A caller is in the middle of a job when the process forks: the child does not wait for it.
TEST(Background, WithoutAThreadAForkedChildStartsAfresh) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need their address space";
  EXPECT_EQ(test::in_child([] {
              Background background;
              std::atomic<bool> refused{false}, started{false}, open{false};
              std::atomic<int> done{0};
              std::thread caller([&] {
                spin_until(refused);
                background.enqueue([&] {
                  started = true;
                  spin_until(open);
                  ++done;
                });
              });
              adjit::test::refuse_threads();
              refused = true;
              spin_until(started);
              background.enqueue([&] { ++done; }, 9);  // the caller at work does it
              const int child = test::in_child([&] {
                if (background.waiting_bytes() != 0) return 1;
                background.enqueue([&] { done += 10; });
                background.flush();
                return done == 10 ? 0 : 2;
              });
              open = true;
              caller.join();
              background.flush();
              return child != 0 ? child : done == 2 ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace adjit::cache
