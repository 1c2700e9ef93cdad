// runtime/process/per_thread.hpp -- values of each thread, where memory may run out.
#pragma once

#include <pthread.h>

#include <memory>
#include <new>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

/// A T of each thread, made when it asks first and gone with the thread. As a thread_local, but
/// where there is no memory std::bad_alloc is thrown: the C library ends the process when it cannot
/// register the destructor of a thread_local. Make it before there are threads, as an object of
/// namespace scope.
template <class T>
class PerThread {
 public:
  PerThread() {
    if (pthread_key_create(&key_, [](void* value) { delete static_cast<T*>(value); }) != 0)
      throw std::bad_alloc();
  }
  ~PerThread() { pthread_key_delete(key_); }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  /// The calling thread's, or nullptr if it has not been asked for.
  T* find() const noexcept { return static_cast<T*>(pthread_getspecific(key_)); }

  /// The calling thread's. Throws std::bad_alloc, and what T's constructor throws.
  T& get() {
    if (T* const value = find()) return *value;
    auto made = std::make_unique<T>();
    if (pthread_setspecific(key_, made.get()) != 0) throw std::bad_alloc();
    return *made.release();
  }

 private:
  pthread_key_t key_{};
};

}  // namespace adjit::process
