// tests/bindings/cpp/control_test.cpp -- calls, scans, loops, derivatives by hand, threads.
#include <thread>

#include "tests/bindings/cpp/support.hpp"

namespace adjit_test {
namespace {

using adjit::Array;
using adjit::Computation;
using adjit::DType;
using adjit::Tensor;
using adjit::Trace;

/// (h, x, w) -> (tanh(w h + x), h x): a step of a recurrence.
Computation step() {
  const Trace t("step");
  const Tensor h = t.input("h", DType::Float64, {3}), x = t.input("x", DType::Float64, {3});
  const Tensor w = t.input("w", DType::Float64, {3, 3});
  return t.finish({tanh(matmul(w, h) + x), h * x});
}

Computation recurrence(const adjit::ScanOptions& options) {
  const Trace t("recurrence");
  const Tensor h = t.input("h", DType::Float64, {3}), xs = t.input("xs", DType::Float64, {5, 3});
  const Tensor w = t.input("w", DType::Float64, {3, 3});
  const adjit::ScanResult result = scan(step(), {h}, {xs}, {w}, options);
  EXPECT_EQ(result.carries.size(), 1u);
  EXPECT_EQ(result.stacked.at(0).shape(), (adjit::Shape{5, 3}));
  return t.finish({sum(result.carries[0]) + sum(square(result.stacked[0]))});
}

TEST(Scans, HaveAGradient) {
  const std::vector<std::vector<double>> at{random_numbers(3, 1), random_numbers(15, 2),
                                            random_numbers(9, 3)};
  expect_slopes(recurrence({}), at);
  expect_slopes(recurrence({.reverse = true}), at);
  expect_slopes(recurrence({.segment = 2}), at);
}

TEST(Scans, SayWhatDoesNotFit) {
  const Trace t;
  const Tensor h = t.input("h", DType::Float64, {3}), w = t.input("w", DType::Float64, {3, 3});
  EXPECT_ERROR(scan(step(), {h}, {t.input("xs", DType::Float64, {5, 4})}, {w}), adjit::ShapeError,
               "control_test.cpp");
  EXPECT_ERROR(scan(step(), {h}, {}, {w}), adjit::ShapeError, "steps");
  EXPECT_ERROR(scan(step(), {}, {}, {}, {.steps = 2}), adjit::InvalidError, "scan");
}

TEST(Loops, RunWhileTheLastCarryIsTrue) {
  const Trace body("collatz");
  const Tensor n = body.input("n", DType::Int64, {}), k = body.input("k", DType::Int64, {});
  body.input("go", DType::Bool, {});
  const Tensor next =
      where(n % 2 == 0, floor(n.astype(DType::Float64) / 2).astype(DType::Int64), 3 * n + 1);
  const Computation once = body.finish({next, k + 1, next != 1});
  const Trace t;
  const Tensor from = t.input("n", DType::Int64, {});
  const Tensor zero = t.apply("zeros", {{"shape", adjit::Shape()}, {"dtype", DType::Int64}});
  const Computation f = t.finish({while_loop(once, {from, zero, from != 1})[1]});
  EXPECT_EQ(f.compile(context())(Array::of<int64_t>({}, {27}))[0].item<int64_t>(), 111);
}

TEST(Calls, InlineAndCheckpointAgree) {
  const auto total = [](bool recompute) {
    const Trace t;
    const Tensor h = t.input("h", DType::Float64, {3}), x = t.input("x", DType::Float64, {3});
    const Tensor w = t.input("w", DType::Float64, {3, 3});
    const std::vector<Tensor> once =
        recompute ? checkpoint(step(), {h, x, w}) : call(step(), {h, x, w});
    return t.finish({sum(once[0] * once[1])});
  };
  const std::vector<std::vector<double>> at{random_numbers(3, 4), random_numbers(3, 5),
                                            random_numbers(9, 6)};
  expect_slopes(total(false), at);
  expect_slopes(total(true), at);
}

TEST(Calls, AGradientByHandIsTaken) {
  const Trace primal("f"), forward("forward"), backward("backward");
  const Tensor x = primal.input("x", DType::Float64, {2});
  const Computation f = primal.finish({x * x});
  const Tensor x2 = forward.input("x", DType::Float64, {2});
  const Computation fwd = forward.finish({x2 * x2, x2});
  const Tensor kept = backward.input("x", DType::Float64, {2});
  const Tensor cotangent = backward.input("v", DType::Float64, {2});
  const Computation bwd = backward.finish({100.0 * kept * cotangent});
  const Trace t;
  const Tensor y = t.input("x", DType::Float64, {2});
  const Computation slope = t.finish({sum(custom_vjp(f, fwd, bwd, {y})[0])}).gradient({0}, 0, true);
  const auto got = slope.compile(context())(Array::of<double>({2}, {1, 2}));
  EXPECT_EQ(got[0].item<double>(), 5);
  EXPECT_EQ(got[1].elements<double>()[1], 200);
}

TEST(Threads, TraceCompileAndRunAtOnce) {
  const Computation shared = recurrence({});
  const adjit::Executable ready = shared.gradient({2}).compile(context());
  const std::vector<double> h = random_numbers(3, 1), xs = random_numbers(15, 2),
                            w = random_numbers(9, 3);
  const std::vector<adjit::ConstView> in{{h, {3}}, {xs, {5, 3}}, {w, {3, 3}}};
  const std::vector<Array> wanted = ready.call(in);
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (size_t k = 0; k < right.size(); ++k)
    threads.emplace_back([&, k] {
      // Its own trace and error message, the shared computation, context and executable.
      const Trace t("thread" + std::to_string(k));
      const Tensor x = t.input("x", DType::Float32, {static_cast<int64_t>(k) + 2});
      const auto own = t.finish({sum(x * x)}).gradient({0}).compile(context());
      std::vector<float> ones(k + 2, 1.F);
      right[k] +=
          own(adjit::ConstView(ones, {static_cast<int64_t>(k) + 2}))[0].elements<float>()[k] == 2;
      const auto again = shared.gradient({2}).compile(context()).call(in);
      const auto same = ready.call(in);
      right[k] += std::ranges::equal(again[0].elements<double>(), wanted[0].elements<double>());
      right[k] += std::ranges::equal(same[0].elements<double>(), wanted[0].elements<double>());
      try {
        adjit::TextModule("def thread" + std::to_string(k) + "(", "t" + std::to_string(k));
      } catch (const adjit::ParseError& error) {
        right[k] += std::string(error.what()).find("t" + std::to_string(k)) != std::string::npos;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(8, 4));
}

}  // namespace
}  // namespace adjit_test
