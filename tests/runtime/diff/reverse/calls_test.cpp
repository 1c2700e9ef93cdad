// tests/runtime/diff/reverse/calls_test.cpp -- calls of sub-graphs: gradients by hand,
// recomputation, and loops as long as a condition holds.
#include "runtime/diff/reverse/calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/diff/batch/batch.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/partition/partition.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

// y = sin(x) * w with the true gradient by hand, or with one that is FACTOR times as large.
const char* const kCustom =
    "def f(double(3) x, double(3) w) -> (z) {\n"
    "  s(i) = x(i) * x(i)\n"
    "  call (y) = g[custom](double(3) a = s, double(3) b = w) -> (o) {\n"
    "    o(i) = sin(a(i)) * b(i)\n"
    "  } forward (double(3) a, double(3) b) -> (o, a, c) {\n"
    "    c(i) = sin(a(i))\n"
    "    o(i) = c(i) * b(i)\n"
    "  } backward (double(3) a, double(3) c, double(3) d) -> (da, db) {\n"
    "    da(i) = FACTOR * d(i) * cos(a(i))\n"
    "    db(i) = FACTOR * d(i) * c(i)\n"
    "  }\n"
    "  z(i) = y(i) * x(i)\n"
    "}\n";

// The gradient with respect to a lacks the factor b: by hand it may be anything.
Graph custom(const std::string& factor) {
  std::string text = kCustom;
  for (size_t at = text.find("FACTOR"); at != std::string::npos; at = text.find("FACTOR", at))
    text.replace(at, 6, factor);
  Graph graph = parse_graph(text);
  verify(graph);
  return graph;
}

Graph vjp_of(const Graph& forward, std::vector<size_t> wrt, bool keep = false) {
  ReverseOptions options;
  options.wrt = std::move(wrt);
  options.outputs = {0};
  options.keep_outputs = keep;
  Graph graph = vjp(forward, options);
  verify(graph);
  return graph;
}

const double kSeed[] = {1, -2, 3};

std::vector<Array> with_seed(const Graph& forward) {
  std::vector<Array> inputs = random_inputs(forward);
  inputs.push_back(Array::of(DType::Float64, {3}, kSeed));
  return inputs;
}

size_t count(const Graph& graph, StageKind kind) {
  return static_cast<size_t>(std::ranges::count(graph.stages, kind, &Stage::kind));
}

TEST(CustomCall, GradientIsTheOneByHand) {
  const Graph forward = custom("3");
  const std::vector<Array> inputs = with_seed(forward);
  const std::vector<Array> found = interpret(vjp_of(forward, {0, 1}), inputs);
  for (int64_t k = 0; k < 3; ++k) {
    const double x = inputs[0].at(k), w = inputs[1].at(k), d = kSeed[k];
    const double dx = d * std::sin(x * x) * w + 3 * d * x * std::cos(x * x) * 2 * x;
    EXPECT_NEAR(found[0].at(k), dx, 1e-12);
    EXPECT_NEAR(found[1].at(k), 3 * d * x * std::sin(x * x), 1e-12);
  }
}

TEST(CustomCall, SecondDerivativesDifferentiateTheBackward) {
  // d/dw of the gradient with respect to w is 0 by hand: c does not depend on b.
  const Graph second = vjp_of(vjp_of(custom("3"), {1}), {0, 1});
  std::vector<Array> inputs = with_seed(custom("3"));
  inputs.push_back(Array::of(DType::Float64, {3}, std::vector<double>{1, 1, 1}));
  const std::vector<Array> found = interpret(second, inputs);
  for (int64_t k = 0; k < 3; ++k) {
    const double x = inputs[0].at(k), d = kSeed[k];
    const double wanted = 3 * d * (std::sin(x * x) + x * std::cos(x * x) * 2 * x);
    EXPECT_NEAR(found[0].at(k), wanted, 1e-12);
    EXPECT_EQ(found[1].at(k), 0);
  }
}

TEST(CustomCall, CostsNothingWhereNothingIsDifferentiated) {
  const Graph forward = custom("3");
  const Graph plain = parse_graph(
      "def f(double(3) x, double(3) w) -> (z) {\n"
      "  s(i) = x(i) * x(i)\n"
      "  o(i) = sin(s(i)) * w(i)\n"
      "  z(i) = o(i) * x(i)\n"
      "}\n");
  EXPECT_EQ(content_hash(simplify(expand_calls(forward))), content_hash(simplify(plain)));
}

