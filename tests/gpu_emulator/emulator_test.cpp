// tests/gpu_emulator/emulator_test.cpp -- what the emulator runs, counts and finds.
#include "tests/gpu_emulator/emulator.hpp"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace adjit::tests {
namespace {

// A kernel of one array of floats, with all that bodies below use.
std::string kernel(const std::string& body) {
  return R"(
target triple = "nvptx64-nvidia-cuda"
@a = internal addrspace(3) global [64 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x float], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.clock()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.cp.async.wait.all()
define ptx_kernel void @k(ptr addrspace(1) %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bn = mul i32 %b, %n
  %g = add i32 %bn, %t
  %px = getelementptr float, ptr addrspace(1) %x, i32 %g
  %pa = getelementptr float, ptr addrspace(3) @a, i32 %t
  %last = sub i32 %n, 1
  %mirror = sub i32 %last, %t
  %pm = getelementptr float, ptr addrspace(3) @a, i32 %mirror
)" + body +
         "\n  ret void\n}\n";
}

struct Ran {
  alignas(128) std::array<float, 256> x{};
  Report report;
  bool finds(const std::string& words) const {
    for (const std::string& fault : report.faults)
      if (fault.find(words) != std::string::npos) return true;
    return false;
  }
};

// On x = 0, 1, 2, ...
Ran run(const std::string& body, const Launch& launch, const std::string& declared = "") {
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(kernel(body) + declared, error, *context);
  if (!module) throw std::runtime_error(error.getMessage().str());
  GpuEmulator emulator(std::move(module), std::move(context));
  Ran ran;
  std::iota(ran.x.begin(), ran.x.end(), 0.0F);
  float* data = ran.x.data();
  void* parameters[] = {static_cast<void*>(&data)};
  const DeviceArray arrays[] = {{ran.x.data(), ran.x.size() * sizeof(float)}};
  ran.report = emulator.run("k", parameters, arrays, launch);
  return ran;
}

constexpr const char* kTwice = R"(
  %v = load float, ptr addrspace(1) %px
  %w = fadd float %v, %v
  store float %w, ptr addrspace(1) %px)";

// Each block turns its part of x round, through shared memory.
std::string mirrored(const std::string& between) {
  return R"(
  %v = load float, ptr addrspace(1) %px
  store float %v, ptr addrspace(3) %pa
  )" + between +
         R"(
  %w = load float, ptr addrspace(3) %pm
  store float %w, ptr addrspace(1) %px)";
}

TEST(GpuEmulator, RunsAllThreadsOfAllBlocks) {
  const Ran ran = run(kTwice, {.blocks = 4, .threads = 64});
  EXPECT_EQ(ran.report.faults, std::vector<std::string>());
  for (size_t k = 0; k < ran.x.size(); ++k) EXPECT_EQ(ran.x[k], 2 * static_cast<float>(k));
}

TEST(GpuEmulator, CountsSectorsThatWarpsTouch) {
  const Ran side_by_side = run(kTwice, {.blocks = 4, .threads = 64});
  EXPECT_EQ(side_by_side.report.requests, 16) << "eight warps load and store";
  EXPECT_EQ(side_by_side.report.sectors, 64) << "128 bytes each";
  const Ran apart = run(R"(
  %far = mul i32 %t, 8
  %p = getelementptr float, ptr addrspace(1) %x, i32 %far
  store float 1.0, ptr addrspace(1) %p)",
                        {.threads = 32});
  EXPECT_EQ(apart.report.sectors, 32) << "one for each lane";
}

TEST(GpuEmulator, SaysWhichMemoryItReadAndWrote) {
  const Report report = run(kTwice, {.blocks = 2, .threads = 48}).report;
  ASSERT_EQ(report.read.size(), 1u);
  EXPECT_EQ(report.read[0].end - report.read[0].begin, 2 * 48 * sizeof(float));
  EXPECT_EQ(report.written, report.read);
  const Report apart = run(R"(
  %far = mul i32 %t, 4
  %p = getelementptr float, ptr addrspace(1) %x, i32 %far
  store float 1.0, ptr addrspace(1) %p)",
                           {.threads = 32})
                           .report;
  EXPECT_EQ(apart.written.size(), 32u);
  EXPECT_TRUE(apart.read.empty());
}

