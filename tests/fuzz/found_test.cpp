// tests/fuzz/found_test.cpp -- programs that the fuzzer found wrong, and what it must find.
#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/fuzz/check.hpp"
#include "tests/fuzz/shrink.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Values = std::vector<double>;

// Value and derivatives of the program, by two of the engines.
void expect_right(const char* text, std::vector<Array> inputs, uint64_t seed) {
  FuzzEngines engines;
  FuzzCounts counts;
  const FuzzProgram program{parse_graph(text), std::move(inputs)};
  for (const uint64_t turn : {seed, seed + 1, seed + 4})
    EXPECT_EQ(check_program(program, turn, engines, counts), "");
}

Array counted(DType dtype, std::vector<int64_t> shape, double step) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (int64_t k = 0; k < array.element_count(); ++k)
    array.set(k,
              is_float(dtype) ? 0.3 + step * static_cast<double>(k) : static_cast<double>(k % 3));
  return array;
}

// A scatter into nothing, whatever brings its index into range, has a gradient of 0.
TEST(Found, ScatterIntoNothing) {
  for (const char* mode : {"clip", "wrap"})
    expect_right((std::string(R"(
def program(double(7) x, double(0) start) -> (s, y) {
  scatter double(0) s(i - 2) +=[)") +
                  mode +
                  R"(] x(i) * x(i) from start where i in 0:7
  y(i) = x(i) * x(i) where i in 0:7
}
)")
                     .c_str(),
                 {counted(DType::Float64, {7}, 0.2), Array::zeros(DType::Float64, {0})}, 1);
}

// The points read what the scatter starts from: after the first write it would be another value.
TEST(Found, ScatterReadsItsStart) {
  expect_right(R"(
def program(double(4) x, int64(6) k) -> (s) {
  y(i) = sin(x(i)) where i in 0:4
  scatter double(4) s(k(i)) +=[clip] y(3 - i % 4) * y(k(i)) from y where i in 0:6
}
)",
               {counted(DType::Float64, {4}, 0.4), counted(DType::Int64, {6}, 1)}, 2);
}

// Rows of length 0: the condition that hides them is asked inside what is derived again.
TEST(Found, CurvatureOfLengthsOfNothing) {
  expect_right(R"(
def program(int64 x4, double(5, 5) sinh_33) -> (y_sum) {
  scatter double(5, 5) s_8(3, (i - 4) // 2 % 5) +=[wrap] hypot(sinh_33(j % 5, (i * 2 - 2) % 5), sinh_33((i - 1) % 5, x4() % 5))
    from sinh_33
    where i in 0:3, j in 0:6
  y_sum(i) +=! s_8(min(max(abs(abs(x4()) * -1 + 4) * -1 + 4, 0), 4), min(max(abs(abs(r_k) * -1 + 4) * -1 + 4, 0), 4))
    where i in 0:4, r_j in 0:8, r_k in 0:2
}
)",
               {Array::of(DType::Int64, {}, Values{4}), Array::of(DType::Float64, {5, 5},
                                                                  Values{1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         1.0783614033533047,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0,
                                                                         0})},
               300745);
}

