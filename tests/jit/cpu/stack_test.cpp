// tests/jit/cpu/stack_test.cpp -- small stacks.
#include "jit/cpu/stack.hpp"

#include <alloca.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace adjit::cpu {
namespace {

constexpr size_t kSmall = 64 << 10, kLarge = 512 << 10;

// In a thread with a small stack.
void in_small_thread(void* (*run)(void*), void* context) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kSmall), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, context), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

struct Seen {
  size_t left = 0;
  pthread_t thread = {};
  int sum = 0;
  bool caught = false;
};

void use_much(void* context) {
  auto& seen = *static_cast<Seen*>(context);
  seen.left = stack_left();
  seen.thread = pthread_self();
  auto* block = static_cast<volatile char*>(alloca(kLarge));
  for (size_t k = 0; k < kLarge; k += 512) block[k] = 1;
  for (size_t k = 0; k < kLarge; k += 512) seen.sum += block[k];
}

TEST(Stack, EnoughIsUsedHere) {
  Seen seen;
  with_stack(kLarge, use_much, &seen);
  EXPECT_TRUE(pthread_equal(seen.thread, pthread_self()));
  EXPECT_GT(seen.left, kLarge);
  EXPECT_EQ(seen.sum, static_cast<int>(kLarge / 512));
}

TEST(Stack, SmallOnesAreLeft) {
  Seen seen, outside;
  struct Both {
    Seen *inside, *outside;
  } both{&seen, &outside};
  in_small_thread(
      [](void* context) -> void* {
        auto& b = *static_cast<Both*>(context);
        b.outside->left = stack_left();
        b.outside->thread = pthread_self();
        with_stack(kLarge, use_much, b.inside);
        return nullptr;
      },
      &both);
  EXPECT_LT(outside.left, kLarge);  // the thread sanitizer makes stacks larger
  EXPECT_GT(outside.left, 0u);
  EXPECT_GT(seen.left, kLarge);
  EXPECT_FALSE(pthread_equal(seen.thread, outside.thread));
  EXPECT_EQ(seen.sum, static_cast<int>(kLarge / 512));
}

TEST(Stack, ExceptionsComeBack) {
  Seen seen;
  in_small_thread(
      [](void* context) -> void* {
        try {
          with_stack(kLarge, [](void*) { throw std::runtime_error("from afar"); }, nullptr);
        } catch (const std::runtime_error& error) {
          static_cast<Seen*>(context)->caught = std::strcmp(error.what(), "from afar") == 0;
        }
        return nullptr;
      },
      &seen);
  EXPECT_TRUE(seen.caught);
}

}  // namespace
}  // namespace adjit::cpu
