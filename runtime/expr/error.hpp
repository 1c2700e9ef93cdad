// runtime/expr/error.hpp -- the one exception type of the library.
//
// Inside the library errors are exceptions; the C boundary turns them into statuses. A message
// names the operation, the user's source line where there is one, the offending value, and the
// remedy.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

enum class ErrorCode {
  Invalid = 1,        // an argument that no other code describes
  Shape,              // ranks or extents that do not fit
  DType,              // an element type the operation does not take
  Bounds,             // an index out of range
  NotDifferentiable,  // a derivative that does not exist
  Parse,              // text notation; the message carries line, column and caret
  Schedule,           // an illegal or foreign schedule
  Compile,            // code that could not be generated
  Device,             // a target that is not there
  Cache,              // a cache that cannot be used as asked
  Memory,             // an allocation that failed
  Internal,           // a broken invariant of the library itself: a bug
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throws ErrorCode::Internal when an invariant of the library does not hold.
inline void invariant(bool holds, const char* what) {
  if (!holds) throw Error(ErrorCode::Internal, std::string("internal error: ") + what);
}

}  // namespace adjit::expr
