// jit/emit/ir/async_copies.cpp -- loads that are only stored become copies.
#include "jit/emit/ir/async_copies.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/Local.h>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

constexpr uint64_t kUnit = 4;  // bytes: the least that a copy moves

// Where some bytes of a value were loaded from.
struct Source {
  Value* pointer = nullptr;
  uint64_t offset = 0;         // bytes
  uint64_t align = 1;          // of the pointer
  uint64_t at_once = 0;        // bytes that one load of a thread moves
  Value* condition = nullptr;  // i1: they are 0 where it does not hold; null: it always does

  bool continues(const Source& before, uint64_t bytes) const {
    return pointer == before.pointer && condition == before.condition &&
           offset == before.offset + bytes;
  }
};

class Sources {
 public:
  explicit Sources(llvm::IRBuilder<>& builder) : builder_(builder) {}

  // Of the element of a value at a byte of it.
  std::optional<Source> at(Value* value, uint64_t byte) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) return of_load(*load, byte);
    if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value)) return at(cast->getOperand(0), byte);
    if (auto* one = llvm::dyn_cast<llvm::ExtractElementInst>(value)) return of_extract(*one, byte);
    if (auto* all = llvm::dyn_cast<llvm::InsertElementInst>(value)) return of_insert(*all, byte);
    if (auto* all = llvm::dyn_cast<llvm::ShuffleVectorInst>(value)) return of_shuffle(*all, byte);
    if (auto* either = llvm::dyn_cast<llvm::SelectInst>(value)) return of_select(*either, byte);
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
    if (call && call->getIntrinsicID() == llvm::Intrinsic::masked_load)
      return of_masked_load(*call, byte);
    return std::nullopt;
  }

 private:
  static uint64_t element_bytes(const Value* value) {
    return value->getType()->getScalarSizeInBits() / 8;
  }
  static uint64_t bytes_of(const llvm::Type* type) {
    return type->getPrimitiveSizeInBits().getFixedValue() / 8;
  }

  static std::optional<Source> of_load(llvm::LoadInst& load, uint64_t byte) {
    if (load.getPointerAddressSpace() != kGlobalSpace || !load.isSimple()) return std::nullopt;
    const uint64_t align = load.getAlign().value();
    return Source{load.getPointerOperand(), byte, align, std::min(align, bytes_of(load.getType())),
                  nullptr};
  }

  std::optional<Source> of_extract(llvm::ExtractElementInst& one, uint64_t byte) {
    const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(one.getIndexOperand());
    if (!lane) return std::nullopt;
    return at(one.getVectorOperand(), byte + lane->getZExtValue() * element_bytes(&one));
  }

  std::optional<Source> of_insert(llvm::InsertElementInst& all, uint64_t byte) {
    const auto* lane = llvm::dyn_cast<llvm::ConstantInt>(all.getOperand(2));
    if (!lane) return std::nullopt;
    const uint64_t bytes = element_bytes(&all);
    if (byte / bytes != lane->getZExtValue()) return at(all.getOperand(0), byte);
    return at(all.getOperand(1), byte % bytes);
  }

  std::optional<Source> of_shuffle(llvm::ShuffleVectorInst& all, uint64_t byte) {
    const uint64_t bytes = element_bytes(&all);
    const int lane = all.getMaskValue(static_cast<unsigned>(byte / bytes));
    if (lane < 0) return std::nullopt;
    const auto* type = llvm::cast<llvm::FixedVectorType>(all.getOperand(0)->getType());
    const auto from = static_cast<unsigned>(lane);
    const unsigned lanes = type->getNumElements();
    return at(all.getOperand(from < lanes ? 0 : 1), from % lanes * bytes + byte % bytes);
  }

  // A value, or 0.
  std::optional<Source> of_select(llvm::SelectInst& either, uint64_t byte) {
    const auto* zero = llvm::dyn_cast<llvm::Constant>(either.getFalseValue());
    if (!zero || !zero->isNullValue()) return std::nullopt;
    std::optional<Source> source = at(either.getTrueValue(), byte);
    if (!source) return std::nullopt;
    Value* holds = lane_of(either.getCondition(), byte / element_bytes(&either));
    source->condition = source->condition ? both(source->condition, holds) : holds;
    return source;
  }

  std::optional<Source> of_masked_load(llvm::IntrinsicInst& call, uint64_t byte) {
    Value* pointer = call.getArgOperand(0);
    const auto* zero = llvm::dyn_cast<llvm::Constant>(call.getArgOperand(3));
    if (pointer->getType()->getPointerAddressSpace() != kGlobalSpace || !zero ||
        !zero->isNullValue())
      return std::nullopt;
    const uint64_t align = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue();
    Value* mask = call.getArgOperand(2);
    const uint64_t bytes = shared_by_lanes(mask) ? bytes_of(call.getType()) : element_bytes(&call);
    return Source{pointer, byte, align, std::min(align, bytes),
                  lane_of(mask, byte / element_bytes(&call))};
  }

  // The condition that a mask is for all lanes; null where it may differ.
  static Value* shared_by_lanes(Value* mask) {
    if (!mask->getType()->isVectorTy()) return mask;
    if (Value* all = llvm::getSplatValue(mask)) return all;
    auto* cast = llvm::dyn_cast<llvm::BitCastInst>(mask);
    const bool one = cast && cast->getOperand(0)->getType()->isIntegerTy(1);
    return one ? cast->getOperand(0) : nullptr;
  }

  // What a mask says of a lane; the same value for the same lane.
  Value* lane_of(Value* mask, uint64_t lane) {
    if (Value* all = shared_by_lanes(mask)) return all;
    const auto known = std::ranges::find_if(
        lanes_, [&](const Lane& of) { return of.mask == mask && of.number == lane; });
    if (known != lanes_.end()) return known->value;
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(mask))
      builder_.SetInsertPoint(made->getInsertionPointAfterDef().value());
    Value* value = builder_.CreateExtractElement(mask, lane);
    lanes_.push_back({mask, lane, value});
    return value;
  }

  Value* both(Value* a, Value* b) {
    if (a == b) return a;
    const auto known =
        std::ranges::find_if(both_, [&](const Both& of) { return of.a == a && of.b == b; });
    if (known != both_.end()) return known->value;
    Value* value = builder_.CreateAnd(a, b);
    both_.push_back({a, b, value});
    return value;
  }

  struct Lane {
    Value* mask;
    uint64_t number;
    Value* value;
  };
  struct Both {
    Value *a, *b, *value;
  };
  llvm::IRBuilder<>& builder_;
  std::vector<Lane> lanes_;
  std::vector<Both> both_;
};

