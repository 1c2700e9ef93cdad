// autosched/gpu/products/product_tile.hpp -- which part of a product a block computes, and how its
// threads share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/gpu/products/product.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A block computes m x n results, over k terms at a time that its threads bring into shared
/// memory; a thread has thread_m x thread_n results in registers.
struct ProductTile {
  int64_t m = 0, n = 0, k = 0;
  int64_t thread_m = 0, thread_n = 0;
  int64_t parts = 1;  // of the whole sum, each a block's; another kernel adds them up

  int64_t threads() const { return (m / thread_m) * (n / thread_n); }
};

/// Of m and of n: as many as the smallest tile of both sides has; and where either is less, its
/// fewest, which are then one side of all tiles, and the least of the other side.
inline constexpr int64_t kLeastResults = 16, kFewestResults = 2, kLeastBesideFew = 128;
/// Terms of a sum from where on tiles serve it.
inline constexpr int64_t kLeastProductTerms = 16;

/// What a tile is for.
struct TileUse {
  bool may_split = false;      // the sum may be split among blocks
  bool keeps_results = false;  // results stay in shared memory, for who reads them there
};

/// Buffers of each operand, that a block fills in turn.
int64_t operand_buffers(const TileUse& use);

/// The tile that is predicted to take the least time, of those for which shared memory has room;
/// nullopt for a stage that is no product, too small for tiles, or where none has room. Tiles whose
/// results stay there leave room for a second block.
std::optional<ProductTile> product_tile(const Program& program, const Stage& stage,
                                        const GpuMachine& machine, const TileUse& use = {});

/// All tiles that serve it, by predicted time, the best one first.
std::vector<ProductTile> product_tiles(const Program& program, const Stage& stage,
                                       const GpuMachine& machine, const TileUse& use = {});
/// In one part: the best of these, or another of the first few.
std::optional<ProductTile> chosen_tile(const Program& program, const Stage& stage,
                                       const GpuMachine& machine, Choices& choices,
                                       const TileUse& use);
/// "128 x 64 x 16, 8 x 8 a thread".
std::string in_words(const ProductTile& tile);

}  // namespace adjit::sched
