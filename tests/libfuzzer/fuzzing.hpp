// tests/libfuzzer/fuzzing.hpp -- what the fuzzers share: which exceptions are answers, and how a
// broken promise ends the process so that libFuzzer keeps the input.
//
// Each tests/libfuzzer/<name>_fuzzer.cpp is the program fuzz_<name> of the preset `fuzz` (Clang's
// libFuzzer with the address and undefined-behaviour sanitizers):
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/fuzz_text -max_total_time=60 build/fuzz/found tests/libfuzzer/corpus/text
//
// A directory that is named first takes what is found.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/expr/error.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::fuzz {

using namespace sched;  // NOLINT(google-build-using-namespace): as rooms.hpp does

inline void require(bool holds, const char* promise, const std::string& context) {
  if (holds) return;
  std::fprintf(stderr, "%s\n%s\n", promise, context.c_str());
  std::abort();
}

/// Errors of the user's are answers; one of the library's own is not, nor any other exception.
template <class Work>
void allow_errors(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    require(error.code() != ErrorCode::Internal, error.what(), "");
  }
}

}  // namespace adjit::fuzz
