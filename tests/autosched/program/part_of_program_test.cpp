// tests/autosched/program/part_of_program_test.cpp -- some stages of a program by themselves.
#include "autosched/program/part_of_program.hpp"

#include <gtest/gtest.h>

#include <array>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::sched {
namespace {

TEST(PartOfProgram, HasWhatOthersMakeAsInputsAndWhatOthersReadAsOutputs) {
  const Program program = initial_program(parse_graph(R"(
def f(float(8, 4) x, float(4) b) -> (z) {
  t(i, j) = tanh(x(i, j) + b(j))
  s(i) +=! t(i, j) * x(i, j)
  u(i) = s(i) / 4.0
  z(i, j) = t(i, j) - u(i) + s(i)
})"),
                                          kGpu);
  const Program part = part_of(program, std::array<size_t, 2>{1, 2});
  ASSERT_EQ(part.graph.stages.size(), 2u);
  ASSERT_EQ(part.graph.inputs.size(), 2u);
  EXPECT_EQ(part.graph.info(part.graph.inputs[0]).name, "x");
  EXPECT_EQ(part.graph.info(part.graph.inputs[1]).name, "t");
  ASSERT_EQ(part.graph.outputs.size(), 2u) << "z reads both";
  EXPECT_EQ(part.kernels.size(), 2u);
  verify(part);
  const Program alone = part_of(program, std::array<size_t, 1>{2});
  EXPECT_EQ(alone.graph.tensors.size(), 2u);
}

TEST(PartOfProgram, IsAProgramForEachStageOfRandomOnes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Program program =
        initial_program(testing::random_graph(seed, {.stages = 6, .custom_combiners = true}), kGpu);
    for (size_t s = 0; s < program.graph.stages.size(); ++s) {
      const Stage& stage = program.graph.stages[s];
      if (stage.kind != StageKind::Compute || running_of(program.graph, stage)) continue;
      const Program part = part_of(program, std::array{s});
      verify(part);
      EXPECT_EQ(part.graph.stages.front().domain.extents, stage.domain.extents);
    }
  }
}

}  // namespace
}  // namespace adjit::sched
