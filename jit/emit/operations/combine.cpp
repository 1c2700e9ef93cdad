// jit/emit/operations/combine.cpp -- reducers in registers.
#include "jit/emit/operations/combine.hpp"

#include <bit>
#include <optional>
#include <unordered_map>

#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/operations/operations.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

bool compares_unsigned(DType dtype) { return dtype == DType::UInt8 || dtype == DType::Bool; }

// -inf or +inf, or the lowest or highest integer.
llvm::Constant* extreme(llvm::Type* type, DType dtype, bool lowest) {
  if (is_float(dtype)) return llvm::ConstantFP::getInfinity(type, lowest);
  const unsigned bits = type->getIntegerBitWidth();
  const llvm::APInt value = lowest
                                ? (compares_unsigned(dtype) ? llvm::APInt::getMinValue(bits)
                                                            : llvm::APInt::getSignedMinValue(bits))
                                : (compares_unsigned(dtype) ? llvm::APInt::getMaxValue(bits)
                                                            : llvm::APInt::getSignedMaxValue(bits));
  return llvm::ConstantInt::get(type->getContext(), value);
}

// Whether the payload is 0 at the first point of every reduction.
bool starts_at_zero(const Graph& graph, const Stage& stage) {
  if (!stage.domain.is_box()) return false;
  ExprId payload = stage.bodies[1];
  if (graph.pool.is(payload, Op::Cast)) payload = graph.pool.operand(payload, 0);
  if (graph.pool.dtype(payload) != DType::Int64) return false;
  const std::optional<IndexForm> at = index_form(graph.pool, payload, stage.domain);
  if (!at || at->form.constant() != 0 || at->form.size() > stage.domain.rank()) return false;
  for (size_t a = 0; a < stage.domain.output_rank; ++a)
    if (at->form.coefficient(a) != 0) return false;
  return true;
}

}  // namespace

llvm::Constant* no_payload(llvm::Type* type) {
  return llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
}

CombinerEmitter::CombinerEmitter(const Graph& graph, const Stage& stage, llvm::IRBuilder<>& builder,
                                 VectorMath& math, bool any_order)
    : graph_(graph), stage_(stage), builder_(builder), math_(math), any_order_(any_order) {
  const CombinerKind kind = stage.combiner.kind;
  const bool arg = kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin;
  marks_empty_ = arg && !starts_at_zero(graph, stage);
}

DType CombinerEmitter::dtype(size_t component) const {
  return accumulator_of(graph_.pool.dtype(stage_.bodies[component]));
}

llvm::Constant* CombinerEmitter::identity(size_t component) const {
  const DType t = dtype(component);
  llvm::Type* type = register_type(builder_, t);
  switch (stage_.combiner.kind) {
    case CombinerKind::Product:
    case CombinerKind::All:
      return is_float(t) ? llvm::ConstantFP::get(type, 1.0)
                         : static_cast<llvm::Constant*>(llvm::ConstantInt::get(type, 1));
    case CombinerKind::Max: return extreme(type, t, true);
    case CombinerKind::Min: return extreme(type, t, false);
    case CombinerKind::ArgMax:
    case CombinerKind::ArgMin:
      if (component == 0) return extreme(type, t, stage_.combiner.kind == CombinerKind::ArgMax);
      return marks_empty_ ? no_payload(type) : llvm::Constant::getNullValue(type);
    case CombinerKind::Custom: {
      const ExprId id = stage_.combiner.identity[component];
      if (is_float(t)) return llvm::ConstantFP::get(type, *graph_.pool.value(id));
      return llvm::ConstantInt::get(type, static_cast<uint64_t>(*graph_.pool.int_value(id)));
    }
    default: return llvm::Constant::getNullValue(type);
  }
}

Partial CombinerEmitter::identities(unsigned lanes) const {
  Partial all;
  for (size_t k = 0; k < stage_.bodies.size(); ++k) {
    Value* one = identity(k);
    all.push_back(lanes == 0 ? one : builder_.CreateVectorSplat(lanes, one));
  }
  return all;
}

Partial CombinerEmitter::combine(const Partial& left, const Partial& right) {
  switch (stage_.combiner.kind) {
    case CombinerKind::ArgMax:
    case CombinerKind::ArgMin: return combine_arg(left, right, nullptr);
    case CombinerKind::Custom: return combine_custom(left, right);
    default: break;
  }
  Partial result;
  for (size_t k = 0; k < left.size(); ++k)
    result.push_back(combine_component(k, left[k], right[k]));
  return result;
}

Partial CombinerEmitter::combine_where(Value* keep, const Partial& left, const Partial& right) {
  const CombinerKind kind = stage_.combiner.kind;
  if (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin)
    return combine_arg(left, right, keep);
  return selected(keep, combine(left, right), left);
}

Partial CombinerEmitter::selected(Value* condition, const Partial& yes, const Partial& no) {
  Partial result;
  for (size_t k = 0; k < yes.size(); ++k)
    result.push_back(builder_.CreateSelect(condition, yes[k], no[k]));
  return result;
}

Value* CombinerEmitter::combine_component(size_t component, Value* left, Value* right) {
  const DType t = dtype(component);
  const auto apply = [&](Op op) {
    return emit_operation(builder_, math_, op, t, t, {left, right});
  };
  switch (stage_.combiner.kind) {
    case CombinerKind::Sum: return apply(t == DType::Bool ? Op::BitOr : Op::Add);
    case CombinerKind::Product: return apply(t == DType::Bool ? Op::BitAnd : Op::Mul);
    case CombinerKind::Max: return apply(Op::Max);
    case CombinerKind::Min: return apply(Op::Min);
    case CombinerKind::Any: return builder_.CreateOr(left, right);
    case CombinerKind::All: return builder_.CreateAnd(left, right);
    default: break;
  }
  throw Error(ErrorCode::Internal,
              "internal error: a stage without combiner has nothing to combine");
}

