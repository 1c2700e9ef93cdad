// tests/jit/engine/run/loaded.hpp -- a program's plan with its code in the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "jit/cpu/target.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/run/loaded_plan.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// The graph in text notation, scheduled by these moves, for so many threads.
inline LoadedPlan loaded(const std::string& text, int threads, const std::string& moves = "[]") {
  const Program program = replay(parse_graph(text), moves, CpuMachine{threads, 512});
  const std::vector<TensorLayout> inputs = row_major(program.graph, program.graph.inputs);
  TargetMachines machines(cpu_target());
  const CompiledKernels compiled = compile_kernels(KernelList(program, inputs), machines);
  ExecutionPlan plan = make_plan(program, compiled.kernels, inputs, {});
  CodeLoader loader;
  std::vector<std::shared_ptr<LoadedCode>> code = load_objects(loader, compiled.objects, plan);
  return load_plan(std::move(plan), std::move(code), std::make_shared<ThreadPool>(threads));
}

}  // namespace adjit::testing
