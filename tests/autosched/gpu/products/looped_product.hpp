// tests/autosched/gpu/products/looped_product.hpp -- products with their loops, for tests of them.
#pragma once

#include <string>

#include "autosched/gpu/products/product_loops.hpp"
#include "autosched/program/nests.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {

inline constexpr ProductTile kTile{.m = 16, .n = 32, .k = 8, .thread_m = 2, .thread_n = 4};

inline Program looped(const Graph& graph, const ProductTile& tile = kTile) {
  Program p = initial_program(graph, GpuMachine{});
  const size_t stage = p.graph.stages.size() - 1;
  p = product_loops(std::move(p), stage, tile);
  expect_faithful(p, graph);
  return p;
}

inline size_t stage_named(const Program& program, const std::string& name) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (stage_name(program.graph, program.graph.stages[s]) == name) return s;
  return SIZE_MAX;
}

inline std::string loops_of(const Program& program, const std::string& name) {
  return loops_text(program, stage_named(program, name));
}

}  // namespace adjit::sched