TEST(GpuEmulator, ABarrierOrdersThreadsWhateverTheirOrder) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Ran ran = run(mirrored("call void @llvm.nvvm.barrier0()"),
                        {.blocks = 4, .threads = 64, .seed = seed});
    EXPECT_EQ(ran.report.faults, std::vector<std::string>());
    EXPECT_EQ(ran.report.barriers, 4);
    for (size_t k = 0; k < 64; ++k) EXPECT_EQ(ran.x[k], static_cast<float>(63 - k));
  }
}

TEST(GpuEmulator, FindsARaceWithoutABarrier) {
  const Ran ran = run(mirrored(""), {.threads = 64});
  EXPECT_TRUE(ran.finds("with no barrier between") || ran.finds("no thread of the block wrote"));
}

TEST(GpuEmulator, ABarrierOfTheWarpOrdersTheWarpOnly) {
  EXPECT_EQ(
      run(mirrored("call void @llvm.nvvm.bar.warp.sync(i32 -1)"), {.threads = 32}).report.faults,
      std::vector<std::string>());
  EXPECT_NE(run(mirrored("call void @llvm.nvvm.bar.warp.sync(i32 -1)"), {.threads = 64})
                .report.faults.size(),
            0u);
}

// The values come out right in the order in which GPUs usually run.
TEST(GpuEmulator, FindsAWriteThatMayOvertakeARead) {
  const std::string again = R"(
  call void @llvm.nvvm.barrier0()
  store float %w, ptr addrspace(3) %pa)";
  const std::string once = mirrored("call void @llvm.nvvm.barrier0()");
  EXPECT_EQ(run(once + again, {.threads = 64}).report.faults, std::vector<std::string>());
  const Ran ran = run(once + "\n  store float %w, ptr addrspace(3) %pa", {.threads = 64});
  EXPECT_TRUE(ran.finds("overwrites what is read by") || ran.finds("reads what was written by"));
}

TEST(GpuEmulator, AWarpAddsUpByShuffles) {
  std::string body = "\n  %s32 = load float, ptr addrspace(1) %px";
  for (int distance = 16; distance > 0; distance /= 2)
    body += "\n  %o" + std::to_string(distance) +
            " = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s" +
            std::to_string(2 * distance) + ", i32 " + std::to_string(distance) + ", i32 31)" +
            "\n  %s" + std::to_string(distance) + " = fadd float %s" +
            std::to_string(2 * distance) + ", %o" + std::to_string(distance);
  const Ran ran = run(body + "\n  store float %s1, ptr addrspace(1) %px", {.threads = 64});
  EXPECT_EQ(ran.report.faults, std::vector<std::string>());
  EXPECT_EQ(ran.x[5], 496) << "0 + ... + 31";
  EXPECT_EQ(ran.x[40], 1520) << "32 + ... + 63";
}

TEST(GpuEmulator, AShuffleStopsAtTheEndOfItsSegment) {
  const Ran ran = run(R"(
  %v = load float, ptr addrspace(1) %px
  %w = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %v, i32 1, i32 6175)
  store float %w, ptr addrspace(1) %px)",
                      {.threads = 32});
  EXPECT_EQ(ran.x[6], 7) << "segments of eight lanes: 0x181f";
  EXPECT_EQ(ran.x[7], 7) << "the last one keeps its own";
}

TEST(GpuEmulator, AMatchNamesTheLanesOfOneValue) {
  const Ran ran = run(R"(
  %class = and i32 %t, 3
  %m = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %class)
  %bits = and i32 %m, 65535
  %f = uitofp i32 %bits to float
  store float %f, ptr addrspace(1) %px)",
                      {.threads = 32});
  EXPECT_EQ(ran.x[0], 0x1111);
  EXPECT_EQ(ran.x[6], 0x4444);
}

TEST(GpuEmulator, ALaneTakesFromTheOneBeforeItOrFromAnyLane) {
  const Ran ran = run(R"(
  %u = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %t, i32 1, i32 0)
  %five = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 5, i32 31)
  %hundreds = mul i32 %u, 100
  %sum = add i32 %hundreds, %five
  %f = uitofp i32 %sum to float
  store float %f, ptr addrspace(1) %px)",
                      {.threads = 32});
  EXPECT_EQ(ran.x[0], 5) << "the first lane keeps its own";
  EXPECT_EQ(ran.x[9], 805);
}

