// tests/bindings/c/warm_call_test.cpp -- a call of a small kernel whose code is there allocates
// nothing and takes no mutex or reader-writer lock. All are counted by functions of this program,
// which take the place of those that libadjit would call.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>

#include "tests/allocation_count.hpp"
#include "tests/bindings/c/support.hpp"
#include "tests/sanitizer.hpp"

namespace {

thread_local size_t locks = 0;

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#if !ADJIT_SANITIZED
#pragma GCC visibility push(default)  // libadjit is to find them
extern "C" {
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto lock = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* mutex) noexcept {
  static const auto lock = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* mutex) noexcept {
  static const auto lock = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++locks;
  return lock(mutex);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}
#pragma GCC visibility pop
#endif

namespace adjit_test {
namespace {

struct Work {
  size_t allocations, locks;
};

template <class Call>
Work work_of(const Call& call) {
  const Work before{adjit::testing::allocation_count(), locks};
  call();
  return {adjit::testing::allocation_count() - before.allocations, locks - before.locks};
}

TEST(WarmCall, AllocatesNothingAndTakesNoLock) {
  const Context c = context();
  const Computation f = square();
  Executable e;
  const Work first = work_of([&] { e = compiled(lowered(c, f)); });
  if (adjit::test::kSanitized) GTEST_SKIP() << "allocations and locks are the sanitizer's";
  EXPECT_GT(first.allocations, 0U) << "the library's allocations are not counted here";
  EXPECT_GT(first.locks, 0U) << "the library's locks are not counted here";
  Floats in({3, 4}), out({3, 4});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  const void* addresses_in[] = {in.data.data()};
  void* addresses_out[] = {out.data.data()};
  adjit_status status = ADJIT_OK;
  const auto checked = [&] { status = adjit_executable_run(e.get(), 1, inputs, 1, outputs); };
  const auto raw = [&] { status = adjit_executable_run_raw(e.get(), addresses_in, addresses_out); };
  checked();
  const auto expect_nothing = [&](const Work& work, const char* how) {
    EXPECT_EQ(status, ADJIT_OK) << how;
    EXPECT_EQ(work.allocations, 0U) << how;
    EXPECT_EQ(work.locks, 0U) << how;
    EXPECT_EQ(out.data[11], 11 * 11 + 11) << how;
    out.data[11] = 0;
  };
  expect_nothing(work_of(checked), "arrays checked");
  expect_nothing(work_of(raw), "addresses alone");
  // In a thread that is new to the library, too, once its first call is over.
  std::thread([&] {
    checked();
    expect_nothing(work_of(checked), "another thread");
  }).join();
}

// Whether a test like the one above would notice.
TEST(WarmCall, LocksAndAllocationsAreCounted) {
  if (adjit::test::kSanitized) GTEST_SKIP() << "allocations and locks are the sanitizer's";
  std::mutex mutex;
  static std::unique_ptr<std::vector<int>> made;  // a compiler may leave out what nobody sees
  const Work work = work_of([&] {
    const std::scoped_lock lock(mutex);
    made = std::make_unique<std::vector<int>>(100);
  });
  EXPECT_EQ(work.locks, 1U);
  EXPECT_EQ(work.allocations, 2U);
}

}  // namespace
}  // namespace adjit_test
