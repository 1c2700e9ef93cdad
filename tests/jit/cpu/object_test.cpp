#include "jit/cpu/object.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InlineAsm.h>

#include <string_view>
#include <thread>

#include "runtime/expr/error.hpp"
#include "tests/jit/cpu/small_modules.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

bool is_elf(const std::vector<char>& object) {
  return std::string_view(object.data(), object.size()).starts_with("\177ELF");
}

TEST(CompileModule, GivesAnElfObjectAtBothLevels) {
  for (CodegenLevel level : {CodegenLevel::Fast, CodegenLevel::Less}) {
    SmallModule small(machines(), "add_one", adding(1));
    EXPECT_TRUE(is_elf(compile_module(small.module(), machines(), level)));
  }
}

TEST(CompileModule, TheSameModuleGivesTheSameBytes) {
  EXPECT_EQ(object_of(machines(), "f", adding(3)), object_of(machines(), "f", adding(3)));
  EXPECT_NE(object_of(machines(), "f", adding(3)), object_of(machines(), "f", adding(4)));
}

TEST(CompileModule, ThreadsCompileAtOnce) {
  const std::vector<char> expected = object_of(machines(), "f", adding(5));
  std::vector<std::vector<char>> objects(4);
  std::vector<std::thread> threads;
  for (std::vector<char>& object : objects)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) object = object_of(machines(), "f", adding(5));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<char>& object : objects) EXPECT_EQ(object, expected);
}

ErrorCode code_of(const SmallModule::Body& body, std::string& message) {
  try {
    object_of(machines(), "bad", body);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  return ErrorCode{};
}

TEST(CompileModule, AnErrorReportedByTheBackEndIsThrown) {
  std::string message;
  const auto wrong_assembly = [](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
    auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false);
    return b.CreateCall(type, llvm::InlineAsm::get(type, "", "={nosuchreg},r", true), {x});
  };
  EXPECT_EQ(code_of(wrong_assembly, message), ErrorCode::Compile);
  EXPECT_NE(message.find("LLVM"), std::string::npos) << message;
}

// What would end the process by itself: an intrinsic that this target cannot select.
TEST(CompileModule, AFatalErrorOfTheBackEndIsThrownAndOthersStillCompile) {
  std::string message;
  const auto other_target = [](llvm::IRBuilder<>& b, llvm::Value*) -> llvm::Value* {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    return b.CreateCall(
        module.getOrInsertFunction("llvm.nvvm.read.ptx.sreg.tid.x", b.getInt32Ty()));
  };
  EXPECT_EQ(code_of(other_target, message), ErrorCode::Compile);
  EXPECT_NE(message.find("nvvm"), std::string::npos) << message;
  EXPECT_TRUE(is_elf(object_of(machines(), "f", adding(1))));
}

TEST(AssemblyOf, ShowsTheFunctionAndLeavesTheModuleAlone) {
  SmallModule small(machines(), "add_seven", adding(7));
  const std::string before = ir_text(small.module());
  EXPECT_NE(assembly_of(small.module(), machines(), CodegenLevel::Less).find("add_seven:"),
            std::string::npos);
  EXPECT_EQ(ir_text(small.module()), before);
}

TEST(IrText, ShowsTargetAndBody) {
  SmallModule small(machines(), "add_seven", adding(7));
  const std::string text = ir_text(small.module());
  EXPECT_NE(text.find("target triple = \"" + machines().target().triple), std::string::npos);
  EXPECT_NE(text.find("add i32 %0, 7"), std::string::npos);
}

TEST(VerifyModule, ExplainsWhatIsMalformed) {
  SmallModule good(machines(), "f", adding(1));
  EXPECT_NO_THROW(verify_module(good.module()));
  SmallModule bad(machines(), "f", [](llvm::IRBuilder<>& b, llvm::Value*) -> llvm::Value* {
    return b.getInt64(1);  // returned as an i32
  });
  try {
    verify_module(bad.module());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_NE(std::string(error.what()).find("return type"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adjit::testing
