// tools/adjit-cache/exit_code.hpp -- how the program ends.
#pragma once

#include <stdexcept>
#include <string>

namespace adjit::cache_tool {

enum class ExitCode {
  Ok = 0,
  Findings = 1,  // the answer is "something is wrong", or "they differ"
  Usage = 2,
  Io = 3,
};

/// Ends the program with a message on standard error.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

}  // namespace adjit::cache_tool
