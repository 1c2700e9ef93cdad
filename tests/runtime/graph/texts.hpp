// tests/runtime/graph/texts.hpp -- programs given as texts: run, instantiated, printed and read
// back.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::graph {

using Shapes = std::vector<std::vector<int64_t>>;
using List = std::vector<double>;

inline Array floats(std::vector<int64_t> shape, const List& values) {
  return Array::of(DType::Float32, std::move(shape), values);
}
inline Array longs(const List& values) {
  return Array::of(DType::Int64, {static_cast<int64_t>(values.size())}, values);
}
/// 1, 2, 3, ...
inline Array counting(std::vector<int64_t> shape, DType dtype = DType::Float32) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (int64_t k = 0; k < array.element_count(); ++k) array.set(k, static_cast<double>(k + 1));
  return array;
}
inline List values(const Array& array) {
  List list;
  for (int64_t k = 0; k < array.element_count(); ++k) list.push_back(array.at(k));
  return list;
}

/// The outputs of a definition's statements: run("float(3) x", "y", "y(i) = x(i)", {x}).
inline std::vector<Array> run(const std::string& inputs, const std::string& outputs,
                              const std::string& statements, const std::vector<Array>& arrays) {
  return interpret(
      parse_graph("def main(" + inputs + ") -> (" + outputs + ") {" + statements + "}"), arrays);
}
inline List run_one(const std::string& inputs, const std::string& statement,
                    const std::vector<Array>& arrays) {
  return values(run(inputs, "y", statement, arrays)[0]);
}

/// The first definition of a text, for these shapes of its inputs; float32 where no dtype is given.
inline Graph instance_of(const std::string& text, const Shapes& shapes,
                         std::vector<DType> dtypes = {}) {
  const TextModule module = TextModule::parse(text, "tc.txt");
  dtypes.resize(shapes.size(), DType::Float32);
  return module.instantiate(module.names()[0], shapes, dtypes);
}
inline std::vector<int64_t> output_shape(const Graph& graph, size_t k = 0) {
  return graph.info(graph.outputs[k]).shape;
}
inline List outputs_of(const Graph& graph, const std::vector<Array>& inputs, size_t output = 0) {
  return values(interpret(graph, inputs)[output]);
}

/// The message of the error of that code with which a text is refused.
inline std::string error_of(const std::string& text, ErrorCode code = ErrorCode::Parse) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

/// Whether a graph's text reads back to the same text and content.
inline void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  Graph parsed;
  ASSERT_NO_THROW(parsed = parse_graph(text)) << text;
  EXPECT_EQ(print(parsed), text);
  EXPECT_EQ(content_hash(parsed), content_hash(graph)) << text;
}

}  // namespace adjit::graph