TEST(CustomCall, SurvivesOtherDerivatives) {
  // The first derivative does not pass through the call: the second one still finds it.
  const Graph first = vjp_of(parse_graph("def f(double(3) x, double(3) w) -> (z) {\n"
                                         "  call (y) = g[custom](double(3) a = w) -> (o) {\n"
                                         "    o(i) = sin(a(i))\n"
                                         "  } forward (double(3) a) -> (o) {\n"
                                         "    o(i) = sin(a(i))\n"
                                         "  } backward (double(3) d) -> (e) {\n"
                                         "    e(i) = 7 * d(i)\n"
                                         "  }\n"
                                         "  z(i) = y(i) * x(i)\n"
                                         "}\n"),
                             {0});
  EXPECT_EQ(count(first, StageKind::Call), 1u) << print(first);
  const Graph second = vjp_of(first, {1});
  std::vector<Array> inputs = with_seed(parse_graph(print(first)));
  const std::vector<Array> found = interpret(second, inputs);
  for (int64_t k = 0; k < 3; ++k)
    EXPECT_NEAR(found[0].at(k), 7 * inputs[2].at(k) * kSeed[k], 1e-12);
}

TEST(CustomCall, InAScanAndCutInHalves) {
  const Graph forward = parse_graph(
      "def f(double(3) x, double(5, 3) xs) -> (z) {\n"
      "  scan (z) = step[5](carry double(3) h = x, over double(3) v = xs) -> (n) {\n"
      "    call (y) = g[custom](double(3) a = h) -> (o) {\n"
      "      o(i) = sin(a(i))\n"
      "    } forward (double(3) a) -> (o, a) {\n"
      "      o(i) = sin(a(i))\n"
      "    } backward (double(3) a, double(3) d) -> (e) {\n"
      "      e(i) = cos(a(i)) * d(i)\n"
      "    }\n"
      "    n(i) = y(i) * v(i)\n"
      "  }\n}\n");
  EXPECT_TRUE(check_gradients(forward, 2));
  const Graph joint = vjp_of(forward, {0, 1}, true);
  const Partition cut = partition(joint, 2, 1, -1);
  verify(cut.forward);
  verify(cut.backward);
  const std::vector<Array> inputs = with_seed(forward);
  const std::vector<Array> wanted = interpret(joint, inputs);
  std::vector<Array> kept = interpret(cut.forward, std::span(inputs).first(2));
  EXPECT_EQ(kept[0].bytes, wanted[0].bytes);
  kept.erase(kept.begin());
  kept.push_back(inputs[2]);
  const std::vector<Array> found = interpret(cut.backward, kept);
  EXPECT_EQ(found[0].bytes, wanted[1].bytes);
  EXPECT_EQ(found[1].bytes, wanted[2].bytes);
}

TEST(CustomCall, RefusesGradientsOfWhatItClosesOver) {
  const Graph forward = parse_graph(
      "def f(double(3) x, double(3) w) -> (y) {\n"
      "  call (y) = g[custom](double(3) a = x, closed double(3) b = w) -> (o) {\n"
      "    o(i) = a(i) * b(i)\n"
      "  } forward (double(3) a, double(3) b) -> (o, b) {\n"
      "    o(i) = a(i) * b(i)\n"
      "  } backward (double(3) b, double(3) d) -> (e) {\n"
      "    e(i) = d(i) * b(i)\n"
      "  }\n}\n");
  verify(forward);
  EXPECT_NO_THROW(vjp_of(forward, {0}));
  try {
    vjp_of(forward, {1});
    FAIL() << "a gradient was dropped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(error.what()).find("'w'"), std::string::npos) << error.what();
  }
}

TEST(CustomCall, ThatDoesNotFitIsRefused) {
  Graph graph = custom("1");
  const auto call = std::ranges::find(graph.stages, StageKind::Call, &Stage::kind);
  Call other = *call->call;
  Graph backward = *other.backward;
  backward.outputs.pop_back();
  other.backward = std::make_shared<const Graph>(backward);
  call->call = std::make_shared<const Call>(other);
  EXPECT_THROW(verify(graph), Error);
}

// Two costly steps in a call to recompute, as in a block of layers.
const char* const kRecompute =
    "def f(double(3) x, double(3, 3) w) -> (z) {\n"
    "  call (y) = block[recompute](double(3) a = x, double(3, 3) v = w) -> (p) {\n"
    "    m(i) +=! v(i, k) * a(k)\n"
    "    n(i) = tanh(m(i))\n"
    "    o(i) +=! v(k, i) * n(k)\n"
    "    p(i) = sin(o(i))\n"
    "  }\n"
    "  z(i) = y(i) * y(i)\n"
    "}\n";

