// jit/emit/ir/lost_if_thrown.hpp -- objects of LLVM's on the stack, where memory may run out.
#pragma once

#include <exception>
#include <utility>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// An object of LLVM's that is destroyed at the end of its scope, but not when an exception leaves
/// the scope: where memory ran out inside LLVM, it may be in no state to be destroyed. What it held
/// is lost then.
template <class T>
class LostIfThrown {
 public:
  template <class... Arguments>
  explicit LostIfThrown(Arguments&&... arguments)
      : object_(std::forward<Arguments>(arguments)...) {}
  ~LostIfThrown() {
    if (std::uncaught_exceptions() == before_) object_.~T();
  }
  LostIfThrown(const LostIfThrown&) = delete;
  LostIfThrown& operator=(const LostIfThrown&) = delete;

  T& operator*() { return object_; }
  T* operator->() { return &object_; }

 private:
  int before_ = std::uncaught_exceptions();
  union {
    T object_;
  };
};

}  // namespace adjit::emit
