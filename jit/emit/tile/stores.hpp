// jit/emit/tile/stores.hpp -- what the instances of a tile hold goes to memory, and comes back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "jit/emit/body/masks.hpp"
#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/scopes/splats.hpp"
#include "jit/emit/shape/nest_constraints.hpp"
#include "jit/emit/shape/places.hpp"
#include "jit/emit/tile/kernel_context.hpp"

namespace adjit::emit {

/// The results of one nest. Components number the stage's results; a value is one of all lanes (of
/// none, where there are no lanes or they are of the reduction).
class StoreEmitter {
 public:
  /// `limits`: per axis, the points of the tile inside it in the version at hand. `has_place`: what
  /// holds for points that have a place in memory. References must outlive it.
  StoreEmitter(KernelContext& kernel, const NestShape& shape, std::span<const int64_t> limits,
               const Constraints& has_place, Splats& splats, Masks& masks);
  /// Stores what is emitted from now on as if all points had a place in memory, or not.
  void suppose_places(bool all) { all_have_places_ = all; }

  void store_result(size_t component, llvm::Value* value, const TileInstance& instance);
  /// The results of all instances, in order; whole pieces of rows, or lanes of all, at once.
  void store_results(size_t component, const std::vector<TileInstance>& instances,
                     const Carried& values);
  /// Stores the results of instances that lie one behind the other, which are the lanes of the
  /// partial's components; false where they do not, or not all of them have a place or are certain
  /// to fulfil what `asked` says.
  bool store_folded(std::span<const TileInstance> instances, const Partial& folded,
                    const Constraints& asked);
  /// The unrolled loop along which results lie one behind the other, where the lanes' do not.
  std::optional<size_t> results_in_rows(size_t component);
  /// What an instance stored before.
  llvm::Value* load_result(size_t component, const TileInstance& instance);

 private:
  struct ResultPlace {
    const TensorPlace& buffer;
    DType dtype;
    llvm::Type* element;
    llvm::Align align;         // of every lane's element
    llvm::Align vector_align;  // of the first lane's
    Affine form;               // of the element in the buffer
    Emitted mask;              // of what has a place
  };
  ResultPlace place_of(size_t component, const TileInstance& instance);
  Affine result_form(size_t component) const;
  Emitted stored_mask(const TileInstance& instance);
  bool store_by_lanes(size_t component, const std::vector<TileInstance>& instances,
                      const Carried& values);
  void store_rows(size_t component, const TileInstance& first, std::vector<llvm::Value*> vectors);
  llvm::Align alignment(size_t component, const Affine& form) const;
  llvm::Value* lane_address(size_t component, const Affine& form, unsigned lane);
  bool is_vector_aligned(const Affine& form) const;

  KernelContext& kernel_;
  const Stage& stage_;
  const NestShape& shape_;
  const std::span<const int64_t> limits_;
  const Constraints& has_place_;
  bool all_have_places_ = false;
  Splats& splats_;
  Masks& masks_;
};

}  // namespace adjit::emit
