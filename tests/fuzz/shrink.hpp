// tests/fuzz/shrink.hpp -- a smaller program that fails as a given one does, and its text.
#pragma once

#include <functional>
#include <string>

#include "tests/fuzz/draw/program_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Outputs are dropped, stages become inputs with the values that they have, calls are expanded and
/// bodies are replaced by parts of themselves, as long as `fails` holds. Stops after so many
/// seconds, and what it has then is the answer.
FuzzProgram shrunk(FuzzProgram program, const std::function<bool(const FuzzProgram&)>& fails,
                   double seconds = 60);

/// A test to paste into tests/fuzz/found_test.cpp.
std::string test_of(const FuzzProgram& program, uint64_t seed, const std::string& failure);

}  // namespace adjit::testing
