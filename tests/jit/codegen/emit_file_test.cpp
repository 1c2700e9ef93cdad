// tests/jit/codegen/emit_file_test.cpp -- modules through back ends, and their errors.
#include "jit/codegen/emit_file.hpp"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <memory>
#include <string>

#include "jit/codegen/targets.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::codegen {
namespace {

constexpr const char* kTriple = "x86_64-pc-linux-gnu";

// What the back end of x86 makes of a module of text. Machines that failed are lost.
std::string made(const std::string& text, llvm::CodeGenFileType type) {
  register_targets();
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, why);
  auto machine = std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, "x86-64", "", {}, llvm::Reloc::PIC_));
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  try {
    return emit_file(*module, *machine, type);
  } catch (...) {
    static_cast<void>(machine.release());
    throw;
  }
}

std::string refusal(const std::string& text) {
  try {
    made(text, llvm::CodeGenFileType::AssemblyFile);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    return error.what();
  }
  return "";
}

TEST(EmitFile, GivesTextOrAnObject) {
  const std::string text = "define i32 @twice(i32 %x) {\n %y = add i32 %x, %x\n ret i32 %y\n}";
  EXPECT_NE(made(text, llvm::CodeGenFileType::AssemblyFile).find("twice:"), std::string::npos);
  EXPECT_TRUE(made(text, llvm::CodeGenFileType::ObjectFile).starts_with("\177ELF"));
}

TEST(EmitFile, WhatLlvmReportsIsThrown) {
  const std::string said = refusal(
      "define i32 @f(i32 %x) {\n %y = call i32 asm \"\", \"={nosuchreg},r\"(i32 %x)\n"
      " ret i32 %y\n}");
  EXPECT_NE(said.find("LLVM: "), std::string::npos) << said;
}

TEST(EmitFile, WhatItCannotSelectIsThrown) {
  const std::string said = refusal(
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "define i32 @f() {\n %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n ret i32 %y\n}");
  EXPECT_NE(said.find("nvvm"), std::string::npos) << said;
}

}  // namespace
}  // namespace adjit::codegen
