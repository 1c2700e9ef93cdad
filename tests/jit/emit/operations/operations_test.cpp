// tests/jit/emit/operations/operations_test.cpp -- every operation on every dtype, scalar and in
// lanes, against its meaning (runtime/expr/scalar.hpp).
#include "jit/emit/operations/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// Values that make operations show their edges.
std::vector<double> edges(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (is_float(dtype)) {
    std::vector<double> list{0,  -0.0, 1,    -1,    0.5,  -0.5, 1.5,    2.5,   -2.5, 3,
                             -7, 0.1,  kInf, -kInf, kNan, 1e-3, -20.25, 65504, 9.75, 100};
    if (dtype == DType::Float32 || dtype == DType::Float64)
      list.insert(list.end(), {1e10, -1e10, 1e-30, 16777217});
    return list;
  }
  const double bits = static_cast<double>(8 * size_of(dtype));
  if (dtype == DType::UInt8) return {0, 1, 2, 3, 7, 8, 9, 31, 100, 127, 128, 254, 255};
  return {0, 1,  -1, 2,  -2, 3,   -3,       5,    -7,
          8, 31, 32, 63, 64, 100, bits - 1, bits, -std::ldexp(1, static_cast<int>(bits) - 1)};
}

// Row-major arrays x, y, z: all pairs of edges, with z running through them as well.
std::vector<Array> operands(DType dtype, DType third) {
  const std::vector<double> a = edges(dtype), c = edges(third);
  const auto count = static_cast<int64_t>(a.size() * a.size());
  std::vector<Array> arrays{Array::zeros(dtype, {count}), Array::zeros(dtype, {count}),
                            Array::zeros(third, {count})};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a.size(); ++j) {
      const auto k = static_cast<int64_t>(i * a.size() + j);
      arrays[0].set(k, a[i]);
      arrays[1].set(k, a[j]);
      arrays[2].set(k, c[(7 * i + 3 * j) % c.size()]);
    }
  return arrays;
}

struct Case {
  Op op;
  bool exact;  // one right answer, -0 included
};

bool is_exact(Op op) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Fmod:
    case Op::Min:
    case Op::Max:
    case Op::Fma:
    case Op::Select: return true;
    case Op::Pow: return false;
    default: return info(op).rule != TypeRule::FloatSame;
  }
}

// One stage without combiner: a result per operation that the dtype takes.
struct Battery {
  Graph graph;
  std::vector<Case> cases;

  Battery(DType dtype, DType third, int64_t count) {
    const TensorId x = add_input(graph, "x", dtype, {count});
    const TensorId y = add_input(graph, "y", dtype, {count});
    const TensorId z = add_input(graph, "z", third, {count});
    const std::vector<ExprId> at{graph.pool.axis(0)};
    const std::vector<ExprId> values{read(graph, x, at), read(graph, y, at), read(graph, z, at)};
    std::vector<ExprId> bodies;
    for (int k = 0; k < op_count(); ++k) {
      const Op op = static_cast<Op>(k);
      const TypeRule rule = info(op).rule;
      if (rule == TypeRule::Leaf || rule == TypeRule::Cast) continue;
      std::vector<ExprId> operands(values.begin(), values.begin() + info(op).arity);
      if (op == Op::Select) operands = {values[2], values[0], values[1]};
      if (op == Op::Fma && third != dtype) continue;
      if (op == Op::Select && third != DType::Bool) continue;
      try {
        bodies.push_back(graph.pool.make(op, operands));
        const bool rounded_twice = op == Op::Fma && is_float(dtype) && !target_has_fma();
        cases.push_back({op, is_exact(op) && !rounded_twice});
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::DType) << error.what();
      }
    }
    Domain domain;
    domain.extents = {count};
    domain.output_rank = 1;
    graph.outputs = add_compute(graph, "r", domain, {}, bodies);
    verify(graph);
  }
};

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    case DType::Float32: return 2e-6;
    default: return 1e-14;
  }
}

bool same(double expected, double actual, const Case& c, DType dtype) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (c.exact) return expected == actual && std::signbit(expected) == std::signbit(actual);
  if (expected == actual) return true;
  return std::abs(expected - actual) <= tolerance_of(dtype) * std::max(1.0, std::abs(expected));
}

