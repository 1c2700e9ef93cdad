// tests/jit/emit/kernel_test.cpp -- a kernel's frame: what it takes, its tasks, its local buffers,
// and the code for older CPUs.
#include "jit/emit/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::vector<TensorLayout> layouts_of(const Program& program) {
  std::vector<TensorLayout> layouts;
  for (const TensorInfo& tensor : program.graph.tensors)
    layouts.push_back(contiguous_layout(tensor.shape));
  return layouts;
}

EmittedKernel emit(const Program& program, size_t kernel = 0) {
  return emit_kernel(program, kernel, layouts_of(program), native_features(), "some_kernel");
}

std::vector<std::string> names(const Program& program, const EmittedKernel& kernel) {
  std::vector<std::string> list;
  for (TensorId id : kernel.tensors) list.push_back(program.graph.info(id).name);
  std::ranges::sort(list);
  return list;
}

TEST(Kernel, TakesWhatItReadsAndWrites) {
  const Graph graph = parse_graph(
      "def main(float(4) x, float(4) unused, float(4) z) -> (y, w) {\n"
      " const float(4) c = [1.0, 2.0, 3.0, 4.0]\n y(i) = x(i) * c(i)\n w(i) = y(i) + z(i)\n}");
  const Program program = initial_program(graph, CpuMachine{1, 512});
  EXPECT_EQ(names(program, emit(program, 0)), (std::vector<std::string>{"c", "x", "y"}));
  EXPECT_EQ(names(program, emit(program, 1)), (std::vector<std::string>{"w", "y", "z"}));
  EXPECT_EQ(check_emitted(program, small_inputs(graph, 1)), "");
}

