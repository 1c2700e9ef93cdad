#include "jit/cpu/code.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "runtime/expr/error.hpp"
#include "tests/jit/cpu/small_modules.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

const std::array<std::string, 1> kF{"f"};

int run(const LoadedCode& code, int x) {
  return reinterpret_cast<int (*)(int)>(code.lookup("f"))(x);
}

TEST(CodeLoader, LoadsAndRuns) {
  CodeLoader loader;
  const auto code = loader.load(object_of(machines(), "f", adding(1)), kF);
  EXPECT_EQ(run(*code, 41), 42);
  EXPECT_GE(code->bytes(), 4096u);
}

TEST(CodeLoader, ObjectsMayDefineTheSameNames) {
  CodeLoader loader;
  const auto a = loader.load(object_of(machines(), "f", adding(1)), kF);
  const auto b = loader.load(object_of(machines(), "f", adding(2)), kF);
  EXPECT_EQ(run(*a, 0), 1);
  EXPECT_EQ(run(*b, 0), 2);
}

TEST(CodeLoader, CodeOutlivesItsLoaderAndOtherCode) {
  std::shared_ptr<LoadedCode> kept;
  {
    CodeLoader loader;
    const auto gone = loader.load(object_of(machines(), "f", adding(1)), kF);
    kept = loader.load(object_of(machines(), "f", adding(2)), kF);
  }
  EXPECT_EQ(run(*kept, 0), 2);
}

TEST(CodeLoader, LookupOfASymbolNotAskedForIsAnInternalError) {
  CodeLoader loader;
  const auto code = loader.load(object_of(machines(), "f", adding(1)), kF);
  try {
    code->lookup("g");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
  }
}

void expect_compile_error(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    FAIL() << "no error that names " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(CodeLoader, OnlySymbolsOfTheTableAreVisible) {
  CodeLoader loader;
  // abs() is in every process; it is not in the table.
  expect_compile_error([&] { loader.load(object_of(machines(), "f", calling("abs")), kF); }, "abs");
  expect_compile_error([&] { loader.load(object_of(machines(), "f", calling("nowhere")), kF); },
                       "nowhere");
  EXPECT_EQ(run(*loader.load(object_of(machines(), "f", adding(1)), kF), 1), 2);
}

TEST(CodeLoader, CallsFunctionsOfTheTable) {
  CodeLoader loader;
  const auto fills = [](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
    llvm::Value* slot = b.CreateAlloca(b.getInt32Ty());
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    b.CreateCall(module.getOrInsertFunction("memset", b.getPtrTy(), b.getPtrTy(), b.getInt32Ty(),
                                            b.getInt64Ty()),
                 {slot, x, b.getInt64(4)});
    return b.CreateLoad(b.getInt32Ty(), slot);
  };
  EXPECT_EQ(run(*loader.load(object_of(machines(), "f", fills), kF), 1), 0x01010101);
}

TEST(CodeLoader, WhatIsNoObjectIsRefused) {
  CodeLoader loader;
  const std::vector<char> garbage(1000, 'x');
  expect_compile_error([&] { loader.load(garbage, kF); }, "linking generated code");
  expect_compile_error([&] { loader.load({}, kF); }, "linking generated code");
  std::vector<char> cut = object_of(machines(), "f", adding(1));
  cut.resize(cut.size() / 2);
  expect_compile_error([&] { loader.load(cut, kF); }, "linking generated code");
}

TEST(CodeLoader, AMissingDefinitionIsNamed) {
  CodeLoader loader;
  const std::array<std::string, 2> both{"f", "g"};
  expect_compile_error([&] { loader.load(object_of(machines(), "f", adding(1)), both); }, "g");
}

TEST(CodeLoader, ThreadsLoadAndReleaseAtOnce) {
  CodeLoader loader;
  const std::vector<char> object = object_of(machines(), "f", adding(1));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k)
        if (run(*loader.load(object, kF), k) != k + 1) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace adjit::testing
