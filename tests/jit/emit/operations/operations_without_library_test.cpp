// tests/jit/emit/operations/operations_without_library_test.cpp -- what the code of every operation
// calls where there is no library.
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "jit/cpu/object.hpp"
#include "jit/emit/math/vector_math.hpp"
#include "jit/emit/operations/operations.hpp"
#include "runtime/expr/error.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

llvm::Type* type_of(llvm::IRBuilder<>& b, DType dtype) {
  if (dtype == DType::Bool) return b.getInt1Ty();
  if (dtype == DType::Float64) return b.getDoubleTy();
  if (is_float(dtype)) return b.getFloatTy();
  return b.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
}

bool takes(Op op, DType dtype) {
  switch (info(op).rule) {
    case TypeRule::Leaf:
    case TypeRule::Cast:
    case TypeRule::Select: return false;
    case TypeRule::FloatSame:
    case TypeRule::FloatTest: return is_float(dtype);
    case TypeRule::IntSame: return !is_float(dtype);
    case TypeRule::Logical: return dtype == DType::Bool;
    default: return true;
  }
}

// As a GPU is.
TargetFeatures without_library() {
  TargetFeatures features;
  features.sse41 = true;
  features.fma = true;
  features.has_library = false;
  return features;
}

/// A function of each operation of a dtype, on one element (0 lanes) or a vector.
void add_operations(llvm::Module& module, DType dtype, unsigned lanes) {
  llvm::IRBuilder<> b(module.getContext());
  const auto shaped = [&](llvm::Type* type) -> llvm::Type* {
    return lanes == 0 ? type : llvm::FixedVectorType::get(type, lanes);
  };
  VectorMath math(b, without_library());
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    if (!takes(op, dtype)) continue;
    const auto arity = static_cast<size_t>(info(op).arity);
    llvm::Type* type = shaped(type_of(b, dtype));
    const bool test = info(op).rule == TypeRule::Comparison || info(op).rule == TypeRule::FloatTest;
    llvm::Type* result = test ? shaped(b.getInt1Ty()) : type;
    auto* function = llvm::Function::Create(
        llvm::FunctionType::get(result, std::vector<llvm::Type*>(arity, type), false),
        llvm::GlobalValue::ExternalLinkage,
        "run_" + std::to_string(k) + "_" + std::to_string(lanes) + std::string(name_of(dtype)),
        module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    std::vector<llvm::Value*> values;
    for (llvm::Argument& argument : function->args()) values.push_back(&argument);
    b.CreateRet(emit_operation(b, math, op, dtype, test ? DType::Bool : dtype, values));
  }
}

// Each is an instruction of a GPU, or a few.
const std::set<std::string> kSelected{"ceil", "copysign", "fabs", "floor", "fma",  "fshl",
                                      "rint", "smax",     "smin", "sqrt",  "trunc"};

TEST(OperationsWithoutLibrary, CallWhatTheModuleHoldsAndWhatAGpuHasInstructionsFor) {
  llvm::LLVMContext context;
  llvm::Module module("operations", context);
  for (int k = 0; k < kDTypeCount; ++k)
    for (unsigned lanes : {0u, 4u}) add_operations(module, static_cast<DType>(k), lanes);
  EXPECT_FALSE(llvm::verifyModule(module, &llvm::errs()));
  int defined = 0;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) ++defined;
    if (!function.isDeclaration() || function.use_empty()) continue;
    const auto [prefix, rest] = function.getName().split('.');
    EXPECT_TRUE(prefix == "llvm" && kSelected.contains(rest.split('.').first.str()))
        << function.getName().str();
  }
  EXPECT_GT(defined, 400);
  for (const llvm::GlobalVariable& variable : module.globals())
    EXPECT_EQ(variable.getAddressSpace(), 4u) << variable.getName().str();
  if (const char* path = std::getenv("ADJIT_TEST_ASSEMBLY")) std::ofstream(path) << ir_text(module);
}

}  // namespace
}  // namespace adjit::testing
