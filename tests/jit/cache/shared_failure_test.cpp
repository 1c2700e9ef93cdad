#include "jit/cache/shared_failure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace adjit::cache {
namespace {

template <class Exception>
SharedFailure failure_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return SharedFailure::current();
  }
}

const std::exception* rethrown_object(const SharedFailure& failure) {
  try {
    failure.rethrow();
  } catch (const std::exception& exception) {
    return &exception;
  }
}

TEST(SharedFailure, AnErrorIsThrownAnew) {
  const SharedFailure failure = failure_of(Error(ErrorCode::Compile, "too hard"));
  try {
    failure.rethrow();
  } catch (const Error& first) {
    EXPECT_EQ(first.code(), ErrorCode::Compile);
    EXPECT_STREQ(first.what(), "too hard");
    EXPECT_NE(rethrown_object(failure), &first);
  }
}

TEST(SharedFailure, OtherTypesKeepTheirType) {
  struct Special : Error {
    Special() : Error(ErrorCode::Parse, "special") {}
  };
  EXPECT_THROW(failure_of(Special()).rethrow(), Special);
  EXPECT_THROW(failure_of(std::out_of_range("far")).rethrow(), std::out_of_range);
  EXPECT_THROW(failure_of(7).rethrow(), int);
}

}  // namespace
}  // namespace adjit::cache
