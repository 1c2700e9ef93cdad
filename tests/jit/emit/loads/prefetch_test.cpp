// tests/jit/emit/loads/prefetch_test.cpp -- what is fetched ahead, and how often.
#include "jit/emit/loads/prefetch.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// What the next iteration of the loop around reads is fetched, once a line.
TEST(Prefetch, NestsThatFetchAhead) {
  const Graph graph = softmax_graph(5, 40);
  Program p = initial_program(graph, CpuMachine{1, 256});
  for (const char* name : {"s", "e", "m"}) {
    const size_t stage = stage_of(p, name), host = stage_of(p, "y");
    p = compute_at(std::move(p), stage, host, 1);
  }
  const size_t e = stage_of(p, "e");
  const Program whole = prefetch(unroll(vectorize(p, e, 1, 8), e, 1, 5), e);
  const std::string ir = checked_ir(whole);
  EXPECT_EQ(occurrences(ir, "call void @llvm.prefetch"), 3u) << "160 bytes are three lines\n" << ir;
  EXPECT_EQ(occurrences(ir, "i64 160"), 3u) << "four rows further on, since they are short";
  EXPECT_EQ(occurrences(checked_ir(prefetch(vectorize(p, e, 1, 8), e)), "@llvm.prefetch.p0("), 2u)
      << "the call and its declaration";
  EXPECT_EQ(occurrences(checked_ir(vectorize(p, e, 1, 8)), "llvm.prefetch"), 0u);
}

// Iterations that are neighbours in memory come too soon: a later one is fetched.
TEST(Prefetch, NeighboursAreFetchedFromFurtherOn) {
  const Program p = prefetch(
      vectorize(initial_program(matmul_graph(3, 800, 5), CpuMachine{1, 512}), 0, 1, 16), 0, 1);
  const std::string ir = checked_ir(p);
  EXPECT_EQ(occurrences(ir, "call void @llvm.prefetch"), 1u) << ir;
  EXPECT_NE(ir.find("i64 128"), std::string::npos) << "512 bytes on, 64 of them a vector\n" << ir;
}

}  // namespace
}  // namespace adjit::testing
