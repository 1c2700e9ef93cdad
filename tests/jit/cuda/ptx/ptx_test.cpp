// tests/jit/cuda/ptx/ptx_test.cpp -- modules of LLVM IR as PTX.
#include "jit/cuda/ptx/ptx.hpp"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>
#include <vector>

#include "jit/cuda/assembler.hpp"
#include "jit/cuda/ptx/bitcode.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::cuda {
namespace {

std::unique_ptr<llvm::Module> parsed(llvm::LLVMContext& context, const std::string& text) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  set_ptx_target(*module);
  return module;
}

// A kernel `name` that stores f(tid) + 1, of a function that modules may share.
std::string kernel(const std::string& name, const std::string& body = "%r = add i32 %t, 1") {
  return "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
         "define internal i32 @adjit.f(i32 %x) noinline {\n %y = mul i32 %x, %x\n ret i32 %y\n}\n"
         "define ptx_kernel void @" +
         name +
         "(ptr addrspace(1) %p) {\n %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
         " %t = call i32 @adjit.f(i32 %i)\n " +
         body +
         "\n %q = getelementptr i32, ptr addrspace(1) %p, i32 %i\n"
         " store i32 %r, ptr addrspace(1) %q\n ret void\n}\n";
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Ptx, IsOfTheOldestVersionThatServes) {
  for (const auto& [capability, header] : {std::pair{80, ".version 7.0\n.target sm_80\n"},
                                           {86, ".version 7.1\n.target sm_86\n"},
                                           {88, ".version 7.4\n.target sm_87\n"},
                                           {90, ".version 7.8\n.target sm_90\n"},
                                           {120, ".version 7.8\n.target sm_90\n"}}) {
    llvm::LLVMContext context;
    const std::string ptx = ptx_of(*parsed(context, kernel("k")), capability);
    EXPECT_NE(ptx.find(header), std::string::npos) << ptx;
    EXPECT_NE(ptx.find(".visible .entry k("), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("st.global"), std::string::npos) << ptx;
  }
  EXPECT_EQ(ptx_version(90), 78);
}

TEST(Ptx, OldGpusAreRefused) {
  try {
    ptx_version(75);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_NE(std::string(error.what()).find("this one has 7.5"), std::string::npos);
  }
}

TEST(Ptx, NothingIsContracted) {
  llvm::LLVMContext context;
  const std::string ptx =
      ptx_of(*parsed(context, kernel("k",
                                     "%a = bitcast i32 %t to float\n %m = fmul float %a, %a\n"
                                     " %s = fadd float %m, %a\n %r = bitcast float %s to i32")),
             80);
  EXPECT_EQ(count(ptx, "fma"), 0u) << ptx;
  EXPECT_EQ(count(ptx, "mul.rn.f32"), 1u) << ptx;
}

// What would end the process by itself; other modules still compile.
TEST(Ptx, WhatCannotBeSelectedIsAnError) {
  for (const char* call :
       {"declare void @llvm.x86.sse.sfence()\ndefine void @g() {\n"
        " call void @llvm.x86.sse.sfence()\n ret void\n}\n",
        "declare float @llvm.sin.f32(float)\ndeclare float @llvm.pow.f32(float, float)\n"
        "define float @g(float %x) {\n"
        " %y = call float @llvm.pow.f32(float %x, float %x)\n ret float %y\n}\n"}) {
    auto* context = new llvm::LLVMContext;  // lost with what failed
    auto module = parsed(*context, call);
    try {
      ptx_of(*module, 80);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Compile) << error.what();
    }
    static_cast<void>(module.release());
    llvm::LLVMContext other;
    EXPECT_NE(ptx_of(*parsed(other, kernel("k")), 80).find(".entry k("), std::string::npos);
  }
}

std::vector<std::string> two_kernels() {
  std::vector<std::string> bitcode;
  for (const char* name : {"one", "two"}) {
    llvm::LLVMContext context;
    bitcode.push_back(wrapped_bitcode(*parsed(context, kernel(name))));
  }
  return bitcode;
}

TEST(Ptx, KernelsOfAProgramAreOneModule) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> all = link_bitcode(context, two_kernels());
  const std::string ptx = ptx_of(*all, 90);
  EXPECT_EQ(count(ptx, ".visible .entry"), 2u) << ptx;
  EXPECT_EQ(count(ptx, "mul.lo.s32"), 1u) << "what both call, once\n" << ptx;
  const std::optional<Assembler> assembler = find_assembler();
  if (!assembler) return;
  for (const char* gpu : {"sm_90", "sm_100"})
    EXPECT_EQ(assemble(*assembler, ptx, gpu).kernels.size(), 2u) << gpu;
}

TEST(Ptx, WhatDoesNotLinkIsAnError) {
  llvm::LLVMContext context;
  EXPECT_THROW(link_bitcode(context, std::vector<std::string>{"no bitcode"}), Error);
  const std::vector<std::string> twice(2, two_kernels()[0]);
  EXPECT_THROW(link_bitcode(context, twice), Error);
}

}  // namespace
}  // namespace adjit::cuda
