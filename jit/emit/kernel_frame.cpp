// jit/emit/kernel_frame.cpp -- parameters and tasks of kernels, for a CPU and for a GPU.
#include "jit/emit/kernel_frame.hpp"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "jit/emit/scopes/loops.hpp"
#include "runtime/expr/affine.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

llvm::FunctionType* type_of(llvm::LLVMContext& context, const TargetFeatures& features,
                            size_t tensors, bool by_table) {
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  llvm::Type* pointer = llvm::PointerType::get(context, address_space(features));
  if (features.gpu) {
    const std::vector<llvm::Type*> parameters(by_table ? 1 : tensors, pointer);
    return llvm::FunctionType::get(nothing, parameters, false);
  }
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  return llvm::FunctionType::get(nothing, {pointer, i64, i64}, false);
}

void add_cpu_attributes(llvm::Function& function, int vector_bits) {
  const std::string bits = std::to_string(vector_bits);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.addFnAttr("no-trapping-math", "true");
  function.addFnAttr("frame-pointer", "none");
  // Vectors that find no register lie in whole cache lines of the stack.
  function.addFnAttr("stackrealign");
}

// The number of the block or thread in the grid, of a type that holds those of all that have tasks.
Value* worker_number(llvm::IRBuilder<>& builder, llvm::IntegerType* type, bool by_block) {
  const auto read = [&](llvm::Intrinsic::ID id) {
    return builder.CreateZExt(builder.CreateIntrinsic(id, {}, {}), type);
  };
  Value* block = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  if (by_block) return block;
  Value* threads = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  Value* thread = read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  return builder.CreateAdd(builder.CreateMul(block, threads), thread);
}

void emit_tasks_of_worker(llvm::IRBuilder<>& builder, Scopes& scopes, const Tasks& tasks,
                          const std::function<void(Value*)>& task) {
  llvm::IntegerType* type = builder.getIntNTy(tasks.count <= INT32_MAX ? 32 : 64);
  const auto number = [&](int64_t k) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(k));
  };
  Value* worker = worker_number(builder, type, tasks.by_block);
  // Threads beyond the tasks fill up the last block; their numbers may have the sign's bit. There
  // are as many blocks as have tasks.
  Value* has_task = tasks.by_block
                        ? builder.getTrue()
                        : builder.CreateICmpULT(worker, number(tasks.count / tasks.in_turn));
  emit_if(builder, scopes, has_task, {}, [&](Carried none) {
    if (tasks.in_turn == 1) {
      task(worker);
      return none;
    }
    Value* first = builder.CreateMul(worker, number(tasks.in_turn));
    Value* end = builder.CreateAdd(first, number(tasks.in_turn));
    return emit_loop(builder, scopes, first, end, true, {}, [&](Value* one, Carried inner) {
      task(one);
      return inner;
    });
  });
}

}  // namespace

llvm::Function* declare_kernel(llvm::Module& module, const std::string& symbol,
                               const TargetFeatures& features, size_t tensors, bool by_table) {
  llvm::Function* function =
      llvm::Function::Create(type_of(module.getContext(), features, tensors, by_table),
                             llvm::GlobalValue::ExternalLinkage, symbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  if (features.gpu) {
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    if (features.flushes_subnormals)
      function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  } else {
    add_cpu_attributes(*function, features.vector_bits);
  }
  for (llvm::Argument& argument : function->args()) argument.addAttr(llvm::Attribute::NoUndef);
  return function;
}

void mark_read_only(llvm::Function& kernel, size_t k) {
  // Not `readonly` as well: of that LLVM 19 makes loads through the texture cache, and crashes
  // where what they load is converted (16 floats to double).
  kernel.getArg(static_cast<unsigned>(k))->addAttr(llvm::Attribute::NoAlias);
}

void limit_threads(llvm::Function& kernel, int64_t threads, int64_t blocks) {
  llvm::LLVMContext& context = kernel.getContext();
  const auto annotate = [&](const char* what, int64_t number) {
    llvm::Metadata* const limit[] = {
        llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, what),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context),
                                                             static_cast<uint64_t>(number)))};
    kernel.getParent()
        ->getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context, limit));
  };
  annotate("maxntidx", threads);
  if (blocks > 0) annotate("minctasm", blocks);
}

Value* table_of(llvm::Function& kernel, const TargetFeatures& features, bool by_table) {
  return features.gpu && !by_table ? nullptr : kernel.getArg(0);
}

Value* tensor_pointer(llvm::IRBuilder<>& builder, llvm::Function& kernel, Value* table, size_t k) {
  if (!table) return kernel.getArg(static_cast<unsigned>(k));
  llvm::Type* pointer = table->getType();
  Value* slot = builder.CreateInBoundsGEP(pointer, table, builder.getInt64(k));
  return builder.CreateAlignedLoad(pointer, slot, llvm::Align(8));
}

void emit_tasks(llvm::IRBuilder<>& builder, Scopes& scopes, const TargetFeatures& features,
                const Tasks& tasks, const std::function<void(Value*)>& task) {
  if (features.gpu) return emit_tasks_of_worker(builder, scopes, tasks, task);
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  emit_loop(builder, scopes, function->getArg(1), function->getArg(2), false, {},
            [&](Value* number, Carried none) {
              task(number);
              return none;
            });
}

}  // namespace adjit::emit
