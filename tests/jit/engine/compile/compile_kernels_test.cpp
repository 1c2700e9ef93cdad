// tests/jit/engine/compile/compile_kernels_test.cpp -- all kernels at once: the same bytes every
// time, and objects as a string that cannot be misread.
#include "jit/engine/compile/compile_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "jit/engine/run/cpu_executable.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
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
  return initial_program(parse_graph(text + "}"), CpuMachine{2, 512});
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
  EXPECT_EQ(level_of(false, 100, 900, true, features, 100), CodegenLevel::Fast);
  EXPECT_EQ(level_of(true, 100, 900, true, features, 100), CodegenLevel::Less) << "accumulators";
  EXPECT_EQ(level_of(false, 20, 900, true, features, 100), codegen_level(false, features));
  EXPECT_EQ(level_of(false, 100, 10000, true, features, 100), codegen_level(false, features));
}

TEST(CompileKernels, KernelsOfManyPointsKeepTheirValuesInRegisters) {
  TargetFeatures wide;
  wide.avx512f = true;
  EXPECT_EQ(level_of(false, 8, 4095, true, wide, 100), CodegenLevel::Fast);
  EXPECT_EQ(level_of(false, 8, 4096, true, wide, 100), CodegenLevel::Less)
      << "some points of few kernels";
  EXPECT_EQ(level_of(false, 9, 32767, true, wide, 100), CodegenLevel::Fast);
  EXPECT_EQ(level_of(false, 9, 32768, true, wide, 100), CodegenLevel::Less);
  EXPECT_EQ(level_of(false, 1, 4 << 20, false, wide, 100), CodegenLevel::Fast) << "a copy";
  EXPECT_EQ(level_of(false, 100, 4 << 20, true, wide, 100), CodegenLevel::Less);
}

// Which takes the square of their number.
TEST(CompileKernels, NoRegistersAreAllocatedOverThousandsOfInstructions) {
  const TargetFeatures narrow = from_feature_string("+sse4.1,+avx2,+fma");
  EXPECT_EQ(level_of(false, 1, 1 << 20, true, narrow, 4096), CodegenLevel::Less);
  EXPECT_EQ(level_of(false, 1, 1 << 20, true, narrow, 4097), CodegenLevel::Fast);
  EXPECT_EQ(level_of(true, 1, 1 << 20, true, narrow, 4097), CodegenLevel::Less) << "accumulators";
}

std::string object_of(const CompiledKernels& compiled, size_t k) {
  return {compiled.objects[k].begin(), compiled.objects[k].end()};
}

// Two kinds of kernels in turn: the first of each kind is compiled.
TEST(CompileKernels, EqualKernelsAreCompiledOnce) {
  constexpr size_t kKernels = 150;
  std::string text = "def main(float(9) x) -> (y150) {\n";
  for (size_t k = 1; k <= kKernels; ++k)
    text += " y" + std::to_string(k) + "(i) = " + (k == 1 ? "x" : "y" + std::to_string(k - 1)) +
            (k % 2 ? "(i) * 0.5\n" : "(i) + 3.0\n");
  const Program program = initial_program(parse_graph(text + "}"), CpuMachine{2, 512});
  TargetMachines machines(cpu_target());
  const CompiledKernels compiled = compiled_kernels(program, machines);
  ASSERT_EQ(compiled.kernels.size(), kKernels);
  for (size_t k = 0; k < kKernels; ++k) {
    EXPECT_EQ(compiled.kernels[k].symbol, kernel_symbol(k % 2));
    EXPECT_EQ(compiled.objects[k].empty(), k >= 2) << k;
    EXPECT_FALSE(compiled.kernels[k].module);
  }
  EXPECT_NE(object_of(compiled, 0), object_of(compiled, 1));
  EXPECT_EQ(join_objects(compiled_kernels(program, machines).objects),
            join_objects(compiled.objects));

  const ExecutionPlan plan = make_plan(program, compiled.kernels, input_layouts(program), {});
  CodeLoader loader;
  const auto code = load_objects(loader, split_objects(join_objects(compiled.objects)), plan);
  ASSERT_EQ(code.size(), kKernels);
  for (size_t k = 2; k < kKernels; ++k) EXPECT_EQ(code[k], code[k % 2]);
  const size_t one = code[0]->bytes(), other = code[1]->bytes();
  CpuExecutable executable(plan, code, std::make_shared<ThreadPool>(2), {},
                           FloatMode::FlushSubnormals);
  EXPECT_EQ(executable.report().code_bytes, one + other) << "each counts once";
  std::vector<float> x(9, 7), y(9, 0);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  executable.run(inputs, outputs);
  float expected = 7;
  for (size_t k = 1; k <= kKernels; ++k) expected = k % 2 ? expected * 0.5f : expected + 3;
  EXPECT_EQ(y, std::vector<float>(9, expected));
}

// y1 = x * 1, y2 = y1 * 2, ...: so many different kernels, then `equal` times the last one.
Program different_kernels(size_t different, size_t equal) {
  std::string text = "def main(float(9) x) -> (y" + std::to_string(different + equal) + ") {\n";
  for (size_t k = 1; k <= different + equal; ++k)
    text += " y" + std::to_string(k) + "(i) = " + (k == 1 ? "x" : "y" + std::to_string(k - 1)) +
            "(i) * " + std::to_string(std::min(k, different)) + ".0\n";
  return initial_program(parse_graph(text + "}"), CpuMachine{2, 512});
}

