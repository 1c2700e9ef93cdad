// tests/jit/engine/compile_kernels_test.cpp -- all kernels at once: the same bytes every time, and
// objects as a string that cannot be misread.
#include "jit/engine/compile_kernels.hpp"

#include <gtest/gtest.h>

#include "autosched/heuristic.hpp"
#include "autosched/moves.hpp"
#include "runtime/graph/text.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::vector<TensorLayout> input_layouts(const Program& program) {
  std::vector<TensorLayout> layouts;
  for (TensorId id : program.graph.inputs)
    layouts.push_back(contiguous_layout(program.graph.info(id).shape));
  return layouts;
}

CompiledKernels compiled_kernels(const Program& program, TargetMachines& machines) {
  return compile_kernels(KernelList(program, input_layouts(program)), machines);
}

Program several_kernels(int count) {
  std::string text = "def main(float(9) x) -> (y" + std::to_string(count) + ") {\n";
  for (int k = 1; k <= count; ++k)
    text += " y" + std::to_string(k) + "(i) = " + (k == 1 ? "x" : "y" + std::to_string(k - 1)) +
            "(i) * " + std::to_string(k) + ".0\n";
  return initial_program(parse_graph(text + "}"), 2, 512);
}

TEST(CompileKernels, ManyKernelsInOrder) {
  const Program program = several_kernels(20);
  TargetMachines machines(cpu_target());
  const CompiledKernels compiled = compiled_kernels(program, machines);
  ASSERT_EQ(compiled.kernels.size(), 20u);
  CodeLoader loader;
  std::vector<float> a(9, 1), b(9, 0);
  double expected = 1;
  for (size_t k = 0; k < 20; ++k) {
    EXPECT_EQ(compiled.kernels[k].symbol, kernel_symbol(k));
    EXPECT_FALSE(compiled.kernels[k].module) << "modules are consumed";
    const auto code = loader.load(compiled.objects[k], std::vector<std::string>{kernel_symbol(k)});
    const bool forward = compiled.kernels[k].tensors[0] < compiled.kernels[k].tensors[1];
    void* tensors[] = {forward ? a.data() : b.data(), forward ? b.data() : a.data()};
    reinterpret_cast<KernelFunction>(code->lookup(kernel_symbol(k)))(tensors, 0, 1);
    expected *= static_cast<double>(k + 1);
    EXPECT_FLOAT_EQ(b[8], static_cast<float>(expected)) << k;
    std::swap(a, b);
  }
}

// The first call of many small kernels is mostly compilation.
TEST(CompileKernels, SmallKernelsOfManyAreCompiledFast) {
  const TargetFeatures features = from_feature_string("+sse4.1,+avx2,+fma");
  const auto level = [&](int count, const char* extent, bool register_tile) {
    Program program = several_kernels(count);
    if (std::string(extent) != "9")
      program = initial_program(parse_graph("def main(float(" + std::string(extent) +
                                            ") x) -> (y) { y(i) = x(i) * 2.0 }"),
                                2, 512);
    EmittedKernel kernel;
    kernel.register_tile = register_tile;
    return level_of(KernelList(program, input_layouts(program)), 0, kernel, features);
  };
  EXPECT_EQ(level(100, "9", false), CodegenLevel::Fast);
  EXPECT_EQ(level(100, "9", true), CodegenLevel::Less) << "accumulators";
  EXPECT_EQ(level(20, "9", false), codegen_level(false, features));
  EXPECT_EQ(level(1, "100000", false), codegen_level(false, features));
}

TEST(CompileKernels, TheSameProgramIsTheSameBytes) {
  const Program program =
      default_schedule(random_graph(5, {.stages = 6, .max_extent = 20}), {2, 512});
  TargetMachines one(cpu_target()), other(cpu_target());
  const std::string first = join_objects(compiled_kernels(program, one).objects);
  EXPECT_EQ(join_objects(compiled_kernels(program, one).objects), first);
  EXPECT_EQ(join_objects(compiled_kernels(program, other).objects), first);
}

// One kernel of many cannot be emitted: that error, and no other, arrives.
TEST(CompileKernels, AnErrorOfOneKernelIsTheCallers) {
  Graph graph = parse_graph("def main(float(4) x) -> (a) { a(i) = x(i) + 1.0 }");
  const std::vector<int64_t> shape(9, 2);
  Domain domain;
  domain.extents = shape;
  domain.output_rank = 9;
  const std::vector<ExprId> at{graph.pool.axis(0)};
  graph.outputs.push_back(
      add_compute(graph, "tile_of_nine", domain, {}, {read(graph, graph.outputs[0], at)})[0]);
  Program program = initial_program(graph, 2, 512);
  for (size_t axis = 0; axis < 9; ++axis) program = unroll(std::move(program), 1, axis, 2);
  TargetMachines machines(cpu_target());
  try {
    compiled_kernels(program, machines);
    ADD_FAILURE() << "compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Schedule);
    EXPECT_NE(std::string(e.what()).find("tile_of_nine"), std::string::npos) << e.what();
  }
}

TEST(LoadObjects, PlanAndObjectsMustFit) {
  const Program program = several_kernels(2);
  TargetMachines machines(cpu_target());
  CompiledKernels compiled = compiled_kernels(program, machines);
  const std::vector<TensorLayout> inputs{contiguous_layout(std::vector<int64_t>{9})};
  ExecutionPlan plan = make_plan(program, compiled.kernels, inputs, {});
  CodeLoader loader;
  EXPECT_EQ(load_objects(loader, compiled.objects, plan).size(), 2u);
  const auto code_of = [&](const auto& objects, const ExecutionPlan& p) {
    try {
      load_objects(loader, objects, p);
      return ErrorCode{};
    } catch (const Error& e) {
      return e.code();
    }
  };
  std::vector<std::vector<char>> objects = compiled.objects;
  objects.pop_back();
  EXPECT_EQ(code_of(objects, plan), ErrorCode::Cache);
  std::swap(compiled.objects[0], compiled.objects[1]);
  EXPECT_EQ(code_of(compiled.objects, plan), ErrorCode::Compile) << "the symbols are the others'";
  compiled.objects[0] = std::vector<char>(100, 'x');
  EXPECT_EQ(code_of(compiled.objects, plan), ErrorCode::Compile);
  compiled.objects[0].clear();
  EXPECT_EQ(code_of(compiled.objects, plan), ErrorCode::Compile);
}

TEST(JoinObjects, SplitGivesThemBack) {
  const std::vector<std::vector<std::vector<char>>> lists{
      {}, {{}}, {{'a'}}, {{}, {'a', '\0', 'b'}, {}}, {std::vector<char>(70000, '\x80')}};
  for (const auto& list : lists) EXPECT_EQ(split_objects(join_objects(list)), list);
}

TEST(JoinObjects, WhatIsCutOffIsRefused) {
  const std::vector<std::vector<char>> list{{'a', 'b', 'c'}, {'d'}};
  const std::string bytes = join_objects(list);
  for (size_t size = 1; size < bytes.size(); ++size) {
    if (size == 11) continue;  // the first object alone
    EXPECT_THROW(split_objects(bytes.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(split_objects(std::string(8, '\xff')), Error) << "a size beyond everything";
  EXPECT_THROW(split_objects(std::string("\x01\0\0\0\0\0\0\x80rest", 12)), Error);
}

}  // namespace
}  // namespace adjit::testing
