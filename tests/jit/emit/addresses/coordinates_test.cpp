// tests/jit/emit/addresses/coordinates_test.cpp -- indices that data decides: in 32 bits, the same
// elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "jit/cpu/object.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Around every limit of the 32-bit form, of int32 and of int64.
std::vector<double> wild_numbers() {
  std::vector<double> numbers{0, -0.0, 0.5, -0.5, std::nan(""), kInf, -kInf, 1e30, -1e30};
  for (const int power : {2, 20, 29, 30, 31, 32, 52, 62, 63})
    for (const double sign : {1.0, -1.0})
      for (const double step : {-1.0, 0.0, 1.0})
        numbers.push_back(sign * std::ldexp(1.0, power) + step);
  while (numbers.size() % 8 != 0) numbers.push_back(3);
  return numbers;
}

Array numbers(DType dtype) {
  const std::vector<double> values = wild_numbers();
  return Array::of(dtype, {static_cast<int64_t>(values.size())}, values);
}

// y(i) = x(index) for numbers t(i), in 8 lanes.
Program reading(const std::string& index, const char* dtype = "float") {
  const std::string count = std::to_string(wild_numbers().size());
  const Graph graph =
      parse_graph("def main(float(7) x, " + std::string(dtype) + "(" + count +
                  ") t) -> (y) { y(i) = x(" + index + ") where i in 0:" + count + " }");
  return vectorize(plain(graph, 1), 0, 0, 8);
}

std::vector<Array> inputs_of(const Program& program) {
  std::vector<Array> inputs = small_inputs(program.graph, 5);
  inputs[1] = numbers(inputs[1].dtype);
  return inputs;
}

bool in_64_bits(const Program& program) {
  return EmittedProgram(program).ir().find("<8 x i64>") != std::string::npos;
}

// Sums with the last integers wrap as they do in 64 bits.
TEST(Coordinates, LimitedIndicesAre32Bits) {
  for (const char* dtype : {"float", "double", "half"})
    for (const char* index : {"max(min(int64(t(i)), 6), 0)", "min(max(int64(floor(t(i))), 2), 5)",
                              "max(min(int64(t(i)), i), 0) // 9", "max(min(int64(t(i)) - 3, 6), 0)",
                              "max(min(int64(t(i)) + 1, 6), 0)", "max(min(2 - int64(t(i)), 6), 0)",
                              "max(min(max(1 + int64(t(i)), int64(t(i)) - 4) + i, 6), 0)"}) {
      const Program program = reading(index, dtype);
      EXPECT_EQ(check_emitted(program, inputs_of(program)), "") << index << " of " << dtype;
    }
  EXPECT_FALSE(in_64_bits(reading("max(min(int64(t(i)), 6), 0)")));
  EXPECT_FALSE(in_64_bits(reading("max(min(2 - int64(floor(t(i))), 6), 0)")));
}

// On a GPU numbers are as narrow: 64 bits take two instructions each.
TEST(Coordinates, LimitedIndicesOfGpusAre32Bits) {
  if (!kEmulates) GTEST_SKIP() << "no emulator under sanitizers";
  const std::string count = std::to_string(wild_numbers().size());
  for (const char* dtype : {"float", "double", "half"})
    for (const char* index : {"max(min(int64(t(i)), 6), 0)", "min(max(int64(floor(t(i))), 2), 5)",
                              "max(min(int64(t(i)) + 1, 6), 0)", "max(min(2 - int64(t(i)), 6), 0)",
                              "t(i) > 5.0 ? 6 : max(min(int64(t(i)) + 4, 4), 1)",
                              "max(min(int64(t(i)) + 3000000000, 6), 0)"}) {
      const Graph graph =
          parse_graph("def main(float(7) x, " + std::string(dtype) + "(" + count +
                      ") t) -> (y) { y(i) = x(" + index + ") where i in 0:" + count + " }");
      const Program program = initial_program(graph, GpuMachine());
      std::vector<Array> inputs = small_inputs(graph, 5);
      inputs[1] = numbers(inputs[1].dtype);
      const std::vector<Array> expected = interpret(graph, inputs);
      for (const int64_t lanes : {0, 4}) {
        Program p = lanes > 0 ? vectorize(program, 0, 0, lanes) : program;
        const EmulatedProgram emulated(parallel(std::move(p), 0, 1));
        const std::vector<Array> actual = emulated(inputs);
        for (int64_t k = 0; k < expected[0].element_count(); ++k)
          EXPECT_EQ(actual[0].at(k), expected[0].at(k))
              << index << " of " << dtype << " " << inputs[1].at(k) << " in lanes of " << lanes;
        if (lanes > 0) continue;
        const bool wide = emulated.ptx().find("min.s64") != std::string::npos;
        EXPECT_EQ(wide, std::string(index).find("3000000000") != std::string::npos) << index;
      }
    }
}

// What is compared, or a sort's key, is limited as well.
TEST(Coordinates, LimitedValuesOfGpusAre32Bits) {
  if (!kEmulates) GTEST_SKIP() << "no emulator under sanitizers";
  const std::string count = std::to_string(wild_numbers().size());
  for (const char* value :
       {"select(max(min(int64(floor(t(i))) + 1, 6), 0) == 3, 1.0, 2.0)",
        "float(max(min(int64(t(i)), 6), 0) * 7 + max(min(int64(t(i)), 3), 1))"}) {
    const Graph graph = parse_graph("def main(float(" + count + ") t) -> (y) { y(i) = " + value +
                                    " where i in 0:" + count + " }");
    const EmulatedProgram emulated(parallel(initial_program(graph, GpuMachine()), 0, 1));
    const std::vector<Array> inputs{numbers(DType::Float32)};
    const std::vector<Array> expected = interpret(graph, inputs), actual = emulated(inputs);
    for (int64_t k = 0; k < expected[0].element_count(); ++k)
      EXPECT_EQ(actual[0].at(k), expected[0].at(k)) << value << " of " << inputs[0].at(k);
    EXPECT_EQ(emulated.ptx().find("min.s64"), std::string::npos) << value;
    EXPECT_EQ(emulated.ptx().find("setp.eq.s64"), std::string::npos) << value;
  }
}

