// tests/runtime/trace/messages.hpp -- what errors say.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "runtime/expr/error.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// The message of the error of that code that the action raises.
template <typename Action>
std::string message_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_words(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(message.find(word), std::string::npos)
        << "'" << word << "' is missing in: " << message;
}

}  // namespace adjit::testing
