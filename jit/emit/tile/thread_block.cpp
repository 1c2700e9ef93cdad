// jit/emit/tile/thread_block.cpp -- shared memory and barriers of a block.
#include "jit/emit/tile/thread_block.hpp"

#include <algorithm>
#include <utility>

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "jit/emit/ir/target.hpp"
#include "runtime/expr/integer.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// One array without a size for all kernels of a module: each launch says how many bytes there are.
llvm::GlobalVariable* shared_memory(llvm::Module& module) {
  constexpr const char* kName = "adjit_shared";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the module owns it
  auto* memory =
      new llvm::GlobalVariable(module, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                               kName, nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(ThreadBlock::kAlignment));
  return memory;
}

}  // namespace

ThreadBlock::ThreadBlock(llvm::IRBuilder<>& builder, int64_t threads, std::vector<uint32_t> buffers)
    : builder_(builder),
      threads_(threads),
      buffers_(std::move(buffers)),
      thread_(builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {})) {}

Value* ThreadBlock::shared(const Key& key, int64_t bytes) {
  const auto [at, is_new] = offsets_.try_emplace(key, shared_bytes_);
  return array_at(at->second, is_new ? bytes : 0);
}

Value* ThreadBlock::exchanged(size_t number, int64_t bytes) {
  const auto [at, is_new] = exchanges_.try_emplace({number, bytes}, shared_bytes_);
  return array_at(at->second, is_new ? bytes : 0);
}

Value* ThreadBlock::array_at(int64_t offset, int64_t new_bytes) {
  shared_bytes_ = checked_add(shared_bytes_, sched::shared_size(new_bytes));
  llvm::Module& module = *builder_.GetInsertBlock()->getModule();
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), shared_memory(module),
                                             static_cast<uint64_t>(offset));
}

void ThreadBlock::barrier() {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  stored_.clear();
}

void ThreadBlock::stored(std::span<const TensorId> results) {
  for (TensorId id : results) stored_.insert(buffers_[id.value]);
}

void ThreadBlock::before_exchange() {
  if (stored_.contains(kExchange)) barrier();
}

void ThreadBlock::before_reading(std::span<const TensorId> tensors) {
  const auto waits = [&](TensorId id) { return stored_.contains(buffers_[id.value]); };
  if (std::ranges::any_of(tensors, waits)) barrier();
}

void ThreadBlock::before_reading_all() {
  if (!stored_.empty()) barrier();
}

}  // namespace adjit::emit