TEST(RecomputedCall, AgreesWithDifferences) {
  EXPECT_TRUE(check_gradients(parse_graph(kRecompute), 2));
}

size_t sums(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(
      graph.stages, [](const Stage& s) { return s.combiner.kind == CombinerKind::Sum; }));
}

TEST(RecomputedCall, KeepsNoIntermediates) {
  const Graph recompute = parse_graph(kRecompute);
  const Graph joint = vjp_of(recompute, {0, 1}, true);
  const Partition kept = partition(joint, 2, 1, -1);
  // Only y passes between the halves, beside the primals.
  EXPECT_EQ(kept.residual_bytes, 3 * 8) << print(kept.forward);
  // Merging what is equal does not undo it: the sums of the block are computed twice.
  const Graph once = vjp_of(expand_calls(recompute), {0, 1}, true);
  EXPECT_EQ(sums(once), 4u) << print(once);
  const Graph twice = simplify(expand_calls(joint));
  EXPECT_EQ(sums(twice), 6u) << print(twice);
  const Graph again = parse_graph(print(twice));
  EXPECT_EQ(content_hash(again), content_hash(twice));
  EXPECT_EQ(sums(simplify(again)), 6u);
}

TEST(RecomputedCall, Nests) {
  const Graph forward = parse_graph(
      "def f(double(3) x) -> (z) {\n"
      "  call (z) = outer[recompute](double(3) a = x) -> (q) {\n"
      "    p(i) = exp(a(i))\n"
      "    call (q) = inner[recompute](double(3) b = p) -> (s) {\n"
      "      r(i) = sin(b(i))\n"
      "      s(i) = r(i) * r(i)\n"
      "    }\n"
      "  }\n"
      "}\n");
  EXPECT_TRUE(check_gradients(forward, 2));
  const Graph g = simplify(expand_calls(vjp_of(forward, {0})));
  EXPECT_EQ(count(g, StageKind::Call), 0u);
}

TEST(RecomputedCall, ForwardModeKeepsIt) {
  const Graph forward = parse_graph(kRecompute);
  const Graph tangent = jvp(forward, {.wrt = {0, 1}});
  verify(tangent);
  EXPECT_EQ(count(tangent, StageKind::Call), 1u) << print(tangent);
  // <cotangent, jvp(tangents)> = <vjp(cotangent), tangents>
  const std::vector<Array> inputs = random_inputs(tangent);
  const Array pushed = interpret(tangent, inputs)[0];
  const std::vector<Array> pulled = interpret(vjp_of(forward, {0, 1}), with_seed(forward));
  double left = 0, right = 0;
  for (int64_t k = 0; k < 3; ++k) left += kSeed[k] * pushed.at(k);
  for (size_t n = 0; n < 2; ++n)
    for (int64_t e = 0; e < pulled[n].element_count(); ++e)
      right += pulled[n].at(e) * inputs[2 + n].at(e);
  EXPECT_NEAR(left, right, 1e-12);
  EXPECT_TRUE(check_gradients(tangent, 1));
}

TEST(CustomCall, HasNoForwardMode) {
  EXPECT_THROW((void)jvp(custom("3"), {.wrt = {0}}), Error);
  EXPECT_NO_THROW(verify(jvp(vjp_of(custom("3"), {0, 1}), {.wrt = {0}})))
      << "after reverse mode nothing of it is left";
}

// A gradient by hand whose result z weighs without a cotangent for it, in every place where a call
// may stand.
const char* const kWithoutCotangent[] = {
    "def f(double(3) x, double(3) w) -> (z) {\n"
    "  call (y) = g[custom](double(3) a = x) -> (o) { G }\n"
    "  z(i) = w(i) * x(i) * x(i) * floor(4 * y(i))\n"
    "}\n",
    "def f(double(3) x, double(3) w) -> (z) {\n"
    "  call (y) = h[recompute](double(3) b = x) -> (p) {\n"
    "    call (q) = g[custom](double(3) a = b) -> (o) { G }\n"
    "    p(i) = q(i) * b(i)\n"
    "  }\n"
    "  z(i) = w(i) * x(i) * y(i)\n"
    "}\n",
    "def f(double(3) x, double(3) w) -> (z) {\n"
    "  scan (y) = h[2](carry double(3) b = w, fixed double(3) c = x) -> (p) {\n"
    "    call (q) = g[custom](double(3) a = b) -> (o) { G }\n"
    "    p(i) = q(i) * c(i)\n"
    "  }\n"
    "  z(i) = w(i) * x(i) * x(i) * floor(4 * y(i))\n"
    "}\n"};

