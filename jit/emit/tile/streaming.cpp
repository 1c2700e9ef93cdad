// jit/emit/tile/streaming.cpp -- when stores may go past the caches.
#include "jit/emit/tile/streaming.hpp"

#include <algorithm>

#include <llvm/IR/IntrinsicsX86.h>

#include "autosched/machine/cpu_machine.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kApart = 512;  // bytes in a page from a load to a store behind it

class Conditions {
 public:
  explicit Conditions(llvm::IRBuilder<>& builder) : b_(builder), all_(builder.getTrue()) {}

  void on_line(Value* address) {
    Value* offset = b_.CreateAnd(number(address), b_.getInt64(kLineBytes - 1));
    require(b_.CreateICmpEQ(offset, b_.getInt64(0)));
  }
  // Loads at `read` are not just before stores at `result`, in their pages.
  void not_before(Value* read, Value* result) {
    Value* stored = number(result);
    Value* ahead = b_.CreateSub(number(read), stored);
    Value* offset = b_.CreateAnd(ahead, b_.getInt64(kPage - 1));
    require(b_.CreateICmpULE(offset, b_.getInt64(kPage - kApart)));
  }

  Value* all() const { return all_; }

 private:
  Value* number(Value* address) { return b_.CreatePtrToInt(address, b_.getInt64Ty()); }
  void require(Value* condition) { all_ = b_.CreateAnd(all_, condition); }

  llvm::IRBuilder<>& b_;
  Value* all_;
};

}  // namespace

Value* may_stream(llvm::IRBuilder<>& builder, const std::vector<StreamedNest>& nests) {
  Conditions conditions(builder);
  for (const StreamedNest& nest : nests)
    for (Value* result : nest.results) {
      conditions.on_line(result);
      for (Value* read : nest.reads) conditions.not_before(read, result);
    }
  return conditions.all();
}

void store_past_caches(llvm::StoreInst& store, uint64_t bytes) {
  if (bytes < kLeastStreamed) return;
  llvm::LLVMContext& context = store.getContext();
  llvm::Constant* one = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1);
  store.setAlignment(llvm::Align(std::min(bytes, uint64_t{kLineBytes})));
  store.setMetadata(llvm::LLVMContext::MD_nontemporal,
                    llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(one)));
}

void end_streaming(llvm::IRBuilder<>& builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

}  // namespace adjit::emit
