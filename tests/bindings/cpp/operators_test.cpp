// tests/bindings/cpp/operators_test.cpp -- operators, numbers beside tensors, attributes, messages.
#include <numeric>

#include "tests/bindings/cpp/support.hpp"

namespace adjit_test {
namespace {

using adjit::Array;
using adjit::DType;
using adjit::Shape;
using adjit::Tensor;
using adjit::Trace;

/// The elements of f(x) for x = 1, 2, 3, 4 in shape (2, 2).
template <class T = float, class F>
std::vector<T> of_four(F&& f, DType dtype = DType::Float32) {
  const Trace t;
  const adjit::Computation c = t.finish({f(t.input("x", dtype, {2, 2}))});
  const Array floats = Array::of<float>({2, 2}, {1, 2, 3, 4});
  const Array ints = Array::of<int32_t>({2, 2}, {1, 2, 3, 4});
  const std::vector<Array> got = c.compile(context())(dtype == DType::Int32 ? ints : floats);
  const std::span<const T> elements = got[0].elements<T>();
  return {elements.begin(), elements.end()};
}

TEST(Operators, TakeNumbersOnEitherSide) {
  using V = std::vector<float>;
  EXPECT_EQ(of_four([](Tensor x) { return 10 - x; }), (V{9, 8, 7, 6}));
  EXPECT_EQ(of_four([](Tensor x) { return x / 2.0; }), (V{0.5, 1, 1.5, 2}));
  EXPECT_EQ(of_four([](Tensor x) { return -x + x * x - 1.f; }), (V{-1, 1, 5, 11}));
  EXPECT_EQ(of_four([](Tensor x) { return x % 3; }), (V{1, 2, 0, 1}));
  EXPECT_EQ(of_four([](Tensor x) { return maximum(x, 2.5); }), (V{2.5, 2.5, 3, 4}));
  EXPECT_EQ(of_four([](Tensor x) { return pow(2, x); }), (V{2, 4, 8, 16}));
  EXPECT_EQ(of_four([](Tensor x) { return where(x > 1 && !(x == 3), x, INFINITY); })[2], INFINITY);
  EXPECT_EQ(of_four([](Tensor x) { return where(x >= 2 || x < 0, 0.0, x); }), (V{1, 0, 0, 0}));
}

TEST(Operators, NumbersAreWeak) {
  EXPECT_EQ(of_four<int32_t>([](Tensor x) { return x * 3; }, DType::Int32),
            (std::vector<int32_t>{3, 6, 9, 12}));
  const Trace t;
  const Tensor half = t.input("h", DType::Float16, {2});
  EXPECT_EQ((half * 0.1).dtype(), DType::Float16);
  EXPECT_EQ((half * t.weak_input("s", DType::Float32)).dtype(), DType::Float16);
}

TEST(Operators, ByNameWithAttributes) {
  using V = std::vector<float>;
  EXPECT_EQ(of_four([](Tensor x) { return sum(x, Shape{0}); }), (V{4, 6}));
  EXPECT_EQ(of_four([](Tensor x) { return mean(x); }), (V{2.5}));
  EXPECT_EQ(of_four<int64_t>([](Tensor x) { return argmax(x, 1).astype(DType::Int64); }),
            (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(of_four([](Tensor x) { return x[-1]; }), (V{3, 4}));
  EXPECT_EQ(of_four([](Tensor x) { return strided_slice(x, {0, 1}, {2, 2}); }), (V{2, 4}));
  EXPECT_EQ(of_four([](Tensor x) { return adjit::concat({x[1], x[0]}); }), (V{3, 4, 1, 2}));
  EXPECT_EQ(of_four([](Tensor x) { return adjit::einsum("ij->j", {x}); }), (V{4, 6}));
  EXPECT_EQ(of_four([](Tensor x) { return adjit::apply("flip", {x}, {{"axis", 1}}); }),
            (V{2, 1, 4, 3}));
  EXPECT_EQ(of_four([](Tensor x) {
              return adjit::apply("nn.pad", {x}, {{"pad", {0, 0, 1, 0}}, {"value", 0.5}});
            })[1],
            0.5f);
  EXPECT_EQ(of_four([](Tensor x) { return adjit::apply_all("unstack", {x})[1]; }), (V{3, 4}));
  const Trace t;
  EXPECT_EQ(t.apply("zeros", {{"shape", {2, 7}}}).shape(), (Shape{2, 7}));
}

TEST(Operators, ConstantsAreCopied) {
  const Trace t;
  Tensor sum = t.input("x", DType::Float32, {2});
  {
    const std::vector<float> gone{10, 0, 20};
    sum = sum + t.constant(adjit::ConstView(gone, {2}, {2}));
  }
  const adjit::Computation f = t.finish({sum});
  EXPECT_EQ(f.compile(context())(Array::of<float>({2}, {1, 2}))[0].elements<float>()[1], 22);
}

TEST(Operators, MistakesNameTheLineAndTheOperation) {
  const Trace t("model");
  const Tensor a = t.input("a", DType::Float32, {2, 3}), b = t.input("b", DType::Float32, {4, 5});
  const std::string here = "operators_test.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_ERROR(matmul(a, b), adjit::ShapeError, here);
  const std::string there = "operators_test.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_ERROR(a + b, adjit::ShapeError, there);
  EXPECT_ERROR(a + b, adjit::ShapeError, "add");
  EXPECT_ERROR(reshape(a, {4}), adjit::Error, "(4,)");
  EXPECT_ERROR(adjit::apply("matmull", {a, b}), adjit::Error, "matmull");
  EXPECT_ERROR(adjit::apply("unstack", {a}), adjit::InvalidError, "apply_all");
  EXPECT_ERROR(adjit::apply("add", {1, 2}), adjit::InvalidError, "no operand");
  EXPECT_ERROR(a * std::numeric_limits<uint64_t>::max(), adjit::InvalidError, "64 bits");
}

TEST(Operators, StagesRememberTheLine) {
  const Trace t;
  const Tensor a = t.input("a", DType::Float32, {2, 3});
  const Tensor b = exp(a) + 1.0;
  const int line = __LINE__ - 1;
  const std::string stages = t.finish({b}).stages();
  EXPECT_NE(stages.find("operators_test.cpp:" + std::to_string(line)), std::string::npos) << stages;
}

TEST(Traces, KeepTheirTensorsApart) {
  const Trace one, two;
  const Tensor a = one.input("a", DType::Float32, {2}), b = two.input("b", DType::Float32, {2});
  EXPECT_ERROR(a + b, adjit::InvalidError, "different traces");
  EXPECT_ERROR(one.finish({b}), adjit::InvalidError, "another trace");
  const adjit::Computation f = one.finish({a});
  EXPECT_ERROR(a + a, adjit::InvalidError, "has ended");
  EXPECT_ERROR(one.finish({a}), adjit::InvalidError, "has ended");
}

TEST(Errors, FollowTheStatuses) {
  const Trace t;
  const Tensor i = t.input("i", DType::Int32, {2});
  const adjit::Computation f = t.finish({sum(i)});
  EXPECT_ERROR(f.gradient({0}), adjit::NotDifferentiableError, "int32");
  try {
    f.gradient({7});
    FAIL();
  } catch (const adjit::Error& error) {
    EXPECT_EQ(error.status(), ADJIT_INVALID);
  }
  for (int k = 1; k <= ADJIT_CANCELLED + 1; ++k) {
    const auto status = static_cast<adjit_status>(k);
    try {
      adjit::detail::raise(status, "m");
    } catch (const adjit::Error& error) {
      EXPECT_EQ(error.status(), status);
      EXPECT_STREQ(error.what(), "m");
    }
  }
}

TEST(AttributeValues, AreJson) {
  const auto json = [](const adjit::Attributes& a) { return a.json(); };
  EXPECT_EQ(json({}), "{}");
  EXPECT_EQ(json({{"a", 1}, {"b", true}, {"c", nullptr}}), R"({"a":1,"b":true,"c":null})");
  EXPECT_EQ(json({{"x", 1.0}, {"y", 1e-300}, {"z", -INFINITY}}),
            R"({"x":1.0,"y":1e-300,"z":"-inf"})");
  EXPECT_EQ(json({{"s", "a\"\\\n"}}), R"({"s":"a\"\\\u000a"})");
  EXPECT_EQ(json({{"d", DType::Float16}, {"l", {1, -2}}}), R"({"d":"float16","l":[1,-2]})");
  EXPECT_EQ(json({{"n", std::optional<int64_t>()}, {"m", std::optional<int64_t>(4)}}),
            R"({"n":null,"m":4})");
}

}  // namespace
}  // namespace adjit_test