Graph with_g(std::string text, const std::string& g) {
  text.replace(text.find("{ G }"), 5, g);
  Graph graph = parse_graph(text);
  verify(graph);
  return graph;
}

TEST(CustomCall, RunsItsForwardAfterReverseModeWithoutCotangents) {
  const std::string by_hand =
      "{\n o(i) = sin(a(i))\n } forward (double(3) a) -> (o, a) {\n o(i) = sin(a(i))\n }\n"
      "backward (double(3) a, double(3) d) -> (da) {\n da(i) = d(i) * cos(a(i))\n }";
  for (const char* text : kWithoutCotangent) {
    const Graph tangent = jvp(vjp_of(with_g(text, by_hand), {0, 1}), {.wrt = {0, 1}});
    verify(tangent);
    std::string derived = text;
    derived.replace(derived.find("[custom]"), 8, "[recompute]");
    const Graph plain =
        jvp(vjp_of(with_g(derived, "{\n o(i) = sin(a(i))\n }"), {0, 1}), {.wrt = {0, 1}});
    EXPECT_TRUE(same_values(plain, tangent, random_inputs(plain)));
  }
}

TEST(CustomCall, KeepsItsGradientWhereReverseModeDoesNotReachIt) {
  // Forward mode of the function itself is refused, whatever another gradient was taken of.
  const Graph first = vjp_of(
      with_g(kWithoutCotangent[0],
             "{\n o(i) = sin(a(i))\n } forward (double(3) a) -> (o, a) {\n o(i) = sin(a(i))\n }\n"
             "backward (double(3) a, double(3) d) -> (da) {\n da(i) = d(i) * cos(a(i))\n }"),
      {1});
  EXPECT_EQ(count(first, StageKind::Call), 1u) << print(first);
  EXPECT_THROW((void)jvp(first, {.wrt = {0}}), Error);
  EXPECT_NO_THROW(verify(jvp(first, {.wrt = {1}})));
}

// Element b of a batch of two, where the input has one.
std::vector<Array> element(const std::vector<Array>& batch, const std::vector<BatchAxis>& axes,
                           int64_t b) {
  std::vector<Array> result;
  for (size_t k = 0; k < batch.size(); ++k) {
    if (!axes[k]) {
      result.push_back(batch[k]);
      continue;
    }
    Array one = Array::zeros(batch[k].dtype, {batch[k].shape.begin() + 1, batch[k].shape.end()});
    for (int64_t e = 0; e < one.element_count(); ++e)
      one.set(e, batch[k].at(b * one.element_count() + e));
    result.push_back(one);
  }
  return result;
}

TEST(Calls, AreBatchedAndStayCalls) {
  for (const Graph& forward : {custom("3"), parse_graph(kRecompute)}) {
    for (const std::vector<BatchAxis>& in : std::vector<std::vector<BatchAxis>>{
             {BatchAxis(0), BatchAxis(0)}, {BatchAxis(0), BatchAxis()}}) {
      const BatchAxis out[] = {BatchAxis(0)};
      const Graph batched = vmap(forward, in, 2, out);
      verify(batched);
      EXPECT_EQ(count(batched, StageKind::Call), 1u);
      std::vector<Array> inputs = random_inputs(batched);
      inputs.push_back(Array::of(DType::Float64, {2, 3}, std::vector<double>{1, -2, 3, 4, 5, -6}));
      std::vector<BatchAxis> axes(in);
      axes.push_back(BatchAxis(0));
      const std::vector<Array> found = interpret(vjp_of(batched, {0, 1}), inputs);
      std::vector<double> second(static_cast<size_t>(found[1].element_count()), 0);
      for (int64_t b = 0; b < 2; ++b) {
        const std::vector<Array> one = interpret(vjp_of(forward, {0, 1}), element(inputs, axes, b));
        for (int64_t e = 0; e < 3; ++e) EXPECT_NEAR(found[0].at(3 * b + e), one[0].at(e), 1e-12);
        // The gradient of what all elements share is the sum over the batch.
        const int64_t size = one[1].element_count();
        for (int64_t e = 0; e < size; ++e)
          second[static_cast<size_t>(in[1] ? b * size + e : e)] += one[1].at(e);
      }
      for (size_t e = 0; e < second.size(); ++e)
        EXPECT_NEAR(found[1].at(static_cast<int64_t>(e)), second[e], 1e-12);
    }
  }
}