// Of two zeros a GPU takes the lesser, or the larger one (elementary.hpp).
Case on_gpu(Case c) {
  if (c.op == Op::Min || c.op == Op::Max) c.exact = false;
  return c;
}

void compare(const Battery& battery, const std::vector<Array>& arrays,
             const std::vector<Array>& actual, const std::string& where, bool gpu) {
  const DType dtype = arrays[0].dtype;
  const std::vector<Array> expected = interpret(battery.graph, arrays);
  for (size_t r = 0; r < expected.size(); ++r) {
    const Case c = gpu ? on_gpu(battery.cases[r]) : battery.cases[r];
    int reported = 0;
    for (int64_t k = 0; k < expected[r].element_count() && reported < 3; ++k) {
      if (same(expected[r].at(k), actual[r].at(k), c, expected[r].dtype)) continue;
      ++reported;
      ADD_FAILURE() << info(c.op).id << " of " << name_of(dtype) << where << ": x "
                    << arrays[0].at(k) << ", y " << arrays[1].at(k) << ", z " << arrays[2].at(k)
                    << " is " << expected[r].at(k) << ", compiled " << actual[r].at(k);
    }
  }
}

void check(DType dtype, DType third, bool in_lanes) {
  const std::vector<Array> arrays = operands(dtype, third);
  const Battery battery(dtype, third, arrays[0].shape[0]);
  Program program = initial_program(battery.graph, CpuMachine{1, 512});
  if (in_lanes) program = vectorize(std::move(program), 0, 0, 8);
  compare(battery, arrays, EmittedProgram(program)(arrays), in_lanes ? " in lanes" : "", false);
}

// A thread for each vector of so many lanes, or for each element.
void check_on_gpu(DType dtype, DType third, int64_t lanes) {
  const std::vector<Array> arrays = operands(dtype, third);
  const Battery battery(dtype, third, arrays[0].shape[0]);
  Program program = initial_program(battery.graph, GpuMachine{});
  if (lanes > 0) program = vectorize(std::move(program), 0, 0, lanes);
  const EmulatedProgram emulated(parallel(std::move(program), 0, 1));
  compare(battery, arrays, emulated(arrays), " on a GPU", true);
  EXPECT_EQ(occurrences(emulated.ptx(), ".local"), 0u) << name_of(dtype) << ": memory of a thread";
}

// Every pair of 8-bit integers, and pairs of wider ones whose quotients lie next to integers.
TEST(Division, OfVectorsIsExact) {
  for (DType dtype : {DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Int64}) {
    std::vector<double> x, y;
    const int bits = static_cast<int>(8 * size_of(dtype));
    const double end = std::ldexp(1.0, std::min(bits, 53) - 1);
    const double low = dtype == DType::UInt8 ? 0 : -end,
                 high = dtype == DType::UInt8 ? 255 : end - 1;
    Random random(9);
    for (int64_t k = 0; k < 65536; ++k) {
      double a = low + static_cast<double>(k % 256), d = low + static_cast<double>(k / 256);
      if (bits > 8) {
        const int shift = static_cast<int>(random.between(0, std::min(bits, 53) - 3));
        const double m = std::floor(std::ldexp(end, -shift)), most = std::floor(high / m);
        d = m - static_cast<double>(random.between(0, 2));
        a = d * static_cast<double>(random.between(0, static_cast<int64_t>(most))) -
            static_cast<double>(random.between(0, 1));
        if (random.chance(50)) a = -a;
        if (random.chance(50)) d = -d;
      }
      x.push_back(std::clamp(a, low, high));
      y.push_back(std::clamp(d, low, high));
    }
    Graph graph;
    const std::vector<TensorId> in{add_input(graph, "x", dtype, {65536}),
                                   add_input(graph, "y", dtype, {65536})};
    const ExprId axis = graph.pool.axis(0);
    const ExprId a = read(graph, in[0], std::span(&axis, 1)),
                 d = read(graph, in[1], std::span(&axis, 1));
    Domain domain;
    domain.extents = {65536};
    domain.output_rank = 1;
    std::vector<ExprId> bodies;
    for (Op op : {Op::FloorDiv, Op::Mod, Op::Fmod}) bodies.push_back(graph.pool.make(op, {a, d}));
    graph.outputs = add_compute(graph, "r", domain, {}, bodies);
    const Program p = vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 0, 16);
    const std::vector<Array> inputs{Array::of(dtype, {65536}, x), Array::of(dtype, {65536}, y)};
    EXPECT_EQ(difference(interpret(graph, inputs), EmittedProgram(p)(inputs), 0), "")
        << name_of(dtype);
    EXPECT_EQ(occurrences(EmittedProgram(p).ir(), "sdiv <16 x i32>"), 0u);
  }
}

