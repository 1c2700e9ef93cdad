// tests/jit/emit/tile/streaming_test.cpp -- stores past the caches: where they may be, what they
// write.
#include "jit/emit/tile/streaming.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Of a nest that writes to the first two addresses and reads at the third.
bool may(uintptr_t first, uintptr_t second, uintptr_t read) {
  static const EmittedFunction function([](llvm::IRBuilder<>& b, llvm::Function& f) {
    const auto address = [&](size_t k) { return pointer_argument(b, f, k); };
    llvm::Value* yes = may_stream(b, {{{address(0), address(1)}, {address(2)}}});
    b.CreateAlignedStore(b.CreateZExt(yes, b.getInt64Ty()), address(3), llvm::Align(8));
  });
  int64_t answer = -1;
  void* pointers[] = {reinterpret_cast<void*>(first), reinterpret_cast<void*>(second),
                      reinterpret_cast<void*>(read), &answer};
  function(pointers);
  EXPECT_TRUE(answer == 0 || answer == 1);
  return answer == 1;
}

TEST(Streaming, ResultsBeginWithLines) {
  EXPECT_TRUE(may(0x10000, 0x20400, 0x30800));
  for (const uintptr_t off : {4u, 16u, 32u, 60u}) {
    EXPECT_FALSE(may(0x10000 + off, 0x20400, 0x30800)) << off;
    EXPECT_FALSE(may(0x10000, 0x20400 + off, 0x30800)) << off;
  }
}

TEST(Streaming, ReadsDoNotBeginJustBeforeThemInTheirPages) {
  for (const uintptr_t before : {4u, 48u, 128u, 508u}) {
    EXPECT_FALSE(may(0x10400, 0x20c00, 0x30400 - before)) << before;
    EXPECT_FALSE(may(0x10400, 0x20c00, 0x30c00 - before)) << before;
    EXPECT_FALSE(may(0x10000, 0x20000, 0x31000 - before)) << "around the end of a page";
  }
  for (const uintptr_t read : {0x30400u, 0x30410u, 0x30a00u, 0x30200u, 0x3f000u})
    EXPECT_TRUE(may(0x10400, 0x20c00, read)) << std::hex << read;
}

// y(i, j) = 2 x(i, j) in vectors of 8, streamed.
Program doubled(int64_t rows, int64_t columns, const char* dtype = "float") {
  const std::string shape =
      std::string(dtype) + "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
  Program p = initial_program(
      parse_graph("def main(" + shape + " x) -> (y) { y(i, j) = x(i, j) + x(i, j) }"),
      CpuMachine{2, 256});
  p = vectorize(std::move(p), 0, 1, 8);
  if (columns >= 32) p = unroll(std::move(p), 0, 1, 2);
  return store_nontemporal(std::move(p), 0);
}

constexpr const char* kPastCaches = "!nontemporal";

TEST(Streaming, WholeVectorsGoPastTheCaches) {
  const Program p = doubled(5, 64);
  const EmittedProgram emitted(p);
  EXPECT_EQ(occurrences(emitted.ir(), kPastCaches), 2u) << emitted.ir();
  EXPECT_EQ(occurrences(emitted.ir(), "store <8 x float>"), 4u) << "of two versions";
  EXPECT_EQ(occurrences(emitted.ir(), "call void @llvm.x86.sse.sfence"), 1u);
  EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 1)), "");
  for (const char* dtype : {"double", "int32", "bfloat16", "float16"}) {
    const Program other = doubled(5, 64, dtype);
    EXPECT_EQ(occurrences(EmittedProgram(other).ir(), kPastCaches), 2u) << dtype;
    EXPECT_EQ(check_emitted(other, small_inputs(other.graph, 1)), "") << dtype;
  }
}

// Rows of which not every one begins with a vector; vectors too short; single elements.
TEST(Streaming, WhatIsNoAlignedVectorGoesThroughTheCaches) {
  for (const Program& p : {doubled(5, 20), doubled(5, 36), doubled(4, 64, "int8")}) {
    EXPECT_EQ(occurrences(EmittedProgram(p).ir(), kPastCaches), 0u) << print(p);
    EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 1)), "");
  }
  const Program p =
      store_nontemporal(initial_program(matmul_graph(3, 4, 5), CpuMachine{1, 256}), 0);
  EXPECT_EQ(occurrences(EmittedProgram(p).ir(), kPastCaches), 0u);
  EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 1)), "");
}

// Wherever the caller's memory begins, the results are right and nothing traps.
TEST(Streaming, TakesMemoryAnywhere) {
  const EmittedProgram emitted(doubled(3, 64));
  std::vector<float> memory(3 * 4096);
  const auto base =
      reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory.data()) + 4095) / 4096 * 4096);
  for (const size_t from : {0u, 1u, 4u, 16u, 1020u})
    for (const size_t to : {0u, 1u, 4u, 8u, 16u, 1000u}) {
      float *x = base + from, *y = base + 2048 + to;
      for (int k = 0; k < 192; ++k) x[k] = static_cast<float>(k), y[k] = -1;
      y[192] = -7;
      void* tensors[] = {x, y};
      if (emitted.kernel(0).tensors[0] != emitted.program().graph.inputs[0])
        std::swap(tensors[0], tensors[1]);
      emitted.function(0)(tensors, 0, 1);
      for (int k = 0; k < 192; ++k) ASSERT_EQ(y[k], 2 * k) << from << ", " << to;
      ASSERT_EQ(y[192], -7);
    }
}

// The kernel is one also when several nests store, with tasks and attached nests.
TEST(Streaming, InTasksWithAttachedNests) {
  Program p = initial_program(softmax_graph(6, 64), CpuMachine{2, 256});
  for (const char* name : {"s", "e", "m"})
    p = compute_at(p, stage_of(p, name), stage_of(p, "y"), 1);
  p = vectorize(p, stage_of(p, "y"), 1, 8);
  p = parallel(p, stage_of(p, "y"), 1);
  p = store_nontemporal(p, stage_of(p, "y"));
  EXPECT_EQ(occurrences(EmittedProgram(p).ir(), kPastCaches), 1u);
  EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 1)), "");
}

}  // namespace
}  // namespace adjit::testing
