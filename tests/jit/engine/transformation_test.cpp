// tests/jit/engine/transformation_test.cpp -- what a transformation makes of a signature, its text,
// and what it refuses before anything is derived.
#include "jit/engine/transformation.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Kind = Transformation::Kind;

Graph layer() {
  return parse_graph(
      "def layer(float(3, 4) x, float(4, 2) w, int64(2) at) -> (y, n, loss) {\n"
      " y(i, j) +=! x(i, r) * w(r, at(j) % 2)\n n(j) = at(j) + 1\n"
      " loss() +=! y(i, j) * y(i, j)\n}");
}

std::string shown(const std::vector<TensorSpec>& tensors) {
  std::string text;
  for (const TensorSpec& t : tensors) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(t.dtype)) + " " + t.name + "(";
    for (size_t d = 0; d < t.shape.size(); ++d) text += (d ? "," : "") + std::to_string(t.shape[d]);
    text += ")";
  }
  return text;
}

struct Case {
  Transformation transformation;
  const char* text;
  const char* more_inputs;  // behind those of the layer
  const char* outputs;
};

const Case kCases[] = {
    {{.kind = Kind::Vjp, .wrt = {1, 0}, .outputs = {0}},
     "vjp(wrt=[1,0],outputs=[0])",
     ", float32 d_y(3,2)",
     "float32 d_w(4,2), float32 d_x(3,4)"},
    {{.kind = Kind::Vjp, .wrt = {0}, .outputs = {2}, .keep = true},
     "vjp(wrt=[0],outputs=[2],keep)",
     ", float32 d_loss()",
     "float32 y(3,2), int64 n(2), float32 loss(), float32 d_x(3,4)"},
    {{.kind = Kind::Gradient, .wrt = {0}, .outputs = {2}, .keep = true},
     "gradient(wrt=[0],outputs=[2],keep)",
     "",
     "float32 loss(), float32 d_x(3,4)"},
    {{.kind = Kind::Jvp, .wrt = {1}, .keep = true},
     "jvp(wrt=[1],keep)",
     ", float32 t_w(4,2)",
     "float32 y(3,2), int64 n(2), float32 loss(), float32 t_y(3,2), float32 t_loss()"},
    {{.kind = Kind::Jvp, .wrt = {}}, "jvp(wrt=[])", "", "float32 t_y(3,2), float32 t_loss()"},
};

TEST(Transformation, SignaturesAndTexts) {
  const ComputationType of = type_of(layer());
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(to_string(c.transformation), c.text);
    const ComputationType after = transformed(of, c.transformation);
    EXPECT_EQ(shown(after.inputs), shown(of.inputs) + c.more_inputs);
    EXPECT_EQ(shown(after.outputs), c.outputs);
    // The graph has the inputs and outputs that the signature says.
    const Graph graph = transformed(layer(), c.transformation);
    ASSERT_EQ(graph.outputs.size(), after.outputs.size());
    for (size_t k = 0; k < graph.outputs.size(); ++k)
      EXPECT_EQ(graph.info(graph.outputs[k]).shape, after.outputs[k].shape);
    EXPECT_EQ(graph.inputs.size(), after.inputs.size());
  }
}

TEST(Transformation, BatchesPutTheirAxisWhereItIsAsked) {
  const Transformation t{
      .kind = Kind::Vmap, .in_axes = {1, std::nullopt, 0}, .out_axes = {2, 0, 0}, .size = 7};
  EXPECT_EQ(to_string(t), "vmap(in=[1,none,0],size=7,out=[2,0,0])");
  const ComputationType after = transformed(type_of(layer()), t);
  EXPECT_EQ(shown(after.inputs), "float32 x(3,7,4), float32 w(4,2), int64 at(7,2)");
  EXPECT_EQ(shown(after.outputs), "float32 y(3,2,7), int64 n(7,2), float32 loss(7)");
}

TEST(Transformation, TextsTellTransformationsApart) {
  std::set<std::string> texts;
  size_t count = 0;
  for (Kind kind : {Kind::Vjp, Kind::Gradient, Kind::Jvp})
    for (bool keep : {false, true})
      for (const std::vector<size_t>& wrt :
           {std::vector<size_t>{}, {0}, {1}, {0, 1}, {1, 0}, {10}}) {
        texts.insert(to_string({.kind = kind, .wrt = wrt, .outputs = {1}, .keep = keep}));
        ++count;
      }
  for (const BatchAxis axis : {BatchAxis(), BatchAxis(0), BatchAxis(1)})
    for (int64_t size : {1, 11}) {
      texts.insert(
          to_string({.kind = Kind::Vmap, .in_axes = {axis}, .out_axes = {0}, .size = size}));
      ++count;
    }
  EXPECT_EQ(texts.size(), count);
}

TEST(Transformation, WhatDoesNotFitIsRefused) {
  const ComputationType of = type_of(layer());
  const auto refused = [&](ErrorCode code, const char* part, const Transformation& t) {
    try {
      transformed(of, t);
      ADD_FAILURE() << "taken: " << to_string(t);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  using enum ErrorCode;
  refused(Invalid, "input 3", {.kind = Kind::Vjp, .wrt = {3}, .outputs = {0}});
  refused(Invalid, "no output 3", {.kind = Kind::Vjp, .wrt = {0}, .outputs = {3}});
  refused(NotDifferentiable, "gradient with respect to input 'at'",
          {.kind = Kind::Vjp, .wrt = {2}, .outputs = {0}});
  refused(NotDifferentiable, "tangent with respect to input 'at'", {.kind = Kind::Jvp, .wrt = {2}});
  refused(Invalid, "two tangents", {.kind = Kind::Jvp, .wrt = {0, 0}});
  refused(Shape, "6 elements", {.kind = Kind::Gradient, .wrt = {0}, .outputs = {0}});
  refused(Invalid, "3 inputs, but 1", {.kind = Kind::Vmap, .in_axes = {0}, .size = 2});
  refused(Invalid, "is -1",
          {.kind = Kind::Vmap, .in_axes = {0, 0, 0}, .out_axes = {0, 0, 0}, .size = -1});
  refused(Invalid, "batch axis of input 2 of 'layer' is 2",
          {.kind = Kind::Vmap, .in_axes = {0, 0, 2}, .out_axes = {0, 0, 0}, .size = 2});
}

}  // namespace
}  // namespace adjit::testing
