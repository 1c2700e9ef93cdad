// tests/autosched/gpu/cost/requests_test.cpp -- what the threads of a kernel ask for.
#include "autosched/gpu/cost/requests.hpp"

#include <gtest/gtest.h>

#include "autosched/gpu/loops/flat_loops.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"

namespace adjit::sched {
namespace {

Program plain(const char* text) { return initial_program(parse_graph(text), kGpu); }
Requests asked(const Program& program) { return requests_of(program, 0, kGpu); }

TEST(Requests, OfACopyAreItsLines) {
  const Requests copy = asked(parallel(plain("def f(float(4096) x) -> (y) { y(i) = x(i) }"), 0, 1));
  EXPECT_EQ(copy.threads, 4096);
  EXPECT_EQ(copy.blocks, 4096 / kFlatBlockThreads);
  EXPECT_EQ(copy.access_cycles, 2 * 4096 / 32) << "a line of 128 bytes a warp, read and written";
  EXPECT_EQ(copy.sectors, 2 * 4096 / 8);
  EXPECT_EQ(copy.bytes, 2 * 4 * 4096);
}

TEST(Requests, OfColumnsAreALineAThread) {
  const Requests across =
      asked(parallel(plain("def f(float(64, 64) x) -> (y) { y(i, j) = x(j, i) }"), 0, 2));
  EXPECT_EQ(across.access_cycles, 64 * 64 + 64 * 64 / 32);
}

TEST(Requests, UnrolledInstancesLoadWhatTheyShareOnce) {
  const char* const window =
      "def f(float(18, 64) x) -> (y) { y(i, j) +=! x(i + p, j) where i in 0:16, p in 0:3 }";
  const auto loads = [](const Requests& r) { return r.access_cycles - 16 * 64 / 32; };
  const Requests one = asked(parallel(plain(window), 0, 2));
  EXPECT_EQ(loads(one), 3 * 16 * 64 / 32);
  Program four = unroll(unroll(plain(window), 0, 0, 4), 0, 2, 3);
  const Requests shared = asked(parallel(std::move(four), 0, 2));
  EXPECT_EQ(loads(shared), 6 * 4 * 64 / 32) << "6 rows for 4 results";
}

TEST(Requests, FewRegistersLeaveRoomForMoreThreads) {
  const char* const product =
      "def f(float(4096, 64) x, float(64, 4096) y) -> (z) { z(i, j) +=! x(i, k) * y(k, j) }";
  const Requests one = asked(parallel(plain(product), 0, 2));
  EXPECT_EQ(one.resident, kGpu.threads);
  Program tiled = unroll(unroll(plain(product), 0, 0, 8), 0, 1, 8);
  EXPECT_LT(asked(parallel(std::move(tiled), 0, 2)).resident, kGpu.threads);
}

TEST(Requests, RegistersAreGivenToWarpsInEights) {
  EXPECT_EQ(registers_for(kGpu, 2, 512), 64);
  EXPECT_EQ(registers_for(kGpu, 1, 512), 128);
  EXPECT_EQ(registers_for(kGpu, 2, 400), 72) << "65536 / 832 is 78";
  EXPECT_EQ(registers_for(kGpu, 1, 32), kMostRegisters);
  EXPECT_EQ(registers_for(kGpu, 0, 32), kMostRegisters) << "nobody shares them";
}

}  // namespace
}  // namespace adjit::sched
