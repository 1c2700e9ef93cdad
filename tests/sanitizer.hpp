// tests/sanitizer.hpp -- which sanitizer the tests are built with.
#pragma once

namespace adjit::test {

// CMake says it (cmake/AdjitTargets.cmake): g++'s own macro is undefined where
// LLVM's headers are read.
#if ADJIT_SANITIZED
inline constexpr bool kSanitized = true;  // timings and counts of allocations mean nothing
#else
inline constexpr bool kSanitized = false;
#endif
/// The thread sanitizer ends a forked child that starts a thread.
#if ADJIT_THREAD_SANITIZED
inline constexpr bool kThreadsAfterFork = false;
#else
inline constexpr bool kThreadsAfterFork = true;
#endif

}  // namespace adjit::test
