// tests/jit/cuda/assembler_test.cpp -- ptxas, found, run and understood.
#include "jit/cuda/assembler.hpp"

#include <gtest/gtest.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/expr/error.hpp"
#include "tests/jit/cuda/ptx.hpp"
#include "tests/jit/cuda/variable.hpp"

namespace adjit::cuda {
namespace {

// A program in place of ptxas.
std::string program_that(const std::string& does) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("ptxas-" + std::to_string(::getpid()));
  std::ofstream(path) << "#!/bin/sh\n" << does << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

std::string refusal(ErrorCode code, const Assembler& assembler, const std::string& ptx) {
  try {
    assemble(assembler, ptx, "sm_90");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

TEST(Assembler, FactsAreReadFromWhatIsPrinted) {
  const std::vector<KernelFacts> found = facts_in(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_90'\n"
      "ptxas info    : Function properties for one\n"
      "    24 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 368 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "one");
  EXPECT_EQ(found[0].registers, 255);
  EXPECT_EQ(found[0].stack_bytes, 24);
  EXPECT_EQ(found[0].spill_bytes, 24);
  EXPECT_EQ(found[0].shared_bytes, 4096);
  EXPECT_EQ(found[1].name, "two");
  EXPECT_EQ(found[1].registers, 8);
  EXPECT_EQ(found[1].spill_bytes + found[1].stack_bytes + found[1].shared_bytes, 0);
}

TEST(Assembler, IsNotLookedForWhereItIsOff) {
  const tests::Variable off("ADJIT_PTXAS", "off");
  EXPECT_EQ(find_assembler(), std::nullopt);
}

TEST(Assembler, IsTheOneThatIsNamed) {
  const tests::Variable named("ADJIT_PTXAS", program_that("echo 'release 12.4, V12.4.131'"));
  const std::optional<Assembler> found = find_assembler();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, "12.4.131");
}

TEST(Assembler, ANameThatIsNoneIsAnError) {
  for (const std::string& name : {std::string("/nowhere/ptxas"), program_that("echo hello")}) {
    const tests::Variable named("ADJIT_PTXAS", name);
    EXPECT_THROW(find_assembler(), Error) << name;
  }
}

TEST(Assembler, AProgramThatIsKilledOrIsNotThereIsADevicesError) {
  EXPECT_NE(refusal(ErrorCode::Device, {program_that("kill -9 $$"), "1"}, kPtx), "");
  EXPECT_NE(refusal(ErrorCode::Device, {"/nowhere/ptxas", "1"}, kPtx), "");
}

TEST(Assembler, WithoutRoomForItsFilesItSaysSo) {
  for (const char* nowhere : {"/proc", "/nowhere"}) {
    const tests::Variable set("TMPDIR", nowhere);
    EXPECT_NE(refusal(ErrorCode::Device, {"/bin/true", "1"}, kPtx).find("TMPDIR"),
              std::string::npos);
  }
}

TEST(Assembler, ItsWordsAreInTheError) {
  const std::string said =
      refusal(ErrorCode::Compile, {program_that("echo line 9: error; exit 255"), "1.2.3"}, kPtx);
  EXPECT_NE(said.find("ptxas 1.2.3 refuses the code for sm_90:\nline 9: error"), std::string::npos)
      << said;
}

TEST(Assembler, TakesKernelsTogetherWhereItKnowsTheWord) {
  const std::string prints = program_that("echo \"$@\"; exit 1");
  for (const char* version : {"11.8.89", "12.0.140", "12.6.85", "9"})
    EXPECT_EQ(refusal(ErrorCode::Compile, {prints, version}, kPtx).find("--split-compile"),
              std::string::npos)
        << version;
  for (const char* version : {"12.8.93", "12.9.86", "13.0.88"})
    EXPECT_NE(refusal(ErrorCode::Compile, {prints, version}, kPtx).find("--split-compile 0"),
              std::string::npos)
        << version;
}

// The instructions of each kernel, by section.
std::map<std::string, std::string> instructions_of(const std::string& cubin) {
  const auto buffer = llvm::MemoryBuffer::getMemBufferCopy(cubin);
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer->getMemBufferRef());
  EXPECT_TRUE(static_cast<bool>(file));
  std::map<std::string, std::string> code;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    const std::string name = llvm::cantFail(section.getName()).str();
    if (name.starts_with(".text.")) code[name] = llvm::cantFail(section.getContents()).str();
  }
  return code;
}

TEST(Assembler, MakesTheSameCodeOfKernelsTakenTogether) {
  const std::optional<Assembler> assembler = find_assembler();
  if (!assembler) GTEST_SKIP() << "no ptxas on this machine";
  std::string ptx = kPtx;
  const std::string kernel = ptx.substr(ptx.find(".visible"));
  for (int k = 0; k < 6; ++k) {
    std::string other = kernel;
    other.replace(other.find("twice"), 5, "twice_" + std::to_string(k));
    other.replace(other.find("add.f32"), 7, k % 2 ? "mul.f32" : "max.f32");
    ptx += other;
  }
  Assembler one_by_one = *assembler;
  one_by_one.version = "12.0.140";
  const Assembled apart = assemble(one_by_one, ptx, "sm_90");
  const Assembled together = assemble(*assembler, ptx, "sm_90");
  EXPECT_EQ(instructions_of(together.cubin).size(), 7u);
  EXPECT_EQ(instructions_of(together.cubin), instructions_of(apart.cubin));
  ASSERT_EQ(together.kernels.size(), apart.kernels.size());
  for (size_t k = 0; k < apart.kernels.size(); ++k)
    EXPECT_EQ(together.kernels[k].name, apart.kernels[k].name);
}

TEST(Assembler, MakesCodeOfPtx) {
  const std::optional<Assembler> assembler = find_assembler();
  if (!assembler) GTEST_SKIP() << "no ptxas on this machine";
  const Assembled made = assemble(*assembler, kPtx, "sm_90");
  EXPECT_TRUE(made.cubin.starts_with("\177ELF"));
  ASSERT_EQ(made.kernels.size(), 1u);
  EXPECT_EQ(made.kernels[0].name, "twice");
  EXPECT_GT(made.kernels[0].registers, 0);
  EXPECT_EQ(made.kernels[0].spill_bytes, 0);
  EXPECT_EQ(assemble(*assembler, kPtx, "sm_90").cubin, made.cubin)
      << "the same text, the same code";
  EXPECT_NE(refusal(ErrorCode::Compile, *assembler, "no ptx").find("sm_90"), std::string::npos);
}

}  // namespace
}  // namespace adjit::cuda
