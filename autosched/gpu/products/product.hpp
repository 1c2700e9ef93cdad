// autosched/gpu/products/product.hpp -- the form of sums of products that blocks compute tile by
// tile.
//
//   C[b, m, n] = sum over k of A(b, m, k) * B(b, k, n)
// with any number of batches b, in any place but the last, along each of which both operands, one
// of them or none is read: a convolution's images, C[image, m, n] = W(m, k) * X(image, k, n). The
// pass `products` (products.hpp) brings contractions into it, and product_loops.hpp makes loops of
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// One of the two factors of a product.
struct ProductOperand {
  TensorId tensor;
  ExprId read;  // of the stage's body: both operands may be of one tensor
};

/// A sum of products over one axis, by the numbers of the stage's axes.
struct Product {
  std::vector<size_t> batches;  // output axes but m and n: a product for each of their points
  size_t m = 0, n = 0, k = 0;   // n is the last output axis, contiguous in what is stored
  ProductOperand left, right;   // read along m and not n, along n and not m; both along k
};

/// A stage in that form; nullopt for any other. It sums over one reduction axis, over a good part
/// of a box (a triangle of terms, say), a body that is the product of two reads, or of reads that
/// are cast to the body's dtype (half types that are summed as float32). The indices of a read are
/// axes of the stage, each by itself, once, in any order, under no predicate; the one of k may be L
/// * p + k, where k has L points and p is a batch: the parts of a longer sum. m is the last output
/// axis but n that moves the left operand alone.
std::optional<Product> product_of(const LoweredGraph& graph, const Stage& stage);

}  // namespace adjit::sched
