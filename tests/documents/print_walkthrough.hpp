// tests/documents/print_walkthrough.hpp -- the blocks of docs/walkthrough that come from inside the
// library.
#pragma once

#include "runtime/graph/graph.hpp"
#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Each block by its name. `traced` is the example as it was traced, a scalar function of a float
/// input; `strided` has one stage `y` that reads `x` by an index worth inverting; `masked` has
/// zeros to remove. The same on every machine: programs are made for one processor, whichever this
/// runs on.
Json print_walkthrough(const Graph& traced, const Graph& strided, const Graph& masked);

}  // namespace adjit::testing
