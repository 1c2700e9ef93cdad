// tests/runtime/trace/traced_call.hpp -- operators called on arrays, through a trace and the
// interpreter.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/interpreter.hpp"
#include "runtime/trace/ops/operator.hpp"
#include "runtime/trace/trace.hpp"

namespace adjit::testing {

inline Array array(DType dtype, std::vector<int64_t> shape, std::vector<double> values) {
  return Array::of(dtype, std::move(shape), values);
}
inline Array f32(std::vector<int64_t> shape, std::vector<double> values) {
  return array(DType::Float32, std::move(shape), std::move(values));
}
inline Array f64(std::vector<int64_t> shape, std::vector<double> values) {
  return array(DType::Float64, std::move(shape), std::move(values));
}
inline Array i64(std::vector<int64_t> shape, std::vector<double> values) {
  return array(DType::Int64, std::move(shape), std::move(values));
}

/// Evenly spread pseudo-random values in [low, high]; the same for the same seed everywhere.
inline Array random_array(DType dtype, std::vector<int64_t> shape, double low, double high,
                          uint64_t seed) {
  Array result = Array::zeros(dtype, std::move(shape));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
  for (int64_t k = 0; k < result.element_count(); ++k) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    const double width = is_float(dtype) ? high - low : high - low + 1;
    const double value = low + unit * width;
    result.set(k, is_float(dtype) ? value : std::floor(value));
  }
  return result;
}

/// The graph of one operator on inputs of these types.
inline Graph trace_call(std::string_view name, const std::vector<Array>& inputs,
                        const std::string& attributes = "{}") {
  Trace trace(std::string("call"));
  trace.set_source("test.py", 7);
  std::vector<TensorId> ids;
  for (const Array& input : inputs) ids.push_back(trace.input("x", input.dtype, input.shape));
  const std::vector<TensorId> results =
      find_operator(name).trace(trace, ids, nlohmann::json::parse(attributes));
  return trace.finish(results);
}

inline std::vector<Array> run_all(std::string_view name, const std::vector<Array>& inputs,
                                  const std::string& attributes = "{}") {
  return interpret(trace_call(name, inputs, attributes), inputs);
}
inline Array run(std::string_view name, const std::vector<Array>& inputs,
                 const std::string& attributes = "{}") {
  return run_all(name, inputs, attributes)[0];
}

inline std::vector<double> values(const Array& array) {
  std::vector<double> all;
  for (int64_t k = 0; k < array.element_count(); ++k) all.push_back(array.at(k));
  return all;
}

}  // namespace adjit::testing
