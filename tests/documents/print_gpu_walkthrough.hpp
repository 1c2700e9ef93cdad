// tests/documents/print_gpu_walkthrough.hpp -- the blocks of docs/walkthrough/9-gpu.md,
// and of 10-gpu-product.md.
#pragma once

#include "runtime/graph/graph.hpp"
#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Adds each block by its name: `softmax`, a function of one float array, derived and compiled for
/// one GPU, whichever machine prints.
void add_gpu_walkthrough(Json& blocks, const Graph& softmax);

/// The same of a product and what is done to its results.
void add_gpu_product(Json& blocks, const Graph& dense);

}  // namespace adjit::testing