// What one unit of a stored value was loaded from: all its elements lie side by side.
std::optional<Source> source_of_unit(Sources& sources, Value* value, uint64_t byte) {
  const std::optional<Source> first = sources.at(value, byte);
  const uint64_t bytes = value->getType()->getScalarSizeInBits() / 8;
  for (uint64_t more = bytes; first && more < kUnit; more += bytes) {
    const std::optional<Source> next = sources.at(value, byte + more);
    if (!next || !next->continues(*first, more)) return std::nullopt;
  }
  return first;
}

// The bytes of one copy: as many of the units from `first` on as lie side by side and are aligned.
uint64_t piece_at(std::span<const Source> units, size_t first, uint64_t align) {
  for (const uint64_t bytes : {16u, 8u}) {
    const size_t count = bytes / kUnit;
    const Source& source = units[first];
    if (first + count > units.size() || std::min(align, source.align) < bytes ||
        first * kUnit % bytes != 0 || source.offset % bytes != 0)
      continue;
    bool beside = true;
    for (size_t u = 1; u < count; ++u) beside &= units[first + u].continues(source, u * kUnit);
    if (beside) return bytes;
  }
  return kUnit;
}

llvm::Intrinsic::ID copy_of(uint64_t bytes, bool in_part) {
  using namespace llvm::Intrinsic;
  switch (bytes) {
    case 16:
      return in_part ? nvvm_cp_async_cg_shared_global_16_s : nvvm_cp_async_cg_shared_global_16;
    case 8: return in_part ? nvvm_cp_async_ca_shared_global_8_s : nvvm_cp_async_ca_shared_global_8;
    default: return in_part ? nvvm_cp_async_ca_shared_global_4_s : nvvm_cp_async_ca_shared_global_4;
  }
}

void copy(llvm::IRBuilder<>& builder, llvm::StoreInst& store, std::span<const Source> units) {
  const auto moved = [&](Value* pointer, uint64_t bytes) {
    return bytes == 0 ? pointer
                      : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), pointer, bytes);
  };
  for (size_t u = 0; u < units.size();) {
    const Source& source = units[u];
    const uint64_t bytes = piece_at(units, u, store.getAlign().value());
    std::vector<Value*> arguments{moved(store.getPointerOperand(), u * kUnit),
                                  moved(source.pointer, source.offset)};
    if (source.condition)
      arguments.push_back(builder.CreateSelect(
          source.condition, builder.getInt32(static_cast<uint32_t>(bytes)), builder.getInt32(0)));
    builder.CreateIntrinsic(copy_of(bytes, source.condition != nullptr), {}, arguments);
    u += bytes / kUnit;
  }
}

// Whether one load moves more than is stored at once.
bool is_taken_apart(std::span<const Source> units, uint64_t stored) {
  return std::ranges::any_of(units, [&](const Source& unit) { return unit.at_once > stored; });
}

}  // namespace

void replace_by_copies(llvm::IRBuilder<>& builder, const EmittedCode& code) {
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  for (llvm::StoreInst* store : code.shared_stores()) {
    builder.SetInsertPoint(store);
    Sources sources(builder);
    Value* value = store->getValueOperand();
    const uint64_t bits = value->getType()->getPrimitiveSizeInBits().getFixedValue();
    if (bits == 0 || bits % (8 * kUnit) != 0 || value->getType()->getScalarSizeInBits() % 8 != 0 ||
        store->getAlign().value() < kUnit)
      continue;
    std::vector<Source> units;
    for (uint64_t byte = 0; byte < bits / 8; byte += kUnit) {
      const std::optional<Source> source = source_of_unit(sources, value, byte);
      if (!source || std::min(source->align, uint64_t{16}) < kUnit || source->offset % kUnit != 0)
        break;
      units.push_back(*source);
    }
    if (units.size() * kUnit != bits / 8 || is_taken_apart(units, bits / 8)) continue;
    copy(builder, *store, units);
    store->eraseFromParent();
    llvm::RecursivelyDeleteTriviallyDeadInstructions(value);
  }
}

void commit_copies(llvm::IRBuilder<>& builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void wait_for_copies(llvm::IRBuilder<>& builder, int64_t left) {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                          {builder.getInt32(static_cast<uint32_t>(left))});
}

}  // namespace adjit::emit
