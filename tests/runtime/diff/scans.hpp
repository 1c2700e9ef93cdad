// tests/runtime/diff/scans.hpp -- the scan that the tests of this folder share.
#pragma once

#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Four steps of a recurrent cell over xs (4 x 2), from h0 (3), with weights w (3 x 3), u (3 x 2)
/// and a step counter (int64) as a second carry. Outputs: the last state (3); every step's output
/// scaled (4 x 3).
Graph recurrent(bool reverse);

/// A conditional scan: m steps of Newton's iteration for the square root of a (3), from x (3);
/// m is an int64 input, so that it is data. Outputs: the root (3), the number of steps.
Graph newton();

/// A call of f(x, w) = sin(x) * w on x (3), w (3), squared outside. `by_hand`: with a gradient by
/// hand, three times the true one; else to recompute.
Graph called(bool by_hand);

}  // namespace adjit::testing
