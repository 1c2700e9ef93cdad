// jit/emit/tile/scatter.hpp -- the points of a lowered scatter, which have no accumulators.
#pragma once

#include <optional>
#include <vector>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class ScatterEmitter {
 public:
  /// `nest` must outlive it.
  explicit ScatterEmitter(NestContext& nest);

  /// Every instance of the tile reads, combines and writes, in order.
  void write_instances();

 private:
  /// Where a point writes.
  struct Written {
    Address address;
    Emitted uniform, lanes;  // conditions: for all lanes, for each
  };
  Written written_by(const Point& point);
  llvm::Value* combined(llvm::Value* before, llvm::Value* now);
  std::optional<llvm::Value*> with_product(const Point& point, llvm::Value* before);
  void combine_at(const Point& point, const Written& written);
  std::optional<size_t> instances_in_rows();
  void combine_rows(const std::vector<const TileInstance*>& piece, const Point& first,
                    const Written& written);
  void combine_in_turn(const Written& written, const std::vector<llvm::Value*>& values);

  NestContext& nest_;
  const Program& program_;
  const Stage& stage_;
  const NestShape& shape_;
  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  IndexEmitter& index_;
  BodyEmitter& body_;
  CombinerEmitter& combiner_;
  Masks& masks_;
};

}  // namespace adjit::emit