// A choice among choices, each of which reads the one before twice.
TEST(Coordinates, DeepChoices) {
  std::string index = "int64(t(i))";
  std::string lets;
  for (int k = 0; k < 25; ++k) {
    const std::string name = "c" + std::to_string(k);
    lets += " let " + name + " = t(i) > " + std::to_string(k) + ".0 ? " + index +
            " + 1 : " + index + ";";
    index = name;
  }
  const std::string count = std::to_string(wild_numbers().size());
  const Graph graph =
      parse_graph("def main(float(7) x, float(" + count + ") t) -> (y) { y(i) =" + lets +
                  " x(max(min(" + index + ", 6), 0)) where i in 0:" + count + " }");
  const Program program = vectorize(plain(graph, 1), 0, 0, 8);
  EXPECT_FALSE(in_64_bits(program));
  EXPECT_EQ(check_emitted(program, inputs_of(program)), "");
}

// A remainder along the lanes is i - 5 (i // 5): neither part stays in the tensor, nor in 32 bits.
TEST(Coordinates, PartsThatCancel) {
  const Graph graph = parse_graph(
      "def main(float(5, 131072) x, int64(60000) I) -> (y) {"
      " y(i) = x(i % 5, max(min(I(i), 131071), 0)) where i in 0:60000 }");
  const Program program = vectorize(plain(graph, 1), 0, 0, 8);
  EXPECT_EQ(check_emitted(program, small_inputs(graph, 4)), "");
}

TEST(Coordinates, OneOfTwo) {
  const Program program = reading("t(i) > 5.0 ? 6 : max(min(int64(t(i)) + 4, 4), 1)");
  EXPECT_FALSE(in_64_bits(program));
  std::vector<Array> inputs = inputs_of(program);
  EXPECT_EQ(check_emitted(program, inputs), "");
}

// Sums with what is far away, products, and indices without limits are not.
TEST(Coordinates, OthersAre64Bits) {
  for (const char* index :
       {"max(min(int64(t(i)) + 3000000000, 6), 0)", "max(min(int64(t(i)) * 2, 6), 0)",
        "max(min(int64(t(i)) + int64(t(i)), 6), 0)"}) {
    const Program program = reading(index);
    EXPECT_TRUE(in_64_bits(program)) << index;
    EXPECT_EQ(check_emitted(program, inputs_of(program)), "") << index;
  }
  const Program guarded = reading("int64(t(i))");  // 0 where that is outside
  EXPECT_EQ(check_emitted(guarded, inputs_of(guarded)), "");
}

TEST(Coordinates, TargetsOfScatters) {
  const std::string count = std::to_string(wild_numbers().size());
  const Graph graph =
      parse_graph("def main(float(" + count + ") x, float(" + count +
                  ") t) -> (h) { scatter float(7, 2) h(max(min(int64(t(i)), 6), 0), j) +=! x(i)"
                  " where i in 0:" +
                  count + ", j in 0:2 }");
  Program program = plain(graph, 1);
  const size_t s = scatter_in(program);
  program = vectorize(std::move(program), s, 0, 8);
  EXPECT_EQ(check_emitted(program, inputs_of(program)), "");
  EXPECT_EQ(EmittedProgram(program).ir(program.kernels.size() - 1).find("<8 x i64>"),
            std::string::npos);
}

// Under masks nothing outside is touched, also where there is nothing.
TEST(Coordinates, MaskedLanesOfDataReadNothing) {
  for (const char* rows : {"5", "0"}) {
    const Graph graph = parse_graph("def main(float(" + std::string(rows) +
                                    ", 3) x, int64(21) I) -> (y) { y(i) = x(I(i), 1) }");
    const Program program = vectorize(plain(graph, 1), 0, 0, 8);
    EXPECT_EQ(check_emitted(program, small_inputs(graph, 2)), "") << rows;
  }
}

// Offsets into tensors of more than 2^31 elements, here by strides that nothing is read at.
TEST(Coordinates, FarStridesAre64Bits) {
  const Program program = reading("max(min(int64(t(i)), 6), 0)");
  std::vector<TensorLayout> layouts;
  for (const TensorInfo& tensor : program.graph.tensors)
    layouts.push_back(contiguous_layout(tensor.shape));
  layouts[program.graph.inputs[0].value].strides = {int64_t{1} << 29};
  const std::string ir = EmittedProgram(program, {}, layouts).ir();
  EXPECT_NE(ir.find("<8 x i64>"), std::string::npos);
}

// With AVX-512 they are gathers, of offsets that are half as wide as addresses.
TEST(Coordinates, GathersOfAvx512) {
  const TargetFeatures features =
      from_feature_string("+sse4.1,+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512dq");
  const Program program = reading("max(min(int64(t(i)) + 1, 6), 0)");
  std::vector<TensorLayout> layouts;
  for (const TensorInfo& tensor : program.graph.tensors)
    layouts.push_back(contiguous_layout(tensor.shape));
  const EmittedKernel kernel = emit_kernel(program, 0, layouts, features, "gathering");
  verify_module(*kernel.module);
  const std::string ir = ir_text(*kernel.module);
  EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.masked.gather"), 1u) << ir;
  EXPECT_EQ(ir.find("<8 x i64>"), std::string::npos) << ir;
}

}  // namespace
}  // namespace adjit::testing
