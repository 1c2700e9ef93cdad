// tests/node_order.hpp -- whether this compiler makes the nodes of expressions in the order of g++.
#pragma once

namespace adjit::testing {

// Nodes are numbered as they are made, and the order of two arguments that make some is the
// compiler's: clang prints the terms of a sum exchanged where g++ recorded them.
#ifdef __clang__
inline constexpr bool kNodesInAnotherOrder = true;
#else
inline constexpr bool kNodesInAnotherOrder = false;
#endif

}  // namespace adjit::testing
