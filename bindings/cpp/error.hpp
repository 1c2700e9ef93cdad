// adjit/error.hpp -- statuses of the C interface as one hierarchy of exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "adjit.h"

/// The C++ layer over adjit.h. The inline namespace keeps its symbols apart from the library's own,
/// which live in a namespace of the same name behind the C interface.
namespace adjit::inline cpp {

/// What every function here throws, with the library's message: operation, user's line, offending
/// values, remedy.
class ADJIT_API Error : public std::runtime_error {
 public:
  Error(adjit_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  adjit_status status() const noexcept { return status_; }

 private:
  adjit_status status_;
};

/// One class a status, so that each can be caught by itself.
template <adjit_status kStatus>
class ADJIT_API StatusError : public Error {
 public:
  explicit StatusError(const std::string& message) : Error(kStatus, message) {}
};

using InvalidError = StatusError<ADJIT_INVALID>;  ///< an argument that nothing below describes
using ShapeError = StatusError<ADJIT_SHAPE>;      ///< ranks or extents that do not fit
using DTypeError = StatusError<ADJIT_DTYPE>;      ///< an element type that is not taken
using BoundsError = StatusError<ADJIT_BOUNDS>;    ///< an index out of range
using NotDifferentiableError = StatusError<ADJIT_NOT_DIFFERENTIABLE>;
using ParseError = StatusError<ADJIT_PARSE>;          ///< text notation; line, column, caret
using ScheduleError = StatusError<ADJIT_SCHEDULE>;    ///< an illegal or foreign schedule
using CompileError = StatusError<ADJIT_COMPILE>;      ///< code that could not be generated
using DeviceError = StatusError<ADJIT_DEVICE>;        ///< a target that is not there
using CacheError = StatusError<ADJIT_CACHE>;          ///< a cache that cannot be used as asked
using MemoryError = StatusError<ADJIT_MEMORY>;        ///< an allocation that failed in the library
using InternalError = StatusError<ADJIT_INTERNAL>;    ///< a bug in adjit
using CancelledError = StatusError<ADJIT_CANCELLED>;  ///< a hook of the caller's ended the call

namespace detail {

[[noreturn]] inline void raise(adjit_status status, const std::string& message) {
  switch (status) {
    case ADJIT_INVALID: throw InvalidError(message);
    case ADJIT_SHAPE: throw ShapeError(message);
    case ADJIT_DTYPE: throw DTypeError(message);
    case ADJIT_BOUNDS: throw BoundsError(message);
    case ADJIT_NOT_DIFFERENTIABLE: throw NotDifferentiableError(message);
    case ADJIT_PARSE: throw ParseError(message);
    case ADJIT_SCHEDULE: throw ScheduleError(message);
    case ADJIT_COMPILE: throw CompileError(message);
    case ADJIT_DEVICE: throw DeviceError(message);
    case ADJIT_CACHE: throw CacheError(message);
    case ADJIT_MEMORY: throw MemoryError(message);
    case ADJIT_INTERNAL: throw InternalError(message);
    case ADJIT_CANCELLED: throw CancelledError(message);
    case ADJIT_OK: break;
  }
  throw Error(status, message);  // a status of a newer library
}

/// Throws what this thread's last call failed with.
inline void check(adjit_status status) {
  if (status != ADJIT_OK) raise(status, adjit_last_error_message());
}

}  // namespace detail
}  // namespace adjit::inline cpp
