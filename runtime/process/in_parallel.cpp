// runtime/process/in_parallel.cpp -- steps are taken in order, by whichever thread is free.
#include "runtime/process/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/process/cancellation.hpp"

namespace adjit::process {

void in_parallel(size_t count, size_t threads,
                 const std::function<void(size_t step, size_t thread)>& run) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next{0};
  Cancellable* const call = Cancellable::current();
  const auto work = [&](size_t thread) {
    const Cancellable::Adopted adopted(call);
    for (size_t k = next++; k < count; k = next++) try {
        check_cancelled();
        run(k, thread);
      } catch (...) {
        failures[k] = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> helpers;
    const auto started = [&](size_t thread) {
      try {
        helpers.emplace_back(work, thread);
        return true;
      } catch (const std::system_error&) {
        return false;  // the system gives no more threads: those that there are do it all
      }
    };
    size_t next_thread = 1;
    while (next_thread < std::min(count, threads) && started(next_thread)) ++next_thread;
    work(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace adjit::process