TEST(Kernel, LocalBuffersAreNoArguments) {
  Program p = initial_program(softmax_graph(6, 9), CpuMachine{2, 512});
  for (const char* name : {"s", "e", "m"}) {
    const size_t s = stage_of(p, name), y = stage_of(p, "y");
    p = compute_at(std::move(p), s, y, 1);
  }
  const EmittedKernel kernel = emit(p);
  EXPECT_EQ(names(p, kernel), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(kernel.register_tile) << "an attached nest has accumulators";
  EXPECT_FALSE(
      emit(initial_program(parse_graph("def main(float(4) x) -> (y) { y(i) = x(i) + 1.0 }"),
                           CpuMachine{1, 512}))
          .register_tile);
}

TEST(Kernel, TasksAreTheParallelIterations) {
  Program p = initial_program(matmul_graph(10, 21, 4), CpuMachine{2, 512});
  EXPECT_EQ(emit(p).tasks, 1);
  p = tile(std::move(p), 0, 0, std::vector<int64_t>{4});
  EXPECT_EQ(emit(parallel(p, 0, 1)).tasks, 3);
  EXPECT_EQ(emit(parallel(p, 0, 3)).tasks, 3 * 4 * 21);
  EXPECT_EQ(check_emitted(parallel(p, 0, 3), small_inputs(p.graph, 1)), "");
}

// A range of no tasks does nothing; ranges may be cut anywhere.
TEST(Kernel, RunsTheTasksItIsGiven) {
  const Graph graph = parse_graph("def main(float(6) x) -> (y) { y(i) = x(i) + 1.0 }");
  const EmittedProgram emitted(parallel(initial_program(graph, CpuMachine{2, 512}), 0, 1));
  ASSERT_EQ(emitted.kernel(0).tasks, 6);
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(6, -1);
  void* tensors[] = {x.data(), y.data()};
  if (emitted.kernel(0).tensors[0] != graph.inputs[0]) std::swap(tensors[0], tensors[1]);
  const KernelFunction run = emitted.function(0);
  run(tensors, 3, 3);
  EXPECT_EQ(y, std::vector<float>(6, -1));
  run(tensors, 4, 6);
  run(tensors, 1, 2);
  EXPECT_EQ(y, (std::vector<float>{-1, 3, -1, -1, 6, 7}));
}

TEST(Kernel, LocalBuffersBeyondTheStackAreRefused) {
  const Graph graph = parse_graph(
      "def main(float(4, 200000) x) -> (y) {\n huge(i, j) = exp(x(i, j))\n"
      " y(i, j) = huge(i, j) * huge(i, 199999 - j) where i in 0:4, j in 0:200000\n}");
  Program p = initial_program(graph, CpuMachine{2, 512});
  p = compute_at(std::move(p), 0, 1, 1);
  expect_refused([&] { emit(p); }, "huge");
}

TEST(Kernel, FunctionsTellTheWidthOfTheirVectors) {
  const Program program = initial_program(matmul_graph(4, 4, 4), CpuMachine{1, 512});
  for (int bits : {128, 256, 512}) {
    TargetFeatures features;
    features.vector_bits = bits;
    const EmittedKernel kernel = emit_kernel(program, 0, layouts_of(program), features, "k");
    const llvm::Function* function = kernel.module->getFunction("k");
    EXPECT_EQ(function->getFnAttribute("prefer-vector-width").getValueAsString(),
              std::to_string(bits));
    EXPECT_TRUE(function->doesNotThrow());
  }
}

// Of a GPU's kernel, the tensors of which its function says that nobody writes them meanwhile.
std::vector<std::string> read_only(const Program& program, size_t kernel) {
  const EmittedKernel emitted =
      emit_kernel(program, kernel, layouts_of(program), gpu_features(), "k");
  const llvm::Function* function = emitted.module->getFunction("k");
  std::vector<std::string> names;
  for (unsigned k = 0; k < function->arg_size(); ++k) {
    EXPECT_FALSE(function->getArg(k)->hasAttribute(llvm::Attribute::ReadOnly))
        << "LLVM crashes on loads through the texture cache";
    if (function->getArg(k)->hasNoAliasAttr())
      names.push_back(program.graph.info(emitted.tensors[k]).name);
  }
  std::ranges::sort(names);
  return names;
}

TEST(Kernel, SaysWhatAGpuOnlyReads) {
  using Names = std::vector<std::string>;
  const Program map = initial_program(
      parse_graph("def main(float(8) x, float(8) z) -> (y, w) {\n y(i) = x(i) * z(i)\n w(i) = "
                  "y(i) + x(i)\n}"),
      GpuMachine{});
  EXPECT_EQ(read_only(map, 0), (Names{"x", "z"}));
  EXPECT_EQ(read_only(map, 1), (Names{"x", "y"})) << "an earlier kernel has written it";
  const Program scatter = initial_program(
      parse_graph("def main(float(8) x, float(6) g, int64(6) k) -> (s) {\n y(i) = x(i) * 2.0\n"
                  " scatter float(8) s(k(i)) +=[clip] g(i) from y where i in 0:6\n}"),
      GpuMachine{});
  const std::vector<uint32_t> buffers = shared_buffers(scatter);
  const auto tensor = [&](const char* name) {
    return std::ranges::find(scatter.graph.tensors, name, &TensorInfo::name) -
           scatter.graph.tensors.begin();
  };
  ASSERT_EQ(buffers[static_cast<size_t>(tensor("s"))], buffers[static_cast<size_t>(tensor("y"))]);
  EXPECT_EQ(read_only(scatter, 0), (Names{"x"}));
  EXPECT_EQ(read_only(scatter, 1), (Names{"g", "k"})) << "it goes on in the buffer of y";
}

// Scatters whose points read what they start from go on in a copy of it.
TEST(Kernel, SaysThatAScattersStartIsOnlyReadWhereItIsCopied) {
  using Names = std::vector<std::string>;
  const Program p = initial_program(
      parse_graph("def main(float(8) x, int64(6) k) -> (s) {\n y(i) = x(i) * 2.0\n"
                  " scatter float(8) s(k(i)) +=[clip] y(i) from y where i in 0:6\n}"),
      GpuMachine{});
  ASSERT_EQ(p.kernels.size(), 3u);
  EXPECT_EQ(read_only(p, 1), (Names{"y"}));
  EXPECT_EQ(read_only(p, 2), (Names{"k", "y"}));
}

TEST(Kernel, SaysThatWhatLiesInPlaceOfAnotherTensorIsOnlyRead) {
  using Names = std::vector<std::string>;
  const Program p = alias_reshape(
      initial_program(parse_graph("def main(float(6) x) -> (z) {\n c(i) = x(i) * 2.0\n"
                                  " y(i, j) = c(3 * i + j) where i in 0:2, j in 0:3\n"
                                  " z(i, j) = y(i, j) + c(j)\n}"),
                      GpuMachine{}),
      1);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(read_only(p, 0), (Names{"x"}));
  EXPECT_EQ(read_only(p, 1), (Names{"c", "y"})) << "of one buffer, which an earlier kernel wrote";
}

// Of a kernel's blocks: what the assembler is told of their threads and of how many have room.
std::map<std::string, int64_t> limits_of(const Program& program) {
  const EmittedKernel emitted = emit_kernel(program, 0, layouts_of(program), gpu_features(), "k");
  std::map<std::string, int64_t> limits;
  const llvm::NamedMDNode* all = emitted.module->getNamedMetadata("nvvm.annotations");
  for (unsigned n = 0; all != nullptr && n < all->getNumOperands(); ++n) {
    const llvm::MDNode& one = *all->getOperand(n);
    EXPECT_EQ(llvm::mdconst::extract<llvm::Function>(one.getOperand(0)),
              emitted.module->getFunction("k"));
    limits[llvm::cast<llvm::MDString>(one.getOperand(1))->getString().str()] =
        llvm::mdconst::extract<llvm::ConstantInt>(one.getOperand(2))->getSExtValue();
  }
  return limits;
}

TEST(Kernel, LimitsTheRegistersOfBlocks) {
  using Limits = std::map<std::string, int64_t>;
  const Graph graph = parse_graph(
      "def main(float(4, 1024) x) -> (s) { s(i) +=! x(i, r) where i in 0:4, r in "
      "0:1024 }");
  const Program alone = parallel(initial_program(graph, GpuMachine{}), 0, 1);
  EXPECT_EQ(limits_of(alone), Limits{}) << "threads by themselves are in blocks of any size";
  for (const int64_t count : {32, 256, 512, 1024}) {
    const Program p = parallel(threads(initial_program(graph, GpuMachine{}), 0, 1, count), 0, 1);
    const Limits wanted{{"maxntidx", count}, {"minctasm", count <= 256 ? 2 : 1}};
    EXPECT_EQ(limits_of(p), wanted) << "two have 128 registers a thread, or there is but one";
  }
  const auto in_memory = [&](int64_t bytes) {
    return limits_of(parallel(
        threads(initial_program(graph, GpuMachine{.shared_bytes = bytes}), 0, 1, 256), 0, 1));
  };
  EXPECT_EQ(in_memory(4 << 10)["minctasm"], 2);
  EXPECT_EQ(in_memory(2 << 10)["minctasm"], 1) << "no shared memory for a second block";
  const Program many = parallel(
      threads(initial_program(parse_graph("def main(float(400, 1024) x) -> (s) {"
                                          " s(i) +=! x(i, r) where i in 0:400, r in 0:1024 }"),
                              GpuMachine{}),
              0, 1, 512),
      0, 1);
  EXPECT_EQ(limits_of(many), (Limits{{"maxntidx", 512}})) << "a third block may be of use";
  const Program empty = parallel(
      threads(initial_program(parse_graph("def main(float(0, 1024) x) -> (y) {"
                                          " y(i, j) = exp(x(i, j)) where i in 0:0, j in 0:1024 }"),
                              GpuMachine{}),
              0, 1, 1024),
      0, 1);
  EXPECT_EQ(limits_of(empty), (Limits{{"maxntidx", 1024}})) << "there is no block";
}

// The same program twice is the same text: caches compare bytes.
TEST(Kernel, EmissionIsDeterministic) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = random_graph(seed, {.stages = 4, .max_extent = 20});
    const Program program = default_schedule(graph, CpuMachine{2, 512});
    const EmittedProgram once(program), again(program);
    for (size_t k = 0; k < program.kernels.size(); ++k) EXPECT_EQ(once.ir(k), again.ir(k));
  }
}