class Operations : public ::testing::TestWithParam<DType> {};

TEST_P(Operations, OneByOne) { check(GetParam(), GetParam(), false); }
TEST_P(Operations, InLanes) { check(GetParam(), GetParam(), true); }
TEST_P(Operations, OnAGpu) {
  if (!kEmulates || !target_has_fma()) GTEST_SKIP() << "no emulator, or another test's";
  check_on_gpu(GetParam(), GetParam(), 0);
  check_on_gpu(GetParam(), DType::Bool, GetParam() == DType::Bool ? 2 : 4);
}
TEST_P(Operations, ChosenByABool) { check(GetParam(), DType::Bool, true); }

// To every dtype, scalar and in lanes.
// A graph that casts these values to every type.
Graph casts_of(DType from, int64_t count) {
  Graph graph;
  const TensorId x = add_input(graph, "x", from, {count});
  const ExprId value = read(graph, x, std::vector<ExprId>{graph.pool.axis(0)});
  std::vector<ExprId> bodies;
  for (int to = 0; to < kDTypeCount; ++to)
    bodies.push_back(graph.pool.cast(value, static_cast<DType>(to)));
  Domain domain;
  domain.extents = {count};
  domain.output_rank = 1;
  graph.outputs = add_compute(graph, "r", domain, {}, bodies);
  return graph;
}

TEST_P(Operations, Casts) {
  const DType from = GetParam();
  std::vector<double> values = edges(from);
  if (from == DType::Float64)  // ties of bfloat16 and half that a detour over float would see
    values.insert(values.end(), {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40, 3e9, -3e9, 1e19,
                                 127.5, -128.5, 255.9, 2147483647.5});
  if (from == DType::Int32 || from == DType::Int64)
    values.insert(values.end(), {16777217, 33685505, 2147483647, 65519, 65520});
  const auto count = static_cast<int64_t>(values.size());
  const Graph graph = casts_of(from, count);
  const std::vector<Array> inputs{Array::of(from, {count}, values)};
  const std::vector<Array> expected = interpret(graph, inputs);
  const auto check_casts = [&](const std::vector<Array>& actual, const char* where) {
    for (size_t to = 0; to < expected.size(); ++to)
      for (int64_t k = 0; k < count; ++k)
        EXPECT_TRUE(same(expected[to].at(k), actual[to].at(k), {Op::Cast, true}, from))
            << name_of(from) << " " << inputs[0].at(k) << " to " << name_of(static_cast<DType>(to))
            << " is " << expected[to].at(k) << ", compiled " << actual[to].at(k) << where;
  };
  for (const bool in_lanes : {false, true}) {
    Program program = initial_program(graph, CpuMachine{1, 512});
    if (in_lanes) program = vectorize(std::move(program), 0, 0, 8);
    check_casts(EmittedProgram(program)(inputs), in_lanes ? " in lanes" : "");
  }
  if (!kEmulates || !target_has_fma()) return;
  for (const bool in_lanes : {false, true}) {
    Program program = initial_program(graph, GpuMachine{});
    if (in_lanes && count > 4) program = vectorize(std::move(program), 0, 0, 4);
    check_casts(EmulatedProgram(parallel(std::move(program), 0, 1))(inputs), " on a GPU");
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Operations,
                         ::testing::Values(DType::Bool, DType::UInt8, DType::Int8, DType::Int16,
                                           DType::Int32, DType::Int64, DType::Float16,
                                           DType::BFloat16, DType::Float32, DType::Float64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace adjit::testing