// Whether the right one has the left one's value (any NaN is as good as another), and a smaller
// payload.
Value* CombinerEmitter::equal_but_before(const Partial& left, const Partial& right) {
  Value* equal;
  if (is_float(dtype(0))) {
    Value* both_nan = builder_.CreateAnd(builder_.CreateFCmpUNO(left[0], left[0]),
                                         builder_.CreateFCmpUNO(right[0], right[0]));
    equal = builder_.CreateOr(builder_.CreateFCmpOEQ(left[0], right[0]), both_nan);
  } else {
    equal = builder_.CreateICmpEQ(left[0], right[0]);
  }
  return builder_.CreateAnd(equal, builder_.CreateICmpSLT(right[1], left[1]));
}

// The later value wins only when it is better, and where it counts (null: everywhere); NaN is
// better than any number, the first NaN stays.
Partial CombinerEmitter::combine_arg(const Partial& left, const Partial& right, Value* keep) {
  const bool largest = stage_.combiner.kind == CombinerKind::ArgMax;
  Value* better;
  if (is_float(dtype(0))) {
    Value* beats = largest ? builder_.CreateFCmpUGT(right[0], left[0])
                           : builder_.CreateFCmpULT(right[0], left[0]);
    better = builder_.CreateAnd(beats, builder_.CreateFCmpORD(left[0], left[0]));
  } else {
    const bool plain = compares_unsigned(dtype(0));
    const auto predicate = largest ? (plain ? llvm::CmpInst::ICMP_UGT : llvm::CmpInst::ICMP_SGT)
                                   : (plain ? llvm::CmpInst::ICMP_ULT : llvm::CmpInst::ICMP_SLT);
    better = builder_.CreateICmp(predicate, right[0], left[0]);
  }
  if (any_order_) better = builder_.CreateOr(better, equal_but_before(left, right));
  if (marks_empty_) {
    const auto is_none = [&](Value* payload) {
      return builder_.CreateICmpEQ(payload, no_payload(payload->getType()));
    };
    better = builder_.CreateOr(better, is_none(left[1]));
    // Points are some, partial results may be of none.
    if (any_order_) better = builder_.CreateAnd(better, builder_.CreateNot(is_none(right[1])));
  }
  if (keep) better = builder_.CreateAnd(better, keep);
  return selected(better, right, left);
}

Partial CombinerEmitter::combine_custom(const Partial& left, const Partial& right) {
  const ExprPool& pool = graph_.pool;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(left[0]->getType());
  std::unordered_map<uint32_t, Value*> done;
  for (ExprId id : reachable(pool, stage_.combiner.combine)) {
    const Node& node = pool[id];
    Value* value;
    if (node.op == Op::Argument) {
      const size_t k = static_cast<size_t>(node.payload);
      value = k < left.size() ? left[k] : right[k - left.size()];
    } else if (node.op == Op::Constant) {
      llvm::Type* type = register_type(builder_, node.dtype);
      value = is_float(node.dtype)
                  ? static_cast<Value*>(llvm::ConstantFP::get(type, *pool.value(id)))
                  : llvm::ConstantInt::get(type, static_cast<uint64_t>(*pool.int_value(id)));
      if (vector) value = builder_.CreateVectorSplat(vector->getNumElements(), value);
    } else {
      llvm::SmallVector<Value*, 4> operands;
      for (ExprId operand : pool.operands(id)) operands.push_back(done.at(operand.value));
      value = emit_operation(builder_, math_, node.op, pool.dtype(pool.operands(id).back()),
                             node.dtype, operands);
    }
    done.emplace(id.value, value);
  }
  Partial result;
  for (ExprId id : stage_.combiner.combine) result.push_back(done.at(id.value));
  return result;
}

// Halves of every block of lanes, block by block: of vectors that hold several partials.
llvm::SmallVector<int, 64> CombinerEmitter::halves(unsigned lanes, unsigned block, unsigned first) {
  llvm::SmallVector<int, 64> mask;
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (lane % block / (block / 2) == first) mask.push_back(static_cast<int>(lane));
  return mask;
}

Partial CombinerEmitter::fold_lanes(std::vector<Partial> partials) {
  const auto lanes_of = [](const Partial& partial) {
    return llvm::cast<llvm::FixedVectorType>(partial[0]->getType())->getNumElements();
  };
  const unsigned lanes = lanes_of(partials[0]);
  unsigned block = lanes;  // of one partial
  invariant(std::has_single_bit(partials.size()) && partials.size() <= lanes,
            "a power of two of partials is folded at once");
  for (; partials.size() > 1; block /= 2) {
    std::vector<Partial> pairs;
    for (size_t p = 0; p < partials.size(); p += 2) {
      Partial left, right;
      for (size_t k = 0; k < partials[p].size(); ++k) {
        Value *a = partials[p][k], *b = partials[p + 1][k];
        left.push_back(builder_.CreateShuffleVector(a, b, halves(2 * lanes, block, 0)));
        right.push_back(builder_.CreateShuffleVector(a, b, halves(2 * lanes, block, 1)));
      }
      pairs.push_back(combine(left, right));
    }
    partials = std::move(pairs);
  }
  Partial folded = std::move(partials[0]);
  for (; block > 1; block /= 2) {
    Partial left, right;
    for (Value* component : folded) {
      left.push_back(builder_.CreateShuffleVector(component, halves(lanes_of(folded), block, 0)));
      right.push_back(builder_.CreateShuffleVector(component, halves(lanes_of(folded), block, 1)));
    }
    folded = combine(left, right);
  }
  return folded;
}

}  // namespace adjit::emit
