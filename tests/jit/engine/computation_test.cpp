// tests/jit/engine/computation_test.cpp -- transformations as data: what they promise of a graph
// that is not derived yet, they keep.
#include "jit/engine/computation.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Kind = Transformation::Kind;
using Shared = std::shared_ptr<const Computation>;

Shared shared_layer() {
  return std::make_shared<const Computation>(
      parse_graph("def layer(float(3, 4) x, float(4, 2) w, int64(2) at) -> (y, loss) {\n"
                  " y(i, j) +=! x(i, r) * w(r, at(j) % 2)\n loss() +=! y(i, j) * y(i, j)\n}"));
}

Shared transformed(const Shared& of, Transformation t) {
  return Computation::transformed(*of, std::move(t));
}

// The description of inputs and outputs is that of the derived graph.
void expect_described(const Computation& c) {
  const Graph& graph = c.graph();
  const auto same = [&](const std::vector<TensorId>& ids,
                        const std::vector<Computation::Tensor>& tensors) {
    ASSERT_EQ(ids.size(), tensors.size());
    for (size_t k = 0; k < ids.size(); ++k) {
      EXPECT_EQ(graph.info(ids[k]).shape, tensors[k].shape);
      EXPECT_EQ(graph.info(ids[k]).dtype, tensors[k].dtype);
    }
  };
  same(graph.inputs, c.inputs());
  same(graph.outputs, c.outputs());
}

