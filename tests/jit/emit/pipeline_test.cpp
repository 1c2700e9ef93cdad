// tests/jit/emit/pipeline_test.cpp -- what a block computes ahead, in several buffers.
#include "jit/emit/pipeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/jit/emit/block_programs.hpp"
#include "tests/jit/emit/gpu_numbers.hpp"

namespace adjit::testing {
namespace {

// Sums of columns that a block takes `rows` rows at a time.
Program columns(int64_t rows, int64_t buffers, const std::string& body = "x(k, j)") {
  Program p =
      program_of("def f(float(45, 32) x) -> (s) {\n u(k, j) = " + body + "\n s(j) +=! u(k, j)\n}");
  p = tile(p, 1, 1, std::vector<int64_t>{rows});
  p = reorder(p, 1, std::vector<size_t>{1, 0, 2});
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 1, 0, 32);
  p = vectorize(p, 0, 1, 4);
  p = threads(p, 0, 1, 8);
  p = threads(p, 0, 0, 4);
  return pipeline(p, 0, buffers);
}

size_t copies(const Program& program) {
  return occurrences(EmulatedProgram(program).ptx(), "cp.async.cg.shared.global");
}

TEST(Pipeline, IterationsFindTheirBuffers) {
  for (const int64_t buffers : {2, 3, 4, 8})
    for (const int64_t rows : {4, 8, 15, 32}) expect_right_in_blocks(columns(rows, buffers));
}

// One barrier an iteration, and copies that are asynchronous where they are no more than that.
TEST(Pipeline, CopiesAreUnderWayWhileOthersCompute) {
  const Program p = columns(8, 3);
  EXPECT_EQ(waits(p), 1u);
  EXPECT_EQ(copies(p), 4u) << "of all rows and of the last ones, in front of the loop and in it";
  EXPECT_EQ(copies(columns(8, 3, "exp(x(k, j))")), 0u);
  EXPECT_EQ(EmulatedProgram(p).kernel(0).shared_bytes, 3 * (8 * 36 * 4));
}

TEST(Pipeline, WhatIsComputedIsThere) {
  expect_right_in_blocks(columns(8, 2, "exp(x(k, j))"));
  expect_right_in_blocks(columns(15, 3, "exp(x(k, j))"));
}

// Sums of columns of a matrix that lies row by row: it is loaded along its rows, four at once, and
// stored down the buffer's columns.
Program across(int64_t length, int64_t rows, int64_t buffers, const std::string& body = "x(j, k)") {
  const std::string shape = "float(32, " + std::to_string(length) + ") x";
  Program p = program_of("def f(" + shape + ") -> (s) {\n u(k, j) = " + body + " where k in 0:" +
                         std::to_string(length) + ", j in 0:32\n s(j) +=! u(k, j)\n}");
  p = tile(p, 1, 1, std::vector<int64_t>{rows});
  p = reorder(p, 1, std::vector<size_t>{1, 0, 2});
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 1, 0, 32);
  p = vectorize(p, 0, 0, 4);
  p = threads(p, 0, 0, rows / 4);
  return pipeline(threads(p, 0, 1, 16), 0, buffers);
}

TEST(Pipeline, WhatGoesElsewhereGoesThroughRegisters) {
  for (const int64_t buffers : {2, 3, 5})
    for (const int64_t length : {48, 44, 16})
      for (const int64_t rows : {8, 16}) expect_right_in_blocks(across(length, rows, buffers));
  expect_right_in_blocks(across(48, 8, 2, "exp(x(j, k))"));
  expect_right_in_blocks(across(44, 8, 3, "exp(x(j, k)) * x(j, k)"));
}

// Loads, then what is computed of the last buffer, then stores.
TEST(Pipeline, WhatGoesThroughRegistersIsOnItsWayWhileOthersCompute) {
  const std::string ptx = EmulatedProgram(across(48, 8, 2)).ptx();
  EXPECT_EQ(occurrences(ptx, "cp.async.ca"), 0u);
  EXPECT_EQ(occurrences(ptx, "bar.sync"), 1u);
  const std::string loop = ptx.substr(ptx.find("bar.sync"));
  EXPECT_EQ(occurrences(loop, "ld.global.nc.v4.f32"), 2u) << loop;
  EXPECT_LT(loop.find("ld.global.nc.v4.f32"), loop.find("ld.shared")) << loop;
  EXPECT_GT(loop.find("st.shared"), loop.rfind("ld.shared")) << loop;
}

TEST(Pipeline, ThroughRegistersThreadsRaceWithoutTheBarrier) {
  if (!kEmulates) return;
  const Program p = across(48, 8, 2);
  EmulatedProgram emulated(p);
  ASSERT_TRUE(emulated.leave_out_barrier(0));
  EXPECT_THROW(emulated(small_inputs(p.graph, 3)), std::runtime_error);
}

// A loop around: its next iteration fills buffers that the last one may still read.
TEST(Pipeline, TheNextLoopWaitsForTheLastOne) {
  Program p = program_of(
      "def f(float(3, 40, 32) x) -> (s) {\n u(i, k, j) = x(i, k, j)\n s(i, j) +=! u(i, k, j)\n}");
  p = tile(p, 1, 2, std::vector<int64_t>{8});
  p = reorder(p, 1, std::vector<size_t>{0, 2, 1, 3});
  p = compute_at(p, 0, 1, 2);
  p = threads(p, 1, 1, 32);
  p = threads(p, 0, 2, 32);
  p = pipeline(p, 0, 2);
  expect_right_in_blocks(p);
  EXPECT_EQ(waits(p), 2u);
}

TEST(Pipeline, WithoutItsBarrierThreadsRace) {
  if (!kEmulates) return;
  for (const int64_t buffers : {2, 3}) {
    const Program p = columns(8, buffers);
    EmulatedProgram emulated(p);
    ASSERT_TRUE(emulated.leave_out_barrier(0));
    const bool caught = races(emulated, small_inputs(p.graph, 3));
    EXPECT_TRUE(caught) << buffers;
    note_races(1, caught ? 1 : 0);
  }
}

// Beside a nest that is computed anew in each iteration.
TEST(Pipeline, SomeOfWhatIsComputedInALoopMayBeAhead) {
  Program p = program_of(
      "def f(float(45, 32) x) -> (s) {\n u(k, j) = x(k, j)\n w(k, j) = exp(u(k, j))\n"
      " s(j) +=! u(k, j) * w(k, j)\n}");
  p = tile(p, 2, 1, std::vector<int64_t>{8});
  p = reorder(p, 2, std::vector<size_t>{1, 0, 2});
  for (const size_t stage : {1, 0}) p = compute_at(p, stage, 2, 1);
  p = threads(p, 2, 0, 32);
  for (const size_t stage : {1, 0}) p = threads(p, stage, 1, 16);
  expect_right_in_blocks(pipeline(p, 0, 3));
}

}  // namespace
}  // namespace adjit::testing
