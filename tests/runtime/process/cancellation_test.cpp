#include "runtime/process/cancellation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace adjit::process {
namespace {

using std::chrono::milliseconds;

// Counts how often it is asked, and says yes from a time on.
struct Asked {
  int count = 0, yes_from = 1 << 30;
  std::thread::id by;
  CancelHook hook() {
    return {[](void* user) {
              auto& self = *static_cast<Asked*>(user);
              self.by = std::this_thread::get_id();
              return static_cast<int>(++self.count >= self.yes_from);
            },
            this};
  }
};

void work_for(milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) check_cancelled();
}

TEST(Cancellation, AShortCallIsNeverAsked) {
  Asked asked;
  const Cancellable call(asked.hook());
  for (int k = 0; k < 1000; ++k) check_cancelled();
  EXPECT_EQ(asked.count, 0);
}

TEST(Cancellation, ALongCallIsAskedNowAndThen) {
  Asked asked;
  const Cancellable call(asked.hook());
  work_for(milliseconds(700));
  EXPECT_GE(asked.count, 2);
  EXPECT_LE(asked.count, 60);
}

TEST(Cancellation, YesEndsItAndTheNextCallIsAnother) {
  Asked asked;
  asked.yes_from = 2;
  {
    const Cancellable call(asked.hook());
    EXPECT_THROW(work_for(milliseconds(60'000)), Cancelled);
    EXPECT_THROW(check_cancelled(), Cancelled);  // it stays so
  }
  EXPECT_NO_THROW(check_cancelled());
  Asked other;
  const Cancellable call(other.hook());
  EXPECT_NO_THROW(work_for(milliseconds(200)));
}

TEST(Cancellation, WithoutAHookThereIsNothingToAsk) {
  Asked asked;
  const Cancellable call(asked.hook());
  const Cancellable inner(CancelHook{});
  EXPECT_EQ(Cancellable::current(), nullptr);
}

TEST(Cancellation, OtherThreadsStopButDoNotAsk) {
  Asked asked;
  asked.yes_from = 1;
  Cancellable call(asked.hook());
  bool stopped = false;
  std::thread helper([&] {
    const Cancellable::Adopted adopted(&call);
    try {
      work_for(milliseconds(60'000));
    } catch (const Cancelled&) {
      stopped = true;
    }
  });
  EXPECT_THROW(work_for(milliseconds(60'000)), Cancelled);
  helper.join();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(asked.by, std::this_thread::get_id());
}

}  // namespace
}  // namespace adjit::process
