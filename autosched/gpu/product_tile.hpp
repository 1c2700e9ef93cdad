// autosched/gpu/product_tile.hpp -- which part of a product a block computes, and how its threads
// share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/gpu/product.hpp"
#include "autosched/machine/gpu_machine.hpp"

namespace adjit::sched {

/// A block computes m x n results, over k terms at a time that its threads bring into shared
/// memory; a thread has thread_m x thread_n results in registers.
struct ProductTile {
  int64_t m = 0, n = 0, k = 0;
  int64_t thread_m = 0, thread_n = 0;
  int64_t parts = 1;  // of the whole sum, each a block's; another kernel adds them up

  int64_t threads() const { return (m / thread_m) * (n / thread_n); }
};

/// The tile that is predicted to take the least time; nullopt for a stage that is no product, or
/// too small for tiles. In one part, unless the sum may be split.
std::optional<ProductTile> product_tile(const LoweredGraph& graph, const Stage& stage,
                                        const GpuMachine& machine, bool may_split = false);

/// All tiles that serve it, by predicted time, the best one first.
std::vector<ProductTile> product_tiles(const LoweredGraph& graph, const Stage& stage,
                                       const GpuMachine& machine, bool may_split = false);
/// In one part: the best of these, or another of the first few.
std::optional<ProductTile> chosen_tile(const LoweredGraph& graph, const Stage& stage,
                                       const GpuMachine& machine, Choices& choices);
/// "128 x 64 x 16, 8 x 8 a thread".
std::string in_words(const ProductTile& tile);

}  // namespace adjit::sched
