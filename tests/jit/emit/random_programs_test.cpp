// Random graphs under random legal moves: compiled code against the program interpreter.
#include <gtest/gtest.h>

#include <cstdlib>

#include "autosched/program/shared_memory.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_blocks.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/fuzz/oracle/rounding.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

uint64_t cases(uint64_t usual) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

// Element 0 of nothing but a legal refusal says that the emitter cannot express a nest.
struct Counts {
  size_t refused = 0, compared = 0;
};

void compare(const Graph& graph, const Program& program, uint64_t seed, Counts& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + print(program) +
               program.moves_json);
  const std::vector<Array> inputs = small_inputs(graph, seed);
  std::string wrong;
  try {
    const EmittedProgram emitted(program);
    const std::vector<Array> expected = interpret(program, inputs);
    const std::vector<Array> wide = interpret_in_double(graph, inputs);
    const auto differs = [&](std::span<const Array> actual) {
      return difference(expected, actual, 2e-4, wide,
                        [&](size_t output, int64_t element, double value) {
                          return rounding_may_give(graph, inputs, output, element, value);
                        });
    };
    wrong = differs(emitted(inputs, seed % 2 == 0));
    ++counts.compared;
    if (wrong.empty()) wrong = check_emulated(program, inputs, differs);
  } catch (const Error& error) {
    // What cannot be emitted says so, naming its stage.
    if (error.code() != ErrorCode::Schedule) FAIL() << error.what();
    ++counts.refused;
  } catch (const std::runtime_error& fault) {
    wrong = fault.what();
  }
  EXPECT_EQ(wrong, "");
}

void fuzz(uint64_t first, uint64_t count, int attempts, RandomGraphOptions options) {
  Counts counts;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    options.zero_extents = seed % 8 == 0;
    const Graph graph = random_graph(seed, options);
    compare(graph, random_program(graph, seed, attempts), seed, counts);
    if (::testing::Test::HasFailure() && ++failures == 3) return;
  }
  EXPECT_GT(counts.compared, 9 * counts.refused) << "too few programs can be emitted";
}

TEST(RandomPrograms, SmallExtents) {
  fuzz(1, cases(150), 40, {.stages = 5, .scatters = true, .custom_combiners = true});
}

TEST(RandomPrograms, ExtentsAcrossVectors) {
  fuzz(100000, cases(100), 60, {.inputs = 2, .stages = 3, .max_extent = 19, .scatters = true});
}

TEST(RandomPrograms, WhatSharesBuffers) {
  fuzz(300000, cases(80), 40, {.stages = 5, .max_extent = 9, .sharing = true});
}

// What is wrong with what a program for a GPU gives, in two orders of its threads.
std::string wrong_in_blocks(const Program& program, const std::vector<Array>& inputs,
                            const Graph& graph, int64_t alignment) {
  const EmulatedProgram emulated(program, alignment);
  for (size_t k = 0; k < program.kernels.size(); ++k)
    if (emulated.kernel(k).shared_bytes > shared_bytes(program, program.kernels[k]))
      return "a block shares more than the schedule knows of";
  const std::vector<Array> once = emulated(inputs, 1), again = emulated(inputs, 2);
  for (size_t k = 0; k < once.size(); ++k)
    if (once[k].bytes != again[k].bytes) return "the bits of an output differ from run to run";
  return difference(interpret(program, inputs), once, 2e-4, interpret_in_double(graph, inputs),
                    [&](size_t output, int64_t element, double value) {
                      return rounding_may_give(graph, inputs, output, element, value);
                    });
}

// Whether a nest of a block updates partial results in the memory that the block shares: the first
// update reads what nobody has written, and does not use it, which the emulator takes for a fault.
bool updates_shared_memory(const Program& program, const Nest& nest, RunBy by) {
  const Stage& stage = program.graph.stages[nest.stage];
  bool reduces = false;
  for (size_t l = 0; l < tile_begin(nest); ++l) {
    const Loop& loop = nest.loops[l];
    const bool reduction = loop.axis >= stage.domain.output_rank;
    if (reduces && !reduction && loop.kind == LoopKind::Serial && by == RunBy::Block &&
        program.scopes[stage.results[0].value] == Scope::Local)
      return true;
    reduces |= reduction;
  }
  return std::ranges::any_of(nest.attached, [&](const Nest::Attached& attached) {
    return updates_shared_memory(program, attached.nest, attached_run_by(by, nest, attached.depth));
  });
}

void compare_blocks(const Graph& graph, const Program& program, uint64_t seed, Counts& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + print(program) +
               program.moves_json);
  std::string wrong;
  try {
    wrong = wrong_in_blocks(program, small_inputs(graph, seed), graph, seed % 2 == 0 ? 16 : 0);
    ++counts.compared;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) FAIL() << error.what();
    ++counts.refused;
  } catch (const std::runtime_error& fault) {
    wrong = fault.what();
  }
  EXPECT_EQ(wrong, "");
}

TEST(RandomPrograms, BlocksOfThreads) {
  if (!kEmulates) return;
  Counts counts;
  for (uint64_t seed = 400000; seed < 400000 + cases(60); ++seed) {
    const Graph graph = random_graph(seed, {.stages = 4,
                                            .max_extent = seed % 2 == 0 ? 6 : 17,
                                            .scatters = seed % 7 == 0,
                                            .zero_extents = seed % 8 == 0,
                                            .sharing = seed % 5 == 0});
    const Program program = random_block_program(graph, seed, 150);
    const bool unread = std::ranges::any_of(program.kernels, [&](const Kernel& kernel) {
      return updates_shared_memory(program, kernel.root, root_run_by(kernel));
    });
    if (!unread) compare_blocks(graph, program, seed, counts);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.compared, 9 * counts.refused) << "too few programs can be emitted";
}

TEST(RandomPrograms, DefaultSchedules) {
  Counts counts;
  for (uint64_t seed = 200000; seed < 200000 + cases(50); ++seed) {
    const Graph graph = random_graph(seed, {.stages = 4, .max_extent = 33, .scatters = true});
    const Program program = default_schedule(graph, CpuMachine{2, seed % 2 == 0 ? 512 : 256});
    EXPECT_EQ(program.fallbacks, std::vector<std::string>{}) << "seed " << seed;
    compare(graph, program, seed, counts);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(counts.refused, 0u);
}

}  // namespace
}  // namespace adjit::testing