// A vote asks for the lowest bit: the others of a truncated number are anything.
TEST(GpuEmulator, VotesCountWhatEachLaneSays) {
  const Ran ran = run(R"(
  %odd = trunc i32 %t to i1
  %even = xor i1 %odd, true
  %both = or i1 %odd, %even
  %none = and i1 %odd, %even
  %any.odd = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %odd)
  %all.odd = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %odd)
  %all.both = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %both)
  %any.none = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %none)
  %bits = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  %low = and i32 %bits, 255
  %va = select i1 %any.odd, i32 1000, i32 0
  %vb = select i1 %all.odd, i32 2000, i32 0
  %vc = select i1 %all.both, i32 4000, i32 0
  %vd = select i1 %any.none, i32 8000, i32 0
  %ab = add i32 %va, %vb
  %cd = add i32 %vc, %vd
  %abcd = add i32 %ab, %cd
  %sum = add i32 %abcd, %low
  %f = uitofp i32 %sum to float
  store float %f, ptr addrspace(1) %px)",
                      {.threads = 32});
  EXPECT_EQ(ran.report.faults, std::vector<std::string>());
  EXPECT_EQ(ran.x[7], 5000 + 0xaa);
}

// Half of the threads branch away.
std::string of_half(const std::string& body) {
  return "\n  %half = lshr i32 %n, 1\n  %first = icmp ult i32 %t, %half\n"
         "  br i1 %first, label %in, label %out\nin:" +
         body + "\n  br label %out\nout:";
}

TEST(GpuEmulator, FindsABarrierThatNotAllThreadsReach) {
  EXPECT_TRUE(run(of_half("\n  call void @llvm.nvvm.barrier0()"), {.threads = 64})
                  .finds("a barrier that 32 of 64 threads do not reach"));
}

TEST(GpuEmulator, FindsAShuffleThatNotAllLanesReach) {
  EXPECT_TRUE(run(of_half("\n  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float 1.0, "
                          "i32 1, i32 31)"),
                  {.threads = 32})
                  .finds("lanes that do not come"));
}

TEST(GpuEmulator, FindsReadsOfSharedMemoryThatNobodyWrote) {
  const std::string body = R"(
  %v = load float, ptr addrspace(3) %pa
  store float %v, ptr addrspace(1) %px)";
  // In each block: what the block before wrote is gone.
  const Ran ran = run(of_half("\n  store float 1.0, ptr addrspace(3) %pa") + body,
                      {.blocks = 2, .threads = 64});
  EXPECT_TRUE(ran.finds("no thread of the block wrote"));
  EXPECT_TRUE(std::isnan(ran.x[63]) && std::isnan(ran.x[127]));
}

TEST(GpuEmulator, StopsAtAnAccessOutsideAllArrays) {
  const Ran ran = run(kTwice, {.blocks = 5, .threads = 64});
  EXPECT_TRUE(ran.finds("4 bytes outside all arrays, by  %v = load float"));
}

TEST(GpuEmulator, StopsAtAVectorAtAnOddAddress) {
  const auto copied = [](const std::string& align) {
    return run(R"(
  %p = getelementptr float, ptr addrspace(1) %x, i32 1
  %v = load <4 x float>, ptr addrspace(1) %p, align )" +
                   align + "\n  store <4 x float> %v, ptr addrspace(1) %x, align 16",
               {.threads = 1});
  };
  EXPECT_TRUE(copied("16").finds("an address that 16 does not divide"));
  const Ran apart = copied("4");
  EXPECT_EQ(apart.report.faults, std::vector<std::string>());
  EXPECT_EQ(apart.report.requests, 5) << "four loads and a store";
  const Ran claimed = run(R"(
  %p = getelementptr float, ptr addrspace(1) %x, i32 1
  %v = load float, ptr addrspace(1) %p, align 16)",
                          {.threads = 1});
  EXPECT_TRUE(claimed.finds("an address that 16 does not divide")) << "neighbours may become one";
}

TEST(GpuEmulator, MaskedLanesAreNotTouched) {
  const std::string body = R"(
  %end = getelementptr float, ptr addrspace(1) %x, i32 252
  %far = getelementptr float, ptr addrspace(1) %x, i32 254
  %v = call <4 x float> @llvm.masked.load.v4f32.p1(ptr addrspace(1) %far, i32 4,
    <4 x i1> <i1 1, i1 1, i1 0, i1 0>, <4 x float> zeroinitializer)
  store <4 x float> %v, ptr addrspace(1) %end, align 16)";
  const std::string declared =
      "declare <4 x float> @llvm.masked.load.v4f32.p1(ptr addrspace(1), i32, <4 x i1>, "
      "<4 x float>)\n";
  const Ran ran = run(body, {.threads = 1}, declared);
  EXPECT_EQ(ran.report.faults, std::vector<std::string>());
  EXPECT_EQ(ran.x[252], 254);
  EXPECT_EQ(ran.x[254], 0);
}