TEST(CallsText, PrintsAndParses) {
  for (const Graph& graph : {custom("3"), parse_graph(kRecompute)}) {
    const Graph again = parse_graph(print(graph));
    EXPECT_EQ(print(again), print(graph));
    EXPECT_EQ(content_hash(again), content_hash(graph));
    EXPECT_EQ(content_hash(compact(again)), content_hash(graph));
  }
  EXPECT_NE(content_hash(custom("3")), content_hash(custom("4")));
}

// Halves x until its sum is below a bound.
const char* const kWhile =
    "def f(double(3) x, double bound) -> (y, n) {\n"
    "  s0() +=! x(i)\n"
    "  g0() = s0() > bound()\n"
    "  c0() = 0\n"
    "  scan (y, n, g) = halve[while](carry double(3) a = x, carry int64 c = c0, carry bool go = "
    "g0, fixed double b = bound) -> (h, c1, more) {\n"
    "    h(i) = a(i) * 0.5\n"
    "    c1() = c() + 1\n"
    "    s() +=! h(i)\n"
    "    more() = s() > b()\n"
    "  }\n"
    "}\n";

TEST(WhileLoop, RunsAsLongAsItsConditionHolds) {
  const Graph graph = parse_graph(kWhile);
  verify(graph);
  const std::vector<Array> inputs{Array::of(DType::Float64, {3}, std::vector<double>{8, 4, 4}),
                                  Array::of(DType::Float64, {}, std::vector<double>{1.5})};
  const std::vector<Array> found = interpret(graph, inputs);
  EXPECT_EQ(found[1].at(0), 4);
  EXPECT_EQ(found[0].at(0), 0.5);
  const Graph again = parse_graph(print(graph));
  EXPECT_EQ(print(again), print(graph));
  EXPECT_EQ(content_hash(again), content_hash(graph));
  EXPECT_EQ(interpret(simplify(graph), inputs)[0].bytes, found[0].bytes);
}

TEST(WhileLoop, HasForwardMode) {
  const Graph tangent = jvp(parse_graph(kWhile), {.wrt = {0}, .keep_outputs = true});
  verify(tangent);
  const std::vector<Array> inputs{Array::of(DType::Float64, {3}, std::vector<double>{8, 4, 4}),
                                  Array::of(DType::Float64, {}, std::vector<double>{1.5}),
                                  Array::of(DType::Float64, {3}, std::vector<double>{1, 2, 3})};
  const std::vector<Array> found = interpret(tangent, inputs);
  EXPECT_EQ(found[0].at(0), 0.5);
  for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(found[2].at(k), static_cast<double>(k + 1) / 16);
}

TEST(WhileLoop, IsBatched) {
  const Graph loop = parse_graph(
      "def f(double(3) x, int64 n, bool go) -> (y) {\n"
      "  scan (y, m, g) = step[while](carry double(3) a = x, carry int64 k = n, carry bool o = go) "
      "-> (b, l, more) {\n"
      "    b(i) = a(i) * 2\n"
      "    l() = k() - 1\n"
      "    more() = l() > 0\n"
      "  }\n}\n");
  const BatchAxis none, first(0);
  const BatchAxis in[] = {first, none, none}, out[] = {first};
  const Graph batched = vmap(loop, in, 2, out);
  verify(batched);
  const std::vector<Array> inputs{
      Array::of(DType::Float64, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6}),
      Array::of(DType::Int64, {}, std::vector<double>{3}),
      Array::of(DType::Bool, {}, std::vector<double>{1})};
  EXPECT_EQ(interpret(batched, inputs)[0].at(5), 48);
  // Elements that stop by themselves: after 1 and 3 steps.
  const BatchAxis each[] = {first, first, none};
  const Graph apart = vmap(loop, each, 2, out);
  verify(apart);
  const std::vector<Array> counts{
      inputs[0], Array::of(DType::Int64, {2}, std::vector<double>{1, 3}), inputs[2]};
  EXPECT_EQ(interpret(apart, counts)[0].at(2), 6);
  EXPECT_EQ(interpret(apart, counts)[0].at(5), 48);
}

TEST(WhileLoop, ReverseModeNamesTheRemedy) {
  try {
    vjp_of(parse_graph(kWhile), {0});
    FAIL() << "there is no reverse mode";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(error.what()).find("use scan"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adjit::testing
