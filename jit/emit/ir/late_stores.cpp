// jit/emit/ir/late_stores.cpp -- stores leave a piece of code, and follow at a later place.
#include "jit/emit/ir/late_stores.hpp"

#include <algorithm>

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// That a thread keeps meanwhile: 32 registers, beside 64 results (a guess: what 255 leave a thread
// with twice as many).
constexpr uint64_t kMostKept = 128;

// An instruction of the code, or null.
llvm::Instruction* inside(const EmittedCode& code, Value* value) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return instruction && code.contains(*instruction) ? instruction : nullptr;
}

bool loads_globally(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return load->getPointerAddressSpace() == kGlobalSpace;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::masked_load &&
         call->getArgOperand(0)->getType()->getPointerAddressSpace() == kGlobalSpace;
}

// What gives the same wherever its operands are known.
bool may_move(const llvm::Instruction& instruction) {
  return !llvm::isa<llvm::PHINode>(instruction) && !instruction.isTerminator() &&
         !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects();
}

uint64_t bytes_of(const Value* value) {
  const uint64_t bits = value->getType()->getPrimitiveSizeInBits().getFixedValue();
  return (bits + 7) / 8;
}

}  // namespace

LateStores::LateStores(llvm::IRBuilder<>& builder)
    : builder_(builder), head_(builder.GetInsertBlock()) {}

bool LateStores::depends_on_load(const EmittedCode& code, Value* value, std::set<Value*>& seen) {
  llvm::Instruction* instruction = inside(code, value);
  if (!instruction || !seen.insert(value).second) return false;
  if (loads_globally(*instruction)) return true;
  return std::ranges::any_of(instruction->operands(),
                             [&](Value* operand) { return depends_on_load(code, operand, seen); });
}

// What a value is computed of, and the bytes of what would be kept that is not yet.
uint64_t LateStores::collect(const EmittedCode& code, Value* value, std::set<Value*>& kept,
                             std::set<Value*>& moved) const {
  llvm::Instruction* instruction = inside(code, value);
  if (!instruction || kept.contains(value) || moved.contains(value)) return 0;
  if (!may_move(*instruction)) {
    kept.insert(value);
    return kept_.contains(value) ? 0 : bytes_of(value);
  }
  moved.insert(value);
  uint64_t bytes = 0;
  for (Value* operand : instruction->operands()) bytes += collect(code, operand, kept, moved);
  return bytes;
}

// Whether control came through a block since the head; null where it always does.
Value* LateStores::happening(llvm::BasicBlock* block) {
  llvm::BasicBlock* here = builder_.GetInsertBlock();
  if (block == here || block == head_) return nullptr;
  llvm::SSAUpdater updater;
  updater.Initialize(builder_.getInt1Ty(), "stores");
  updater.AddAvailableValue(head_, builder_.getFalse());
  updater.AddAvailableValue(block, builder_.getTrue());
  Value* happens = updater.GetValueInMiddleOfBlock(here);
  return happens == builder_.getTrue() ? nullptr : happens;
}

void LateStores::take(const EmittedCode& code) {
  uint64_t bytes = 0;
  for (const Value* value : kept_) bytes += bytes_of(value);
  for (llvm::StoreInst* store : code.shared_stores()) {
    llvm::BasicBlock* block = store->getParent();
    std::set<Value*> seen, kept, moved;
    if (!depends_on_load(code, store->getValueOperand(), seen) || code.repeats(*block)) continue;
    const uint64_t more = collect(code, store->getValueOperand(), kept, moved);
    if (bytes + more > kMostKept) continue;
    bytes += more;
    collect(code, store->getPointerOperand(), kept, moved);
    kept_.merge(kept);
    moved_.merge(moved);
    Value* happens = !stores_.empty() && stores_.back().block == block ? stores_.back().happens
                                                                       : happening(block);
    stores_.push_back(
        {store->getValueOperand(), store->getPointerOperand(), store->getAlign(), block, happens});
    store->eraseFromParent();
  }
}

// A value of the code where the builder stands; where control has not come through the code, what
// it is does not matter, or is `otherwise`.
Value* LateStores::known_here(Value* value, llvm::Constant* otherwise) {
  llvm::BasicBlock* from = llvm::cast<llvm::Instruction>(value)->getParent();
  llvm::BasicBlock* here = builder_.GetInsertBlock();
  if (from == here || from == head_) return value;
  llvm::SSAUpdater updater;
  updater.Initialize(value->getType(), "early");
  updater.AddAvailableValue(head_, otherwise);
  updater.AddAvailableValue(from, value);
  return updater.GetValueInMiddleOfBlock(here);
}

Value* LateStores::made_here(Value* value) {
  const bool kept = kept_.contains(value);
  if (!kept && !moved_.contains(value)) return value;
  if (const auto known = made_.find(value); known != made_.end()) return known->second;
  Value* made = nullptr;
  if (kept) {
    made = known_here(value, llvm::PoisonValue::get(value->getType()));
  } else {
    llvm::Instruction* copy = llvm::cast<llvm::Instruction>(value)->clone();
    for (llvm::Use& operand : copy->operands()) operand.set(made_here(operand.get()));
    made = builder_.Insert(copy);
  }
  made_.emplace(value, made);
  return made;
}

// Those of one block.
void LateStores::emit_from(size_t first, size_t end) {
  llvm::BasicBlock* after = nullptr;
  made_.clear();
  if (Value* happens = stores_[first].happens) {
    if (llvm::isa<llvm::Instruction>(happens)) happens = known_here(happens, builder_.getFalse());
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    llvm::BasicBlock* then = llvm::BasicBlock::Create(builder_.getContext(), "late", function);
    after = llvm::BasicBlock::Create(builder_.getContext(), "endlate", function);
    builder_.CreateCondBr(happens, then, after);
    builder_.SetInsertPoint(then);
  }
  for (size_t s = first; s < end; ++s)
    builder_.CreateAlignedStore(made_here(stores_[s].value), made_here(stores_[s].pointer),
                                stores_[s].align);
  if (after == nullptr) return;
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void LateStores::emit() {
  for (size_t first = 0; first < stores_.size();) {
    size_t end = first + 1;
    while (end < stores_.size() && stores_[end].block == stores_[first].block) ++end;
    emit_from(first, end);
    first = end;
  }
  llvm::SmallVector<llvm::WeakTrackingVH> left;
  for (const Store& store : stores_)
    for (Value* value : {store.value, store.pointer}) left.emplace_back(value);
  stores_.clear();
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(left);
}

}  // namespace adjit::emit
