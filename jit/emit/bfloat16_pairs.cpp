// jit/emit/bfloat16_pairs.cpp -- sums of products of bfloat16, two points of the reduction at a
// time: vdpbf16ps adds the products of a lane's two pairs to a float32.
//
// The products are exact and each sum is rounded, as by two multiply-adds, the second point's
// first; subnormal numbers count as zeros. A schedule brings the two points side by side in memory
// (autosched/cpu/passes/reductions/prepare.cpp); where a tile's copies are not so, they are
// multiplied and added as any others.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "jit/emit/nest.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

llvm::Intrinsic::ID dot_product(unsigned lanes, const TargetFeatures& features) {
  if (!features.avx512bf16) return llvm::Intrinsic::not_intrinsic;
  if (lanes == 16) return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512;
  if (lanes == 8 && features.avx512vl) return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256;
  if (lanes == 4 && features.avx512vl) return llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
  return llvm::Intrinsic::not_intrinsic;
}

bool is_one(const Affine& form) {
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0) return false;
  return form.constant() == 1;
}

/// The reads of a product of two bfloat16 in float32; nothing where a body is anything else.
std::optional<std::array<ExprId, 2>> bfloat16_factors(const ExprPool& pool, ExprId body) {
  if (!pool.is(body, Op::Mul) || pool.dtype(body) != DType::Float32) return std::nullopt;
  std::array<ExprId, 2> reads;
  for (size_t k = 0; k < 2; ++k) {
    const ExprId factor = pool.operand(body, k);
    if (!pool.is(factor, Op::Cast)) return std::nullopt;
    reads[k] = pool.operand(factor, 0);
    if (!pool.is(reads[k], Op::Read) || pool.dtype(reads[k]) != DType::BFloat16)
      return std::nullopt;
  }
  return reads;
}

}  // namespace

// An unrolled reduction loop of two neighbouring points.
void NestEmitter::find_pair_loop() {
  if (stage_.combiner.kind != CombinerKind::Sum || stage_.bodies.size() != 1 ||
      shape_.is_scatter() || stage_.running || !shape_.lane_loop ||
      !bfloat16_factors(program_.graph.pool, stage_.bodies[0]) ||
      dot_product(shape_.lanes, context_.math.features()) == llvm::Intrinsic::not_intrinsic)
    return;
  for (size_t c = 0; c < shape_.unrolled_loops.size(); ++c) {
    const Loop& loop = nest_.loops[shape_.unrolled_loops[c]];
    if (shape_.is_reduction(loop) && loop.step == 1 && loop.trips == 2) pair_loop_ = c;
  }
}

// Whether the copy and its neighbour are pairs in memory, for both factors: contiguous, whole
// pairs side by side in the lanes or one pair for all. Leaves the copy selected.
bool NestEmitter::in_pairs(const TileInstance& copy) {
  const size_t axis = nest_.loops[shape_.unrolled_loops[*pair_loop_]].axis;
  if (tile_limit_[axis] % 2 != 0) return false;
  TileInstance first = copy, second = copy;
  first.values[*pair_loop_] = 0;
  second.values[*pair_loop_] = 1;
  const auto reads = *bfloat16_factors(program_.graph.pool, stage_.bodies[0]);
  const bool both = std::ranges::all_of(reads, [&](ExprId read) {
    masks_->select(first);
    const std::optional<Affine> here = body_->plain_address(read);
    masks_->select(second);
    const std::optional<Affine> behind = body_->plain_address(read);
    if (!here || !behind || !is_one(*behind - *here)) return false;
    return !index_.in_lanes(*here) || index_.lane_stride(*here) == 2;
  });
  masks_->select(copy);
  return both;
}

// Whether some row has to be asked of the copy or of its neighbour, or of lanes along the
// reduction. Leaves the copy selected.
bool NestEmitter::asks_of_pair(const TileInstance& copy, const Constraints& asked) {
  bool any = shape_.lanes_in_reduction() && masks_->first_lanes(copy.live_lanes).value;
  for (const int64_t point : {0, 1}) {
    TileInstance one = copy;
    one.values[*pair_loop_] = point;
    masks_->select(one);
    any |= masks_->all_of(asked).value != nullptr;
  }
  masks_->select(copy);
  return any;
}

Value* NestEmitter::add_pair(const Point& point, Value* sum) {
  const auto reads = *bfloat16_factors(program_.graph.pool, stage_.bodies[0]);
  auto* type = llvm::FixedVectorType::get(builder_.getBFloatTy(), 2 * shape_.lanes);
  std::array<Value*, 2> pairs;
  for (size_t k = 0; k < 2; ++k) {
    const Emitted pair = body_->bfloat16_pair(reads[k], point);
    Value* lanes = body_->splat(pair);
    pairs[k] = scopes_.at(pair.depth, [&] { return builder_.CreateBitCast(lanes, type); });
  }
  return builder_.CreateIntrinsic(dot_product(shape_.lanes, context_.math.features()), {},
                                  {sum, pairs[0], pairs[1]});
}

}  // namespace adjit::emit
