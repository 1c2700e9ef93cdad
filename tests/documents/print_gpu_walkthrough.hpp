// tests/documents/print_gpu_walkthrough.hpp -- the blocks of docs/walkthrough/9-gpu.md.
#pragma once

#include "runtime/graph/graph.hpp"
#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Adds each block by its name: `softmax`, a function of one float array, derived and compiled for
/// one GPU, whichever machine prints.
void add_gpu_walkthrough(Json& blocks, const Graph& softmax);

}  // namespace adjit::testing
