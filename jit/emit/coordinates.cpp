// jit/emit/coordinates.cpp -- indices that data decides, in 32 bits where that gives the same
// element, and the offsets that they make.
//
// Such an index is often limited: max(min(m + int64(floor(t)), 127), 0). Without AVX-512 there are
// neither conversions from floats to 64-bit integers nor their minimum and maximum in lanes. The
// 32-bit value of what stands inside is exact up to some magnitude; beyond that it has the same
// sign and is no smaller, so that min and max give the same. A float that is no 64-bit integer
// becomes the last 32-bit integer on its side, as it becomes the last one of 64 bits there: sums
// wrap alike. (Doubles less than 2^20 below 2^63 wrap in 64 bits only.)
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "jit/emit/body.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

constexpr int64_t kFar = int64_t{1} << 30;    // what a 64-bit integer becomes at most
constexpr int64_t kSmall = int64_t{1} << 20;  // what may be added to that
constexpr int64_t kFarthestIndex = int64_t{1} << 29;
constexpr int kHighest = 64;  // bounds the depth of the walk that emits them

int64_t magnitude(Interval r) { return std::max(r.hi, -r.lo); }

}  // namespace

// What is known of a node's 32-bit form.
struct BodyEmitter::Narrow {
  int64_t exact = kFar;      // up to this magnitude it is right
  int64_t most = INT64_MAX;  // magnitude that the node has at most
  int height = 0;            // of the nodes that are computed so
};

std::optional<BodyEmitter::Narrow> BodyEmitter::narrow_form(ExprId root) {
  std::unordered_map<uint32_t, std::optional<Narrow>> known;
  const ExprId roots[] = {root};
  for (ExprId id : reachable(pool_, roots)) {
    const Node& node = pool_[id];
    std::optional<Narrow>& here = known[id.value];
    if (node.dtype != DType::Int64 || node.op == Op::Read) continue;
    if (const std::optional<Interval> range = affine_range(id)) {
      if (magnitude(*range) <= kFarthestIndex) here = {kFar, magnitude(*range), 0};
      continue;
    }
    if (node.op == Op::Cast) {
      if (is_float(pool_.dtype(pool_.operand(id, 0)))) here = Narrow{};
      continue;
    }
    if (node.operand_count < 2) continue;
    std::optional<Narrow> a = known.at(pool_.operand(id, node.operand_count - 2u).value);
    std::optional<Narrow> b = known.at(pool_.operand(id, node.operand_count - 1u).value);
    if (!a || !b) continue;
    const int height = std::max(a->height, b->height) + 1;
    if (height > kHighest) continue;
    if (node.op == Op::Min || node.op == Op::Max || node.op == Op::Select) {
      here = {std::min(a->exact, b->exact), std::max(a->most, b->most), height};
    } else if (node.op == Op::Add || node.op == Op::Sub) {
      if (a->most > b->most) std::swap(a, b);
      if (a->most > kSmall || b->exact - a->most < kFarthestIndex) continue;
      here = {b->exact - a->most, b->most == INT64_MAX ? b->most : a->most + b->most, height};
    }
  }
  return known.at(root.value);
}

bool BodyEmitter::is_narrow(ExprId id) {
  const auto found = is_narrow_.find(id.value);
  if (found != is_narrow_.end()) return found->second;
  bool fits = false;
  if (dependence_.at(id.value).lanes && !affine(id))
    if (const auto range = interval_of(pool_, id, domain_.extents))
      fits = magnitude({range->lo, range->hi}) <= kFarthestIndex && narrow_form(id).has_value();
  return is_narrow_[id.value] = fits;
}

// The nodes that a coordinate is made of: itself, or what is cast and asked in its 32-bit form.
void BodyEmitter::coordinate_inputs(ExprId id, std::vector<ExprId>& inputs) {
  if (!is_narrow(id)) return inputs.push_back(id);
  std::vector<ExprId> open{id};
  std::unordered_set<uint32_t> seen{id.value};
  while (!open.empty()) {
    const ExprId node = open.back();
    open.pop_back();
    if (affine(node)) continue;
    const std::span<const ExprId> operands = pool_.operands(node);
    const bool cast = pool_.is(node, Op::Cast);
    if (cast || pool_.is(node, Op::Select)) inputs.push_back(operands[0]);
    if (cast) continue;
    for (ExprId operand : operands.last(2))
      if (seen.insert(operand.value).second) open.push_back(operand);
  }
}

