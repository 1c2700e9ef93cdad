// jit/cache/shared_failure.cpp -- taking and rethrowing an exception.
#include "jit/cache/shared_failure.hpp"

#include <typeinfo>

namespace adjit::cache {

SharedFailure SharedFailure::current() {
  SharedFailure failure;
  try {
    throw;
  } catch (const Error& error) {
    // A type derived from Error would be cut down to its base: share it instead.
    if (typeid(error) == typeid(Error))
      failure.error_.emplace(error.code(), error.what());
    else
      failure.other_ = std::current_exception();
  } catch (...) {
    failure.other_ = std::current_exception();
  }
  return failure;
}

void SharedFailure::rethrow() const {
  if (error_) throw Error(error_->first, error_->second);
  std::rethrow_exception(other_);
}

}  // namespace adjit::cache
