// jit/emit/scatter.hpp -- the points of a lowered scatter, which have no accumulators.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "jit/emit/combine.hpp"
#include "jit/emit/context.hpp"
#include "jit/emit/masks.hpp"

namespace adjit::emit {

class ScatterEmitter {
 public:
  /// `limits`: per axis, the points of the tile inside it in the version at hand. References must
  /// outlive it.
  ScatterEmitter(KernelContext& context, const NestShape& shape, std::span<const int64_t> limits,
                 BodyEmitter& body, CombinerEmitter& combiner, Masks& masks);

  /// Every instance of the tile reads, combines and writes, in order; `asked` are the constraints
  /// that differ between them. `count` is called for each that is emitted.
  void write_instances(const Constraints& asked, const std::function<void()>& count);

 private:
  /// Where a point writes.
  struct Written {
    Affine form;  // what the loops decide of the address, in elements
    std::vector<std::pair<Emitted, int64_t>> data;  // what data decides: coordinates, strides
    Emitted uniform, lanes;                         // conditions: for all lanes, for each
  };
  Written written_by(const Point& point);
  llvm::Value* combined(llvm::Value* before, llvm::Value* now);
  std::optional<llvm::Value*> with_product(const Point& point, llvm::Value* before);
  void combine_at(const Point& point, const Written& written);
  std::optional<size_t> instances_in_rows(const Constraints& asked);
  void combine_rows(const std::vector<const TileInstance*>& piece, const Point& first,
                    const Written& written);
  void combine_in_turn(const Written& written, const std::vector<llvm::Value*>& values);

  KernelContext& context_;
  const Program& program_;
  const Stage& stage_;
  const NestShape& shape_;
  const std::span<const int64_t> limits_;
  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  IndexEmitter& index_;
  BodyEmitter& body_;
  CombinerEmitter& combiner_;
  Masks& masks_;
};

}  // namespace adjit::emit