TEST(Kernel, OlderCpusGetCodeThatGivesTheSame) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Graph graph = random_graph(seed, {.stages = 3, .max_extent = 20});
    const std::vector<Array> inputs = small_inputs(graph, seed);
    const std::vector<Array> wide = interpret_in_double(graph, inputs);
    for (const auto& [level, bits] : {std::pair{"x86-64-v2", 128}, {"x86-64-v3", 256}}) {
      const Program program = default_schedule(graph, CpuMachine{2, bits});
      EXPECT_EQ(difference(interpret(program, inputs), EmittedProgram(program, level)(inputs), 2e-4,
                           wide),
                "")
          << level << ", seed " << seed;
    }
  }
}

TEST(Kernel, EveryDTypeOfConstants) {
  for (const char* dtype : {"bool", "uint8", "int8", "int16", "int32", "int64", "half", "bfloat16",
                            "float", "double"}) {
    const bool whole = std::string(dtype).find("int") != std::string::npos;
    const std::string values = std::string(dtype) == "bool" ? "[true, false, true]"
                               : whole                      ? "[1, 0, 5]"
                                                            : "[1.5, -2.0, 0.25]";
    const Graph graph =
        parse_graph(std::string("def main() -> (y) {\n const ") + dtype + "(3) c = " + values +
                    "\n y(i, j) = c((i + j) % 3) where i in "
                    "0:4, j in 0:9\n}");
    EXPECT_EQ(check_emitted(initial_program(graph, CpuMachine{1, 512}), {}, 0), "") << dtype;
    EXPECT_EQ(check_emitted(vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 8), {}, 0),
              "")
        << dtype;
  }
}

}  // namespace
}  // namespace adjit::testing