Emitted BodyEmitter::coordinate(ExprId id, const Point& point) {
  return is_narrow(id) ? narrow(id, point) : (*this)(id, point);
}

// Towards zero, NaN to 0, limited to +-kFar; what 64 bits do not hold to the last integer.
Value* BodyEmitter::truncate_narrow(Value* value) {
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  const auto integer = [&](int64_t k) { return llvm::ConstantInt::getSigned(index_type(32), k); };
  const auto limit = static_cast<double>(kFar);
  Value* x =
      builder_.CreateSelect(builder_.CreateFCmpOLT(value, number(limit)), value, number(limit));
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, number(-limit)), x, number(-limit));
  x = builder_.CreateSelect(builder_.CreateFCmpORD(value, value), x, number(0));
  Value* near = builder_.CreateFPToSI(x, index_type(32));
  near = builder_.CreateSelect(builder_.CreateFCmpOGE(value, number(0x1p63)), integer(INT32_MAX),
                               near);
  return builder_.CreateSelect(builder_.CreateFCmpOLE(value, number(-0x1p63)), integer(INT32_MIN),
                               near);
}

llvm::Type* BodyEmitter::index_type(unsigned bits) const {
  return llvm::FixedVectorType::get(builder_.getIntNTy(bits), index_.lanes());
}

Emitted BodyEmitter::narrow(ExprId id, const Point& point) {
  const Key key = this->key(id, point);
  if (const auto found = narrow_.find(key); found != narrow_.end())
    if (const Memo& memo = found->second; scopes_.alive(memo.emitted.depth, memo.serial))
      return memo.emitted;
  const auto made = [&]() -> Emitted {
    if (affine(id)) {
      const Affine form = place(*affine(id));
      return {index_.vector(form, 32), index_.depth(form)};
    }
    const std::span<const ExprId> operands = pool_.operands(id);
    const Op op = pool_[id].op;
    if (op == Op::Cast) {
      const Emitted operand = (*this)(operands[0], point);
      Value* value = splat(operand);
      return {scopes_.at(operand.depth, [&] { return truncate_narrow(value); }), operand.depth};
    }
    const Emitted a = narrow(operands[operands.size() - 2], point);
    const Emitted b = narrow(operands[operands.size() - 1], point);
    Emitted asked;
    if (op == Op::Select) asked = (*this)(operands[0], point);
    const size_t depth = std::max({a.depth, b.depth, asked.depth});
    Value* condition = asked.value ? splat(asked) : nullptr;
    return {scopes_.at(depth,
                       [&]() -> Value* {
                         if (op == Op::Add) return builder_.CreateAdd(a.value, b.value);
                         if (op == Op::Sub) return builder_.CreateSub(a.value, b.value);
                         Value* yes = condition;
                         if (op == Op::Min) yes = builder_.CreateICmpSLT(a.value, b.value);
                         if (op == Op::Max) yes = builder_.CreateICmpSGT(a.value, b.value);
                         return builder_.CreateSelect(yes, a.value, b.value);
                       }),
            depth};
  }();
  narrow_[key] = {made, scopes_.serial(made.depth)};
  return made;
}