template <class F>
void expect_error(ErrorCode code, const char* part, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Computation, DescribesItsGraph) {
  const Shared c = shared_layer();
  EXPECT_EQ(c->name(), "layer");
  EXPECT_EQ(c->transformations(), "");
  EXPECT_EQ(c->inputs()[1].name, "w");
  EXPECT_EQ(c->inputs()[2].dtype, DType::Int64);
  EXPECT_EQ(c->outputs()[0].shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(&c->graph(), &c->base()) << "nothing to derive";
  expect_described(*c);
}

TEST(Computation, ADerivativeIsDescribedBeforeItIsDerived) {
  const Shared base = shared_layer();
  const std::vector<Transformation> several{
      {Kind::Vjp, {0, 1}, {0}, false},     {Kind::Vjp, {1, 0}, {1, 0}, true},
      {Kind::Vjp, {}, {0}, true},          {Kind::Vjp, {0}, {}, false},
      {Kind::Vjp, {0, 0}, {0}, false},     {Kind::Gradient, {1}, {1}, true},
      {Kind::Gradient, {0, 1}, {1}, false}};
  for (const Transformation& t : several) {
    const Shared c = transformed(base, t);
    SCOPED_TRACE(c->transformations());
    EXPECT_EQ(c->derive_ms(), 0);
    expect_described(*c);
    EXPECT_GT(c->derive_ms(), 0);
    EXPECT_EQ(&c->graph(), &c->graph()) << "derived once";
  }
}

TEST(Computation, DerivativesOfDerivatives) {
  const Shared gradient = transformed(shared_layer(), {Kind::Gradient, {1}, {1}, false});
  const Shared twice = transformed(gradient, {Kind::Vjp, {0, 1}, {0}, true});
  EXPECT_EQ(twice->inputs().size(), 4u);
  EXPECT_EQ(twice->inputs()[3].shape, (std::vector<int64_t>{4, 2})) << "a cotangent of d_w";
  expect_described(*twice);
  EXPECT_EQ(twice->transformations(),
            "gradient(wrt=[1],outputs=[1]);vjp(wrt=[0,1],outputs=[0],keep);");
}

// What the description promises is right in value, too: the gradient of the sum of squares.
TEST(Computation, GradientsAreThoseOfTheFunction) {
  const Shared c = transformed(shared_layer(), {Kind::Gradient, {0}, {1}, true});
  std::vector<Array> inputs = small_inputs(c->graph(), 3);
  for (int64_t k = 0; k < 2; ++k) inputs[2].set(k, static_cast<double>(k));
  const std::vector<Array> out = interpret(c->graph(), inputs);
  const auto loss = [&](int64_t at, double step) {
    std::vector<Array> moved = inputs;
    for (Array& a : moved)
      if (is_float(a.dtype)) {
        Array wide = Array::zeros(DType::Float64, a.shape);
        for (int64_t k = 0; k < a.element_count(); ++k) wide.set(k, a.at(k));
        a = wide;
      }
    moved[0].set(at, moved[0].at(at) + step);
    return interpret_in_double(c->base(), moved)[1].at(0);
  };
  EXPECT_NEAR(out[0].at(0), loss(0, 0), 1e-4);
  for (int64_t k = 0; k < 12; ++k)
    EXPECT_NEAR(out[1].at(k), (loss(k, 1e-4) - loss(k, -1e-4)) / 2e-4, 1e-3) << k;
}

TEST(Computation, WhatCannotBeDerivedIsRefusedAtOnce) {
  const Shared c = shared_layer();
  const auto make = [&](Transformation t) { return [=] { transformed(c, t); }; };
  expect_error(ErrorCode::Invalid, "input 3", make({Kind::Vjp, {3}, {0}, false}));
  expect_error(ErrorCode::Invalid, "output 2", make({Kind::Vjp, {0}, {2}, false}));
  expect_error(ErrorCode::Invalid, "output 7", make({Kind::Gradient, {0}, {7}, false}));
  expect_error(ErrorCode::NotDifferentiable, "'at'", make({Kind::Vjp, {2}, {0}, false}));
  expect_error(ErrorCode::Shape, "6", make({Kind::Gradient, {0}, {0}, false}));
  const Shared whole = std::make_shared<const Computation>(
      parse_graph("def f(float(3) x) -> (n) { n() +=! int64(x(i)) }"));
  expect_error(ErrorCode::NotDifferentiable, "int64",
               [&] { transformed(whole, {Kind::Gradient, {0}, {0}, false}); });
}

TEST(Computation, OfManyThreadsOneDerives) {
  for (int round = 0; round < 5; ++round) {
    const Shared c = transformed(shared_layer(), {Kind::Gradient, {0, 1}, {1}, true});
    std::vector<const Graph*> seen(8, nullptr);
    std::vector<std::string> hashes(8);
    {
      std::vector<std::jthread> threads;
      for (size_t t = 0; t < seen.size(); ++t)
        threads.emplace_back([&, t] {
          seen[t] = &c->graph();
          hashes[t] = c->base_hash();
        });
    }
    for (const Graph* graph : seen) EXPECT_EQ(graph, seen[0]);
    for (const std::string& hash : hashes) EXPECT_EQ(hash, content_hash(c->base()));
  }
}

TEST(Computation, KeysAreOfTheTracedGraph) {
  const Shared c = shared_layer();
  const Shared derived = transformed(c, {Kind::Vjp, {0}, {0}, false});
  EXPECT_EQ(derived->base_hash(), c->base_hash());
  EXPECT_NE(derived->transformations(), c->transformations());
  EXPECT_NE(transformed(c, {Kind::Vjp, {0}, {0}, true})->transformations(),
            derived->transformations());
  EXPECT_NE(transformed(c, {Kind::Vjp, {1}, {0}, false})->transformations(),
            derived->transformations());
}

// Cotangents of 0 are no inputs of the derivative, which does not compute what they would weigh.
TEST(Computation, LeavesZeroCotangentsOut) {
  const Shared c = transformed(shared_layer(), {Kind::Vjp, {0, 1}, {0, 1}, false});
  ASSERT_EQ(c->first_cotangent(), 3u);
  EXPECT_EQ(shared_layer()->first_cotangent(), 3u) << "none: past the inputs";
  const std::vector<Array> inputs = small_inputs(c->graph(), 5);
  using Numbers = std::vector<size_t>;
  for (const std::vector<bool>& zero :
       {std::vector<bool>{true, false}, {false, true}, {false, false}, {true, true}}) {
    const Computation::Specialised special = c->without_cotangents(zero);
    std::vector<Array> whole = inputs, taken;
    for (size_t k = 0; k < 2; ++k)
      if (zero[k])
        for (int64_t e = 0; e < whole[3 + k].element_count(); ++e) whole[3 + k].set(e, 0);
    for (const size_t k : special.inputs) taken.push_back(whole[k]);
    const std::vector<Array> expected = interpret(c->graph(), whole);
    const std::vector<Array> found = interpret(*special.graph, taken);
    ASSERT_EQ(found.size(), 2u);
    for (size_t k = 0; k < 2; ++k)
      for (int64_t e = 0; e < found[k].element_count(); ++e)
        EXPECT_NEAR(found[k].at(e), expected[k].at(e), 1e-5);
  }
  EXPECT_EQ(c->without_cotangents({true, false}).inputs, (Numbers{0, 1, 2, 4}));
  EXPECT_EQ(c->without_cotangents({true, true}).inputs, (Numbers{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace adjit::testing