// No cotangent reaches the while loop, whose steps depend on data: only the forward as it is
// written shows it, where the mask of a concat leaves out its one element.
TEST(Found, Seed4032800) {
  expect_right(R"(
def program(double(7) x2, bool on, int64 n) -> (add_76) {
  scan (a_9, n_10, on_11) = program[while](carry double(7) x0 = x2, carry int64 x1 = n, carry bool x2 = on, fixed int64 x3 = n) -> (a, n, on) {
    y(i, j) = x0(x1() % 7) * x0(max(min(i * 3 + 3, 6), 0)) where i in 0:5, j in 0:4
    s_sum(i) +=![first] y(max(min(r_j + 2, 4), 0), i) * -1.25 where i in 0:4, r_j in 0:3, r_k in 0:1
    scatter double(5, 4) s(select(0 <= i && i < 5, i, 4), (i * 2 + 2) // 2) +=[clip] sin(s_sum(i))
      from y
      where i in 0:4
    a(i) = -1.5 + 3.0 * sigmoid(s((i * 2 - 2) % 5, select(0 <= i && i < 4, i, 3))) where i in 0:7
    n() = x1() + 1
    on() = n() < 1
  }
  a_20(i, j) = a_9(i // 2 % 7) where i in 0:7, j in 0:5
  concat(i, j) = a_20(i - 7, j where 7 <= i && i < 14) where i in 0:19, j in 0:5
  a_26(i) = concat(i * 2, min(max(i - 3, 0), 4)) where i in 0:1
  a_27(i, j) = a_26(select(0 <= i + j - 3 && i + j - 3 < 1, i + j - 3, 0)) where i in 0:2, j in 0:7
  a_28(i, j) = a_27(i, 3) where i in 0:2, j in 0:4
  reshape() = a_26(0)
  nn_prelu(i, j, k) = reshape() where i in 0:3, j in 0:1, k in 0:3
  y_3() = nn_prelu(0, 0, 1)
  a_49(i, j, k) = y_3() where i in 0:2, j in 0:3, k in 0:2
  log_softmax_20(i, j, k) = a_49(i, j, k) where i in 0:2, j in 0:3, k in 0:2
  nn_cross_entropy_22(i, j) +=! log_softmax_20(i, r_k, j) where i in 0:2, j in 0:2, r_k in 0:3
  counted_23(i, j) = nn_cross_entropy_22(i, j) where i in 0:2, j in 0:2
  sum_25() +=! counted_23(r_i, r_j) where r_i in 0:2, r_j in 0:2
  mean() = sum_25()
  sum() +=! a_28(r_i, r_j) where r_i in 0:2, r_j in 0:4
  add_64() = sum()
  add_66() = add_64()
  add_68() = add_66()
  add_70() = add_68()
  add_72() = add_70()
  add_74() = add_72()
  sum_75() = mean()
  add_76() = add_74() + sum_75()
}
)",
               {Array::of(*dtype_from_name("float64"), {7},
                          Values{1.8034234329495606, 0.3295713088060057, -1.9166330384166823,
                                 -1.0816854089456416, 0.6147752877046777, 1.0143592913697477,
                                 0.046577053633933385}),
                Array::of(*dtype_from_name("bool"), {}, Values{1}),
                Array::of(*dtype_from_name("int64"), {}, Values{0})},
               4032800);
}

// An error of the check is told from a difference, and both are found.
// Of numbers that leave int64 only at the end of the box: no pass may refuse what it cannot prove.
TEST(Found, Seed8523035) {
  expect_right(R"(
def program(double(7, 3) a_22) -> (sum_58) {
  a_45(i, j) =
      let t0 = j * -4611686018427387903 - 2;
      a_22(t0, j where 0 <= t0 && t0 < 7)
    where i in 0:7, j in 0:3
  sum_58() +=! a_45(r_i, r_j) where r_i in 0:7, r_j in 0:3
}
)",
               {Array::zeros(DType::Float64, {7, 3})}, 8523035);
}

TEST(Check, FindsWhatIsWrong) {
  FuzzEngines engines;
  FuzzCounts counts;
  // The gradient by hand is none: twice what it should be.
  const char* wrong = R"(
def program(double(3) x) -> (y) {
  call (y) = doubled[custom](double(3) a = x) -> (b) {
    b(i) = a(i) * a(i) where i in 0:3
  } forward (double(3) a) -> (b, a) {
    b(i) = a(i) * a(i) where i in 0:3
  } backward (double(3) a, double(3) g) -> (h) {
    h(i) = a(i) * g(i) * 4.0 where i in 0:3
  }
}
)";
  const std::string failure =
      check_program({parse_graph(wrong), {counted(DType::Float64, {3}, 1)}}, 0, engines, counts);
  EXPECT_TRUE(failure.starts_with("gradient by differences")) << failure;
}

// A reduction's bound was a quotient of 2^62.
TEST(Found, Seed8522184) {
  expect_right(R"(
def program(int64 x2, int64(2, 1) a_9_batched, double(1, 1, 3) a_4) -> (s_max) {
  s_max(i) max=!
      let t0 = i == r_j * -4611686018427387908;
      let t1 = a_9_batched(i * 2 % 2, i where 0 <= i && i < 1 && t0);
      a_4(select(0 <= t1 && t1 < 1, t1, 0), 0, select(0 <= x2() && x2() < 3, x2(), 0) where t0)
    where i in 0:5, r_j in 0:2
}
)",
               {Array::of(*dtype_from_name("int64"), {}, Values{4}),
                Array::of(*dtype_from_name("int64"), {2, 1}, Values{0, 0}),
                Array::of(*dtype_from_name("float64"), {1, 1, 3},
                          Values{-0.24569486743666058, -0.24569486743666058, -1.9025297488929764})},
               8522184);
}