TEST(GpuEmulator, ConstantsOfTheModuleAndAThreadsOwnMemoryMayBeUsed) {
  const Ran ran =
      run(R"(
  %own = alloca [64 x float], align 16
  %mine = getelementptr [64 x float], ptr %own, i32 0, i32 %t
  %c = getelementptr [64 x float], ptr addrspace(1) @table, i32 0, i32 %t
  %v = load float, ptr addrspace(1) %c
  store float %v, ptr %mine
  %w = load float, ptr %mine
  store float %w, ptr addrspace(1) %px)",
          {.threads = 32}, "@table = private addrspace(1) constant [64 x float] zeroinitializer\n");
  EXPECT_EQ(ran.report.faults, std::vector<std::string>());
  EXPECT_EQ(ran.x[31], 0);
}

TEST(GpuEmulator, FindsBlocksThatWriteWhereOthersReadOrWrite) {
  const Ran ran = run("\n  store float 1.0, ptr addrspace(1) %x", {.blocks = 2, .threads = 1});
  EXPECT_TRUE(ran.finds("overwrites what was written by"));
  const Ran atomics = run("\n  %old = atomicrmw fadd ptr addrspace(1) %x, float 1.0 monotonic",
                          {.blocks = 4, .threads = 8});
  EXPECT_EQ(atomics.report.faults, std::vector<std::string>());
  EXPECT_EQ(atomics.x[0], 32);
}

// In whatever order threads run: an atomic use hides no plain one, nor the other way round.
TEST(GpuEmulator, FindsPlainUsesBesideAtomicOnes) {
  const std::string add = "\n  %old = atomicrmw fadd ptr addrspace(1) %x, float 1.0 monotonic";
  const std::string first_writes =
      "\n  %first = icmp eq i32 %t, 0\n  br i1 %first, label %in, label %out\nin:"
      "\n  store float 0.0, ptr addrspace(1) %x\n  br label %out\nout:";
  const std::string read = "\n  %seen = load float, ptr addrspace(1) %x";
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Launch launch{.threads = 8, .seed = seed};
    EXPECT_NE(run(first_writes + add, launch).report.faults.size(), 0u) << seed;
    EXPECT_NE(run(add + read, launch).report.faults.size(), 0u) << seed;
    EXPECT_EQ(run(first_writes + "\n  call void @llvm.nvvm.barrier0()" + add +
                      "\n  call void @llvm.nvvm.barrier0()" + read,
                  launch)
                  .report.faults,
              std::vector<std::string>());
  }
}

std::string copied(const std::string& wait) {
  return R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %pa, ptr addrspace(1) %px)
  call void @llvm.nvvm.cp.async.commit.group()
)" + wait +
         R"(
  %w = load float, ptr addrspace(3) %pm
  store float %w, ptr addrspace(1) %px)";
}

TEST(GpuEmulator, AnAsynchronousCopyIsThereWhenItWasWaitedForByAll) {
  const std::string wait = "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n";
  const std::string barrier = "  call void @llvm.nvvm.barrier0()\n";
  const Ran right = run(copied(wait + barrier), {.threads = 64});
  EXPECT_EQ(right.report.faults, std::vector<std::string>());
  EXPECT_EQ(right.x[0], 63);
  EXPECT_TRUE(run(copied(barrier), {.threads = 64}).finds("has not been waited for"));
  EXPECT_NE(run(copied(wait), {.threads = 64}).report.faults.size(), 0u);
  EXPECT_NE(run(copied(barrier + wait), {.threads = 64}).report.faults.size(), 0u)
      << "each thread waits for its own copies only";
  EXPECT_TRUE(run(copied(barrier), {.threads = 64}).finds("that nobody waits for"));
  EXPECT_EQ(run(copied("  call void @llvm.nvvm.cp.async.wait.all()\n" + barrier), {.threads = 64})
                .report.faults,
            std::vector<std::string>());
  // 2 requests to global memory a warp: the copy and the last store; 2 to shared memory.
  EXPECT_EQ(right.report.requests, 4);
  EXPECT_EQ(right.report.shared_requests, 4);
}

