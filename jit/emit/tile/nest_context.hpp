// jit/emit/tile/nest_context.hpp -- what the emitters of one nest share.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/emit/body/body.hpp"
#include "jit/emit/body/masks.hpp"
#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/splats.hpp"
#include "jit/emit/shape/body_shape.hpp"
#include "jit/emit/shape/nest_constraints.hpp"
#include "jit/emit/shape/nest_shape.hpp"
#include "jit/emit/tile/kernel_context.hpp"
#include "jit/emit/tile/stores.hpp"

namespace adjit::emit {

struct NestContext {
  /// Enclosing variables are bound. `by_block`: whether the threads of a block run it together.
  /// Both must outlive it.
  NestContext(KernelContext& kernel, const Nest& nest, bool by_block);
  NestContext(const NestContext&) = delete;  // members refer to others
  NestContext& operator=(const NestContext&) = delete;

  KernelContext& kernel;
  const NestShape shape;
  std::vector<int64_t> limits;  // per axis, points of the tile inside it, in the version at hand
  CombinerEmitter combiner;
  const BodyShape body_shape;
  Splats splats;
  BodyEmitter body;
  const NestConstraints constraints;
  Masks masks;
  StoreEmitter stores;
  /// Vector instructions of an instance; 0 where a tile has one alone, of vectors that are one of
  /// the processor's.
  const double instance_work;
  const bool by_block;
  /// Whether the loops that carry accumulators begin outside those of threads: all threads of the
  /// block come to their end, where what they have accumulated is combined.
  const bool carries_over_threads;
};

/// To be called for each instance of the body that is emitted. Unrolled instances, ragged versions
/// and the nests attached in them multiply: more code than a limit is a mistake, and would take
/// seconds to compile. Raises Schedule there.
void count_instance(NestContext& nest);

}  // namespace adjit::emit
