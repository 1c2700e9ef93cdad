// tests/runtime/trace/promotion_test.cpp -- the table of docs/promotion.md: which dtypes meet as
// which, in operators and in index notation.
#include "runtime/trace/promotion.hpp"

#include <gtest/gtest.h>

#include <array>

#include "runtime/trace/index_notation.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

constexpr OperandType strong(DType dtype) { return {dtype, false}; }
constexpr OperandType kBool{DType::Bool, true};
constexpr OperandType kInt{DType::Int64, true};
constexpr OperandType kFloat{DType::Float64, true};

struct Row {
  OperandType a, b, together;
};

constexpr std::array kTable{
    // One dtype, and integers of two.
    Row{strong(DType::Bool), strong(DType::Bool), strong(DType::Bool)},
    Row{strong(DType::Int8), strong(DType::Int32), strong(DType::Int32)},
    Row{strong(DType::Int8), strong(DType::UInt8), strong(DType::Int16)},
    Row{strong(DType::UInt8), strong(DType::Int64), strong(DType::Int64)},
    Row{strong(DType::Bool), strong(DType::UInt8), strong(DType::UInt8)},
    // Integers and bools beside floats.
    Row{strong(DType::Int64), strong(DType::Float16), strong(DType::Float16)},
    Row{strong(DType::UInt8), strong(DType::BFloat16), strong(DType::BFloat16)},
    Row{strong(DType::Int32), strong(DType::Float32), strong(DType::Float32)},
    Row{strong(DType::Bool), strong(DType::Float64), strong(DType::Float64)},
    // Numbers of Python beside tensors.
    Row{kBool, strong(DType::Int8), strong(DType::Int8)},
    Row{kInt, strong(DType::Int8), strong(DType::Int8)},
    Row{kInt, strong(DType::Float16), strong(DType::Float16)},
    Row{kInt, strong(DType::Bool), kInt},
    Row{kFloat, strong(DType::Float16), strong(DType::Float16)},
    Row{kFloat, strong(DType::Float64), strong(DType::Float64)},
    Row{kFloat, strong(DType::Int64), kFloat},
    Row{kFloat, strong(DType::Bool), kFloat},
    // Numbers alone.
    Row{kBool, kBool, kBool},
    Row{kBool, kInt, kInt},
    Row{kInt, kFloat, kFloat},
    Row{kFloat, kFloat, kFloat},
};

std::string shown(OperandType type) {
  return std::string(name_of(type.dtype)) + (type.weak ? ", weak" : "");
}

TEST(Promotion, Table) {
  for (const Row& row : kTable) {
    const OperandType one[] = {row.a, row.b}, other[] = {row.b, row.a};
    EXPECT_EQ(promoted(one), row.together) << shown(row.a) << " with " << shown(row.b);
    EXPECT_EQ(promoted(other), row.together) << shown(row.b) << " with " << shown(row.a);
  }
  EXPECT_EQ(promoted({}), strong(DType::Bool));
}

TEST(Promotion, TheOrderOfOperandsDoesNotMatter) {
  const OperandType all[] = {strong(DType::Bool),
                             strong(DType::Int8),
                             strong(DType::UInt8),
                             strong(DType::Int32),
                             strong(DType::Float16),
                             kBool,
                             kInt,
                             kFloat};
  for (const OperandType& a : all)
    for (const OperandType& b : all)
      for (const OperandType& c : all) {
        const OperandType together[] = {a, b, c}, turned[] = {c, a, b};
        EXPECT_EQ(promoted(together), promoted(turned));
      }
}

TEST(Promotion, TwoFloatTypesAskForACast) {
  constexpr std::array kFloats{DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
  for (DType a : kFloats)
    for (DType b : kFloats) {
      const OperandType both[] = {strong(a), strong(DType::Int8), strong(b)};
      if (a == b) {
        EXPECT_EQ(promoted(both), strong(a));
        continue;
      }
      try {
        promoted(both);
        FAIL() << name_of(a) << " with " << name_of(b);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::DType);
        for (std::string_view word : {name_of(a), name_of(b), std::string_view("astype")})
          EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
      }
    }
}

TEST(Promotion, AveragesAndCreation) {
  EXPECT_EQ(float_of(strong(DType::Int8)), kFloat);
  EXPECT_EQ(float_of(strong(DType::Float16)), strong(DType::Float16));
  EXPECT_EQ(created_dtype(kFloat), DType::Float32);
  EXPECT_EQ(created_dtype(kInt), DType::Int64);
  EXPECT_EQ(created_dtype(strong(DType::Float64)), DType::Float64);
}

TensorId input(Trace& trace, OperandType type) {
  return add_input(trace, "x", type.dtype, {}, type.weak);
}

// The same table where tensors are added, of numbers as inputs and as literals.
TEST(Promotion, OfOperators) {
  for (const Row& row : kTable) {
    if (row.together.dtype == DType::Bool) continue;  // no sums of bools
    SCOPED_TRACE(shown(row.a) + " with " + shown(row.b));
    Trace trace("f");
    const TensorId both[] = {input(trace, row.a), input(trace, row.b)};
    const TensorId sum = find_operator("add").trace(trace, both, {})[0];
    EXPECT_EQ((OperandType{dtype_of(trace, sum), trace.is_weak(sum)}), row.together);
    const TensorId chosen = find_operator("concat").trace(
        trace,
        std::vector{find_operator("expand_dims").trace(trace, {both, 1}, {{"axis", 0}})[0],
                    find_operator("expand_dims").trace(trace, {both + 1, 1}, {{"axis", 0}})[0]},
        {})[0];
    EXPECT_EQ(dtype_of(trace, chosen), row.together.dtype);
    EXPECT_EQ(trace.is_weak(chosen) && is_float(row.together.dtype),
              row.together.weak && is_float(row.together.dtype));
  }
}

// And of index notation, where a weak float is stored as float32.
TEST(Promotion, OfIndexNotation) {
  for (const Row& row : kTable) {
    if (row.together.dtype == DType::Bool) continue;
    SCOPED_TRACE(shown(row.a) + " with " + shown(row.b));
    Trace trace("f");
    IndexNotation n(trace);
    const auto expr = [&](OperandType type) {
      if (!type.weak) return read(n, input(trace, type), {});
      if (type.dtype == DType::Bool) return literal(n, WeakScalar::of(true));
      return type.dtype == DType::Int64 ? literal(n, WeakScalar::of(int64_t{1}))
                                        : literal(n, WeakScalar::of(0.5));
    };
    EXPECT_EQ(dtype_of(n, apply(n, Op::Add, {expr(row.a), expr(row.b)})),
              created_dtype(row.together));
  }
}

TEST(Promotion, LiteralsOfADtypeKeepIt) {
  const Array x = array(DType::Int8, {2}, {1, 2});
  const Array y = run("add", {x}, R"({"scalars": [null, {"dtype": "float64", "value": 0.1}]})");
  EXPECT_EQ(y.dtype, DType::Float64);
  EXPECT_EQ(values(y), (std::vector<double>{1.1, 2.1}));
  EXPECT_THROW(
      run("add", {f32({1}, {1})}, R"({"scalars": [null, {"dtype": "float64", "value": 0.1}]})"),
      Error);
  EXPECT_THROW(run("add", {x}, R"({"scalars": [null, {"dtype": "float65", "value": 0.1}]})"),
               Error);
  // Past int64 a number is a float.
  EXPECT_EQ(values(run("multiply", {f64({1}, {2})}, R"({"scalars": [null, 9223372036854775808]})")),
            (std::vector<double>{0x1p64}));
}

}  // namespace
}  // namespace adjit::testing
