// tests/autosched/moves/attached/pipeline_test.cpp -- which nests may have several buffers.
#include <gtest/gtest.h>

#include <vector>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr const char* kTwice = "w(k, j) = x(k, j) * 2.0";

Graph columns_graph(const std::string& body = kTwice) {
  return parse_graph("def f(float(64, 32) x) -> (s) {\n u(k, j) = x(k, j)\n " + body +
                     "\n s(j) +=! u(k, j) * w(k, j)\n}");
}

// Sums of the columns of u * w, both of which a block computes eight rows at a time.
Program columns(const std::string& body = kTwice) {
  Program p = initial_program(columns_graph(body), GpuMachine{});
  p = tile(p, 2, 1, std::vector<int64_t>{8});
  p = reorder(p, 2, std::vector<size_t>{1, 0, 2});
  for (const size_t stage : {1, 0}) p = compute_at(p, stage, 2, 1);
  return threads(p, 2, 0, 32);
}

// A block's rows, each computed twice over.
Program rows() {
  Program p = initial_program(
      parse_graph("def f(float(64, 32) x) -> (y) { u(i, j) = x(i, j)\n y(i, j) = u(i, j) }"),
      GpuMachine{});
  p = compute_at(p, 0, 1, 1);
  return threads(p, 1, 1, 32);
}

TEST(Pipeline, WhatABlockComputesInASerialLoopHasSeveralBuffers) {
  Program p = pipeline(columns(), 0, 3);
  EXPECT_EQ(nest_of(p, 0).buffers, 3);
  EXPECT_EQ(nest_of(p, 1).buffers, 1);
  EXPECT_NE(print(p).find("(shared, 3 buffers, 3456 bytes)"), std::string::npos) << print(p);
  EXPECT_NO_THROW(verify(p));
  EXPECT_EQ(print(replay(columns_graph(), p.moves_json, GpuMachine{})), print(p));
  p = pipeline(p, 1, 3);
  EXPECT_NO_THROW(verify(p));
}

TEST(Pipeline, NestsBesideEachOtherHaveAsMany) {
  const Program p = pipeline(columns(), 0, 3);
  expect_refused([&] { pipeline(p, 1, 2); }, "another number of buffers than one beside it");
}

TEST(Pipeline, TheLoopAroundIsABlocksSerialOne) {
  expect_refused([&] { pipeline(columns(), 2, 2); }, "it is not attached");
  // Attached inside the threads' loop.
  Program inside = initial_program(
      parse_graph("def f(float(64, 32) x) -> (s) { u(k, j) = x(k, j)\n s(j) +=! u(k, j) }"),
      GpuMachine{});
  inside = threads(inside, 1, 0, 32);
  inside = compute_at(inside, 0, 1, 2);
  expect_refused([&] { pipeline(inside, 0, 2); }, "no serial loop of its block");
  Program flat = initial_program(
      parse_graph("def f(float(64, 32) x) -> (s) { u(k, j) = x(k, j)\n s(j) +=! u(k, j) }"),
      GpuMachine{});
  flat = compute_at(flat, 0, 1, 1);
  expect_refused([&] { pipeline(flat, 0, 2); }, "its kernel no thread loops");
  const Program task = parallel(rows(), 1, 1);
  expect_refused([&] { pipeline(task, 0, 2); }, "no serial loop of its block");
  const Program serial = pipeline(rows(), 0, 2);
  expect_refused([&] { parallel(serial, 1, 1); }, "no serial loop of its block");
}

TEST(Pipeline, ItDoesNotReadWhatItsKernelComputes) {
  const Program p = columns("w(k, j) = u(k, j) * 2.0");
  expect_refused([&] { pipeline(p, 1, 2); }, "reads what its kernel computes");
  EXPECT_NO_THROW(pipeline(p, 0, 2));
}

TEST(Pipeline, ItReducesNothing) {
  Program p =
      initial_program(parse_graph("def f(float(16, 8, 32) x) -> (s) {\n u(k, j) +=! x(k, r, j)\n"
                                  " s(j) +=! u(k, j)\n}"),
                      GpuMachine{});
  p = reorder(p, 1, std::vector<size_t>{1, 0});
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 1, 0, 32);
  expect_refused([&] { pipeline(p, 0, 2); }, "reduces");
}

// The last tile of five rows would be another one.
TEST(Pipeline, ItsLoopStepsOverWholeTiles) {
  Program p = initial_program(
      parse_graph("def f(float(64, 32) x) -> (s) { u(k, j) = x(k, j)\n s(j) +=! u(k, j) }"),
      GpuMachine{});
  p = unroll(p, 1, 1, 5);
  p = reorder(p, 1, std::vector<size_t>{1, 0, 2});
  p = compute_at(p, 0, 1, 1);
  p = threads(p, 1, 0, 32);
  expect_refused([&] { pipeline(p, 0, 2); }, "does not step over whole tiles");
}

TEST(Pipeline, BuffersAreTwoToEight) {
  for (const int64_t buffers : {-1, 0, 1, 9})
    expect_refused([&] { pipeline(columns(), 0, buffers); }, "must be 2 to 8");
}

}  // namespace
}  // namespace adjit::sched