// Numbers near the ends of int64 in the conditions that bring an index into range.
TEST(Found, ConditionsNearTheEndsOfIntegers) {
  expect_right(R"(
def program(double(5) x) -> (y) {
  z(i, j, k) = x(max(min(i * 4611686018427387903 + k + 3, 4), 0)) where i in 0:2, j in 0:6, k in 0:3
  y(i, j, k) +=! z(j, r, k) where i in 0:2, j in 0:2, k in 0:3, r in 0:6
}
)",
               {counted(DType::Float64, {5}, 0.3)}, 9501937);
}

TEST(Found, QuotientsByTheLargestInteger) {
  expect_right(R"(
def program(double(3, 4) x) -> (y) {
  y(i, j) +=! let t = (j * 2 - i) // 9223372036854775807; x(i, t where 0 <= t && t < 4) where i in 0:2, j in 0:65, r in 0:5
}
)",
               {counted(DType::Float64, {3, 4}, 0.3)}, 9546649);
}

// A fibre whose conditions have more than 64 bits: the gradient scatters.
TEST(Found, Seed11030144) {
  expect_right(R"(
def program(double(5, 6, 8) x1, double(1, 2, 1) mean, double(3, 5) s_25) -> (squares) {
  scatter double(5, 6, 8) s_27(select(0 <= j - 1 && j - 1 < 5, j - 1, 4), min(max(j * -1 + 1, 0), 5), i % 8) +=[drop]
      let t0 = i + j * 3074457345618258604 - 3074457345618258604;
      s_25(select(0 <= t0 && t0 < 3, t0, 0), select(0 <= i * -2 // 2 && i * -2 // 2 < 5, i * -2 // 2, 0))
    from x1
    where i in 0:7, j in 0:2
  a_28(i, j, k) = s_27(min(max(i, 0), 4), (i * -1 + j) % 2, 5) where i in 0:5, j in 0:2, k in 0:2
  squares(i, j, k) +=!
      let t0 = a_28(r_l, j, r_m) - mean(0, j, 0);
      t0 * t0
    where i in 0:1, j in 0:2, k in 0:1, r_l in 0:5, r_m in 0:2
}
)",
               {counted(DType::Float64, {5, 6, 8}, 0.1), counted(DType::Float64, {1, 2, 1}, 0.4),
                counted(DType::Float64, {3, 5}, 0.2)},
               11030144);
}

// A writer's number that is read to know a summation axis, where only that axis's rows keep the
// read in range.
TEST(Found, Seed20261128009471) {
  expect_right(R"(
def program(double(1, 1, 3) slice_7) -> (where_) {
  call (where_) = program[recompute](double(1, 1, 3) x0 = slice_7) -> (where_) {
    a() = 0.25 < x0(0, 0, 0)
    y(i, j, k) = atan(min(-1.25, x0(k, k, j + i - 1 where 0 <= j + i - 1 && j + i - 1 < 3)))
      where i in 0:7, j in 0:4, k in 0:1
    diagonal(i, j) = y(j, j + 1, i) where i in 0:1, j in 0:3
    scatter double(1, 1, 3) s(j - i + 1, 0, min(max(abs(abs(i - 3) * -1 + 2) * -1 + 2, 0), 2)) =[clip] (x0(min(max(j - 2, 0), 0), 0, max(min(i, 2), 0)) + diagonal(min(max(j * -1 + i, 0), 0), min(max(j * -1 + i - 1, 0), 2))) * select(i != j, diagonal(0, max(min(i, 2), 0)), x0(max(min(j * -1, 0), 0), 0, min(max(i, 0), 2)))
      from x0
      where i in 0:5, j in 0:7
    lgamma_(i, j, k) = lgamma(s(0, 0, k)) where i in 0:1, j in 0:1, k in 0:3
    a_6(i) = -1.5 + 3.0 * sigmoid(lgamma_(0, 0, i % 3)) where i in 0:8
    a_6_7(i) = -1.5 + 3.0 * sigmoid(x0(0, 0, i % 3)) where i in 0:8
    where_(i) = select(a(), a_6(i), a_6_7(i)) where i in 0:8
  }
}
)",
               {Array::of(*dtype_from_name("float64"), {1, 1, 3},
                          Values{-1.2639727815609145, -1.2639727815609145, -1.2639727815609145})},
               20261128009471);
}

}  // namespace
}  // namespace adjit::testing
