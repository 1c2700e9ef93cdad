// tests/jit/emit/compiled_function.cpp -- one loop around the emitted function, compiled and
// linked.
#include "tests/jit/emit/compiled_function.hpp"

#include <llvm/IR/Module.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>

#include "jit/cpu/object.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

llvm::Type* element_type(llvm::IRBuilder<>& builder, Element element) {
  switch (element) {
    case Element::I16: return builder.getInt16Ty();
    case Element::F32: return builder.getFloatTy();
    case Element::F64: return builder.getDoubleTy();
  }
  std::abort();
}

}  // namespace

CompiledFunction::CompiledFunction(Element in, Element out, size_t operands, const Emit& emit,
                                   const CompileOptions& options)
    : lanes_(options.lanes) {
  TargetMachines& machines = machines_for(options.target);
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  set_target(module, machines);
  llvm::IRBuilder<> b(context);
  const auto vector = [&](Element element) -> llvm::Type* {
    llvm::Type* type = element_type(b, element);
    return options.lanes ? llvm::FixedVectorType::get(type, options.lanes) : type;
  };
  llvm::Type *pointer = b.getPtrTy(), *index = b.getInt64Ty();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, pointer, index}, false),
      llvm::GlobalValue::ExternalLinkage, "run", module);
  function->setDoesNotThrow();
  const std::string bits = std::to_string(machines.target().vector.vector_bits);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  for (unsigned k = 0; k < 4; ++k) function->addParamAttr(k, llvm::Attribute::NoAlias);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  b.SetInsertPoint(entry);
  llvm::Value* count = function->getArg(4);
  b.CreateCondBr(b.CreateICmpSGT(count, b.getInt64(0)), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(index, 2);
  i->addIncoming(b.getInt64(0), entry);
  std::vector<llvm::Value*> values;
  for (size_t k = 0; k < operands; ++k) {
    llvm::Value* address =
        b.CreateInBoundsGEP(element_type(b, in), function->getArg(static_cast<unsigned>(k)), i);
    values.push_back(b.CreateAlignedLoad(vector(in), address, llvm::Align(2)));
  }
  TargetFeatures features = machines.target().vector;
  features.has_library = options.library;
  VectorMath math(b, features);
  llvm::Value* result = emit(b, math, values);
  b.CreateAlignedStore(result, b.CreateInBoundsGEP(element_type(b, out), function->getArg(3), i),
                       llvm::Align(2));
  llvm::Value* next = b.CreateAdd(i, b.getInt64(options.lanes ? options.lanes : 1));
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, count), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  verify_module(module);

  if (std::getenv("ADJIT_TEST_ASSEMBLY")) assembly_ = assembly_of(module, machines, options.level);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<char> object = compile_module(module, machines, options.level);
  compile_milliseconds_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const std::array<std::string, 1> symbols{"run"};
  code_ = loader().load(object, symbols);
  run_ = reinterpret_cast<Function>(code_->lookup("run"));
}

}  // namespace adjit::testing