// The third argument says how much is read; the rest are zeros.
TEST(GpuEmulator, ACopyOfSomeBytesReadsNoMore) {
  const auto some = [](const std::string& bytes) {
    return R"(
  %bytes = mul i32 %t, 0
  %read = add i32 %bytes, )" +
           bytes + R"(
  call void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3) %pa, ptr addrspace(1) %px, i32 %read)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.barrier0()
  %w = load float, ptr addrspace(3) %pm
  store float %w, ptr addrspace(1) %px)";
  };
  const Ran all = run(some("4"), {.threads = 64}), none = run(some("0"), {.threads = 64});
  EXPECT_EQ(all.report.faults, std::vector<std::string>());
  EXPECT_EQ(all.x[0], 63);
  EXPECT_EQ(none.report.faults, std::vector<std::string>());
  EXPECT_EQ(none.x[0], 0);
  EXPECT_EQ(all.report.requests, 4);
  EXPECT_EQ(none.report.requests, 2) << "nothing is read";
}

TEST(GpuEmulator, EmptyGroupsOfCopiesNeedNoWait) {
  const std::string wait = "  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n";
  EXPECT_EQ(run(copied("  call void @llvm.nvvm.cp.async.commit.group()\n" + wait +
                       "  call void @llvm.nvvm.barrier0()\n"),
                {.threads = 64})
                .report.faults,
            std::vector<std::string>());
}

TEST(GpuEmulator, FindsAWriteToWhatACopyReads) {
  EXPECT_TRUE(run(copied("  store float 9.0, ptr addrspace(1) %px\n"
                         "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n"
                         "  call void @llvm.nvvm.barrier0()\n"),
                  {.threads = 64})
                  .finds("has not been waited for"));
}

TEST(GpuEmulator, ABarrierOfSomeLanesOrdersNothing) {
  const Ran ran = run(R"(
  %v = load float, ptr addrspace(1) %px
  store float %v, ptr addrspace(3) %pa
  %low = icmp ult i32 %t, 16
  br i1 %low, label %in, label %out
in:
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  br label %out
out:
  %w = load float, ptr addrspace(3) %pm
  store float %w, ptr addrspace(1) %px)",
                      {.threads = 32});
  EXPECT_NE(ran.report.faults.size(), 0u);
}

TEST(GpuEmulator, CountsConflictsOfBanks) {
  const auto strided = [](int stride) {
    return run("\n  %o = mul i32 %t, " + std::to_string(stride) + R"(
  %p = getelementptr float, ptr addrspace(3) @dynamic, i32 %o
  store float 1.0, ptr addrspace(3) %p)",
               {.threads = 32, .shared_bytes = 32 * 33 * 4});
  };
  EXPECT_EQ(strided(1).report.conflicts, 0);
  EXPECT_EQ(strided(2).report.conflicts, 1);
  EXPECT_EQ(strided(32).report.conflicts, 31);
  EXPECT_EQ(strided(33).report.conflicts, 0);
  EXPECT_EQ(strided(33).report.shared_requests, 1);
}

// Whatever the order in which lanes ran: half a warp, or a quarter, is served at a time.
TEST(GpuEmulator, WideAccessesSideBySideHaveNoConflicts) {
  for (uint64_t seed = 1; seed <= 5; ++seed)
    for (const int width : {2, 4}) {
      const std::string number = std::to_string(width);
      const Ran ran = run("\n  %o = mul i32 %t, " + number +
                              "\n  %p = getelementptr float, ptr addrspace(3) @dynamic, i32 %o"
                              "\n  store <" +
                              number + " x float> zeroinitializer, ptr addrspace(3) %p",
                          {.threads = 32, .shared_bytes = 512, .seed = seed});
      EXPECT_EQ(ran.report.conflicts, 0) << width << " floats, seed " << seed;
    }
}

TEST(GpuEmulator, NamesWhatItDoesNotEmulate) {
  try {
    run("\n  %c = call i32 @llvm.nvvm.read.ptx.sreg.clock()", {.threads = 1});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "not emulated: llvm.nvvm.read.ptx.sreg.clock");
  }
}

}  // namespace
}  // namespace adjit::tests
