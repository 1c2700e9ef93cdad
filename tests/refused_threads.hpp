// tests/refused_threads.hpp -- a process in which no more threads can start.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <semaphore>
#include <system_error>
#include <thread>

namespace adjit::test {

/// From here on there is no memory for another thread's stack, and none is left over from threads
/// that have ended. For a forked child, whose limits are its own; not under sanitizers, which need
/// their address space.
inline void refuse_threads() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (size_t{1} << 20);
  setrlimit(RLIMIT_AS, &limit);
  static std::counting_semaphore never(0);
  try {
    while (true) std::thread([] { never.acquire(); }).detach();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): that is what was wanted
  }
}

}  // namespace adjit::test
