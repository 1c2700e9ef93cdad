// jit/emit/tile/bfloat16_pairs.cpp -- which instances are pairs of bfloat16, and their products'
// sum.
#include "jit/emit/tile/bfloat16_pairs.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

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

// The pair's loop is an unrolled reduction loop of two neighbouring points.
BFloat16PairEmitter::BFloat16PairEmitter(NestContext& nest) : nest_(nest) {
  const NestShape& shape = nest.shape;
  const Stage& stage = *shape.stage;
  if (stage.combiner.kind != CombinerKind::Sum || stage.bodies.size() != 1 || shape.is_scatter() ||
      shape.running || !shape.lane_loop ||
      !bfloat16_factors(nest.kernel.program.graph.pool, stage.bodies[0]) ||
      dot_product(shape.lanes, nest.kernel.math.features()) == llvm::Intrinsic::not_intrinsic)
    return;
  for (size_t c = 0; c < shape.unrolled_loops.size(); ++c) {
    const Loop& loop = shape.nest->loops[shape.unrolled_loops[c]];
    if (shape.is_reduction(loop) && loop.step == 1 && loop.trips == 2) pair_loop_ = c;
  }
}

bool BFloat16PairEmitter::in_pair(const TileInstance& instance, const Constraints& asked) {
  return any() && !asks(instance, asked) && are_neighbours(instance);
}

bool BFloat16PairEmitter::is_first(const TileInstance& instance) const {
  return instance.values[*pair_loop_] == 0;
}

// Whether some constraint has to be asked of the instance or of its neighbour, or of lanes along
// the reduction. Leaves the instance selected.
bool BFloat16PairEmitter::asks(const TileInstance& instance, const Constraints& asked) {
  Masks& masks = nest_.masks;
  bool any = nest_.shape.lanes_in_reduction() && masks.first_lanes(instance.live_lanes).value;
  for (const int64_t point : {0, 1}) {
    TileInstance one = instance;
    one.values[*pair_loop_] = point;
    masks.select(one);
    any |= masks.all_of(asked).value != nullptr;
  }
  masks.select(instance);
  return any;
}

// Whether the instance and its neighbour are pairs in memory, for both factors: contiguous, whole
// pairs side by side in the lanes or one pair for all. Leaves the instance selected.
bool BFloat16PairEmitter::are_neighbours(const TileInstance& instance) {
  const NestShape& shape = nest_.shape;
  const size_t axis = shape.nest->loops[shape.unrolled_loops[*pair_loop_]].axis;
  if (nest_.limits[axis] % 2 != 0) return false;
  TileInstance first = instance, second = instance;
  first.values[*pair_loop_] = 0;
  second.values[*pair_loop_] = 1;
  const auto reads = *bfloat16_factors(nest_.kernel.program.graph.pool, shape.stage->bodies[0]);
  const KernelVariables& variables = nest_.kernel.variables;
  const bool both = std::ranges::all_of(reads, [&](ExprId read) {
    nest_.masks.select(first);
    const std::optional<Affine> here = plain_address(nest_.body.context(), read);
    nest_.masks.select(second);
    const std::optional<Affine> behind = plain_address(nest_.body.context(), read);
    if (!here || !behind || !is_one(*behind - *here)) return false;
    return !variables.in_lanes(*here) || variables.lane_stride(*here) == 2;
  });
  nest_.masks.select(instance);
  return both;
}

Value* BFloat16PairEmitter::add(const Point& point, Value* sum) {
  const unsigned lanes = nest_.shape.lanes;
  llvm::IRBuilder<>& builder = nest_.kernel.builder;
  const auto reads =
      *bfloat16_factors(nest_.kernel.program.graph.pool, nest_.shape.stage->bodies[0]);
  auto* type = llvm::FixedVectorType::get(builder.getBFloatTy(), 2 * lanes);
  std::array<Value*, 2> pairs;
  for (size_t k = 0; k < 2; ++k) {
    const Emitted pair = nest_.body.bfloat16_pair(reads[k], point);
    Value* in_lanes = nest_.splats(pair);
    pairs[k] =
        nest_.kernel.scopes.at(pair.depth, [&] { return builder.CreateBitCast(in_lanes, type); });
  }
  return builder.CreateIntrinsic(dot_product(lanes, nest_.kernel.math.features()), {},
                                 {sum, pairs[0], pairs[1]});
}

}  // namespace adjit::emit