// Modules beyond the first 64 are not kept between the passes.
TEST(CompileKernels, KernelsFarBehindAreCompiledToo) {
  const Program program = different_kernels(70, 3);
  TargetMachines machines(cpu_target());
  const CompiledKernels compiled = compiled_kernels(program, machines);
  CodeLoader loader;
  for (const size_t k : {63, 64, 69, 72}) {
    const size_t first = std::min<size_t>(k, 69);
    EXPECT_EQ(compiled.kernels[k].symbol, kernel_symbol(first));
    EXPECT_EQ(compiled.objects[k].empty(), k != first);
    const auto code =
        loader.load(compiled.objects[first], std::vector<std::string>{kernel_symbol(first)});
    std::vector<float> a(9, 2), b(9, 0);
    void* tensors[] = {a.data(), b.data()};
    reinterpret_cast<KernelFunction>(code->lookup(kernel_symbol(first)))(tensors, 0, 1);
    EXPECT_EQ(b[8], 2 * static_cast<float>(first + 1));
  }
}

// Kernels that are equal count as one, and their points together; so do the calls of a scan's step.
TEST(CompileKernels, LevelsAreThoseOfAllEqualKernels) {
  TargetMachines machines(cpu_target("x86-64-v2"));
  const CodegenLevel usual = codegen_level(false, machines.target().vector);
  ASSERT_NE(usual, CodegenLevel::Fast) << "or nothing differs on this target";
  const auto levels = [&](const Program& program) {
    std::vector<CodegenLevel> found;
    for_each_different(KernelList(program, input_layouts(program)), machines,
                       [&](const EmittedKernel&, CodegenLevel level) { found.push_back(level); });
    return found;
  };
  const std::vector<CodegenLevel> few = levels(different_kernels(4, 100));
  EXPECT_EQ(few, std::vector<CodegenLevel>(4, usual));
  const std::vector<CodegenLevel> many = levels(different_kernels(66, 460));
  ASSERT_EQ(many.size(), 66u);
  EXPECT_EQ(many[0], CodegenLevel::Fast);
  EXPECT_EQ(many[65], usual) << "461 times nine points";
  Program steps = different_kernels(65, 0);
  std::string text = print(steps.graph);
  text.insert(
      text.rfind('}'),
      "  scan (s) = step[500](carry float(9) h = x) -> (n) {\n    n(i) = h(i) * 0.25\n  }\n");
  text.replace(text.find("(y65)"), 5, "(y65, s)");
  const std::vector<CodegenLevel> scan =
      levels(initial_program(parse_graph(text), CpuMachine{2, 512}));
  ASSERT_GT(scan.size(), 65u);
  EXPECT_EQ(scan[0], CodegenLevel::Fast);
  EXPECT_EQ(std::ranges::count(scan, usual), 1) << "500 steps of nine points";
}

// What differs in anything but the tensors it works on is other code.
TEST(CompileKernels, OtherKernelsAreNotEqual) {
  const auto compiled_alone = [](const std::string& a, const std::string& b) {
    const std::string text = "def main(float(12) x, float(3, 4) m, double(12) d) -> (y, z) {\n y" +
                             a + "\n z" + b + "\n}";
    TargetMachines machines(cpu_target());
    const CompiledKernels compiled =
        compiled_kernels(initial_program(parse_graph(text), CpuMachine{2, 512}), machines);
    return !compiled.objects[1].empty();
  };
  const std::string one = "(i) = x(i) * 2.0";
  EXPECT_FALSE(compiled_alone(one, one));
  EXPECT_TRUE(compiled_alone(one, "(i) = x(i) * 3.0"));
  EXPECT_TRUE(compiled_alone(one, "(i) = x(i) * 2.0 where i in 0:11"));
  EXPECT_TRUE(compiled_alone(one, "(i) = x(11 - i) * 2.0"));
  EXPECT_TRUE(compiled_alone(one, "(i) = d(i) * 2.0"));
  EXPECT_TRUE(compiled_alone(one, "(i, j) = m(i, j) * 2.0"));
}

// Calls of library functions are part of what a kernel is.
TEST(CompileKernels, KernelsThatCallOtherFunctionsAreNotEqual) {
  TargetMachines machines(cpu_target());
  const Graph graph = parse_graph(
      "def main(double(5) x) -> (y, z) {\n y(i) = lgamma(x(i))\n z(i) = digamma(x(i))\n}");
  const CompiledKernels compiled =
      compiled_kernels(initial_program(graph, CpuMachine{2, 512}), machines);
  EXPECT_FALSE(compiled.objects[1].empty());
}

TEST(CompileKernels, DifferentOnesAreVisitedInOrder) {
  const Program program = initial_program(
      parse_graph("def main(float(9) x) -> (a, b, c) {\n a(i) = x(i) * 2.0\n b(i) = x(i) * 2.0\n"
                  " c(i) = x(i) * 3.0\n}"),
      CpuMachine{2, 512});
  TargetMachines machines(cpu_target());
  std::vector<std::string> visited;
  for_each_different(KernelList(program, input_layouts(program)), machines,
                     [&](const EmittedKernel& kernel, CodegenLevel) {
                       EXPECT_TRUE(kernel.module);
                       visited.push_back(kernel.symbol);
                     });
  EXPECT_EQ(visited, (std::vector<std::string>{kernel_symbol(0), kernel_symbol(2)}));
}

TEST(CompileKernels, TheSameProgramIsTheSameBytes) {
  const Program program =
      default_schedule(random_graph(5, {.stages = 6, .max_extent = 20}), CpuMachine{2, 512});
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
  Program program = initial_program(graph, CpuMachine{2, 512});
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
  EXPECT_EQ(code_of(compiled.objects, plan), ErrorCode::Compile) << "no earlier one has its code";
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