// Offsets of the tensor's elements from its first; nothing where they leave 60 bits.
std::optional<Interval> BodyEmitter::reach(TensorId tensor) const {
  const TensorPlace& place = places_[tensor];
  const std::vector<int64_t>& shape = graph_.info(tensor).shape;
  try {
    Interval range{0, 0};
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t far = checked_mul(std::max<int64_t>(shape[d] - 1, 0), place.strides[d]);
      int64_t& end = far < 0 ? range.lo : range.hi;
      end = checked_add(end, far);
    }
    checked_mul(range.hi, 8), checked_mul(range.lo, 8);
    return range;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

bool BodyEmitter::has_narrow_offsets(TensorId tensor) const {
  const std::optional<Interval> range = reach(tensor);
  return range && range->hi - range->lo <= INT32_MAX;
}

// What all lanes have in common, where a pointer to it stays inside the tensor: the offsets from
// there to elements of the tensor are then no longer than the tensor. Zero elsewhere.
Affine BodyEmitter::shared_offset(TensorId tensor, const Affine& form) const {
  if (!places_[tensor].origin.empty()) return Affine();
  const Affine shared = index_.without_lanes(form);
  const Interval at = index_.range(shared);
  const std::optional<Interval> range = reach(tensor);
  return range && at.lo >= range->lo && at.hi <= range->hi ? shared : Affine();
}

Emitted BodyEmitter::lane_offsets(TensorId tensor, const Affine& form,
                                  std::vector<std::pair<Emitted, int64_t>> data) {
  if (data.empty()) return {index_.vector(form), index_.depth(form)};
  llvm::Type* type = index_type(has_narrow_offsets(tensor) ? 32 : 64);
  // What is known outside most loops is added up there.
  std::ranges::stable_sort(data, {}, [](const auto& d) { return d.first.depth; });
  Emitted total;
  const auto add = [&](Value* term, size_t depth) {
    Value* before = total.value;
    depth = std::max(depth, total.depth);
    total = {before ? scopes_.at(depth, [&] { return builder_.CreateAdd(before, term); }) : term,
             depth};
  };
  for (const auto& [value, stride] : data) {
    Value* lanes = splat(value);
    Value* scale = llvm::ConstantInt::getSigned(type, stride);
    add(scopes_.at(value.depth,
                   [&, by = stride] {
                     Value* index = builder_.CreateSExtOrTrunc(lanes, type);
                     return by == 1 ? index : builder_.CreateMul(index, scale);
                   }),
        value.depth);
  }
  if (form != Affine()) add(index_.vector(form, type->getScalarSizeInBits()), index_.depth(form));
  return total;
}

Value* BodyEmitter::lane_offset(Value* offsets, unsigned lane, bool forwards) {
  Value* offset = builder_.CreateExtractElement(offsets, uint64_t{lane});
  return forwards ? builder_.CreateZExt(offset, builder_.getInt64Ty())
                  : builder_.CreateSExt(offset, builder_.getInt64Ty());
}

bool BodyEmitter::lies_forwards(TensorId tensor) const {
  return std::ranges::all_of(places_[tensor].strides, [](int64_t s) { return s >= 0; });
}

// Elements at offsets from a pointer, zeros where the mask (null: none) does not hold; element 0
// must be there. Before AVX-512, gathers are slow or taken apart into branches: one load a lane
// instead.
Value* BodyEmitter::gather(llvm::Type* element, Value* pointer, Value* offsets, Value* mask,
                           bool forwards) {
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  auto* type = llvm::FixedVectorType::get(element, index_.lanes());
  Value* zero = llvm::Constant::getNullValue(type);
  if (math_.features().avx512f) {
    Value* pointers = builder_.CreateInBoundsGEP(element, pointer, offsets);
    return builder_.CreateMaskedGather(type, pointers, align, mask, zero, "gathered");
  }
  auto* known = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  if (mask && !known)
    offsets =
        builder_.CreateSelect(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
  Value* result = zero;
  for (unsigned lane = 0; lane < index_.lanes(); ++lane) {
    if (known && known->getAggregateElement(lane)->isNullValue()) continue;
    Value* at = builder_.CreateInBoundsGEP(element, pointer, lane_offset(offsets, lane, forwards));
    Value* loaded = builder_.CreateAlignedLoad(element, at, align);
    result = builder_.CreateInsertElement(result, loaded, lane);
  }
  if (mask && !known) result = builder_.CreateSelect(mask, result, zero);
  result->setName("gathered");
  return result;
}

}  // namespace adjit::emit
