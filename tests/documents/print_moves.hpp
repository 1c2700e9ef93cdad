// tests/documents/print_moves.hpp -- docs/moves.md.
#pragma once

#include <string>

namespace adjit::testing {

/// The table of moves as a page: what each does, its members, and a program before and after.
std::string print_moves();

}  // namespace adjit::testing
