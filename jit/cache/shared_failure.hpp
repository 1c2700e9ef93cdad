// jit/cache/shared_failure.hpp -- one exception, thrown in several threads.
//
// Threads that rethrow one std::exception_ptr hold one object, and whoever catches it may change
// it. An Error is therefore thrown anew for each thread; an exception of any other type is shared
// and to be read only.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::cache {

/// A value. Any thread may call `rethrow` on a copy or on the same object.
class SharedFailure {
 public:
  /// Of the exception being handled; call it in a catch block.
  static SharedFailure current();
  [[noreturn]] void rethrow() const;

 private:
  std::optional<std::pair<ErrorCode, std::string>> error_;
  std::exception_ptr other_;
};

}  // namespace adjit::cache
