// jit/cache/shared_failure.cpp -- taking and rethrowing an exception.
#include "jit/cache/shared_failure.hpp"

#include <new>
#include <typeinfo>

namespace adjit::cache {

SharedFailure SharedFailure::current() {
  SharedFailure failure;
  failure.other_ = std::current_exception();
  try {
    throw;
  } catch (const Error& error) {
    // A type derived from Error would be cut down to its base: share it instead.
    if (typeid(error) != typeid(Error)) return failure;
    try {
      failure.error_.emplace(error.code(), error.what());
    } catch (const std::bad_alloc&) {  // then it is shared
      failure.error_.reset();
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): shared
  }
  return failure;
}

void SharedFailure::rethrow() const {
  if (error_) throw Error(error_->first, error_->second);
  std::rethrow_exception(other_);
}

}  // namespace adjit::cache
