// jit/emit/tile/scatter.hpp -- the points of a lowered scatter, which have no accumulators.
#pragma once

#include <optional>

#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// Elements of a result that lie side by side: one, or the lanes'.
struct KeptElements {
  llvm::Value* pointer = nullptr;
  llvm::Type* type = nullptr;
  llvm::Align align;
};
/// The elements that all points of the loop over segments write, which is the last one outside the
/// tile: they stay in registers meanwhile. nullopt where points write several, or under conditions.
/// To be asked where the loop begins.
std::optional<KeptElements> kept_elements(NestContext& nest);
/// From memory into registers, and back.
Carried load_kept(NestContext& nest, const KeptElements& kept);
void store_kept(NestContext& nest, const KeptElements& kept, const Carried& elements);

/// Every instance of the tile reads, combines and writes, in order. With elements that are kept it
/// combines these, and gives what they become.
Carried emit_scatter(NestContext& nest, Carried kept);

}  // namespace adjit::emit
