// tests/runtime/trace/traced_call.hpp -- operators called on arrays, through a trace and the
// interpreter.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "runtime/trace/trace.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/array_values.hpp"

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
  for (const Array& input : inputs) ids.push_back(add_input(trace, "x", input.dtype, input.shape));
  const std::vector<TensorId> results =
      find_operator(name).trace(trace, ids, Json::parse(attributes));
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

using Values = std::vector<double>;
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// Relative to 1 + |wanted|; NaN and infinities are wanted as they are.
inline void expect_near(const Array& found, const Values& wanted, double tolerance = 1e-12,
                        const std::string& what = "") {
  ASSERT_EQ(found.element_count(), static_cast<int64_t>(wanted.size())) << what;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const double value = found.at(static_cast<int64_t>(k));
    if (std::isnan(wanted[k])) {
      EXPECT_TRUE(std::isnan(value)) << what << " [" << k << "]";
    } else if (std::isinf(wanted[k])) {
      EXPECT_EQ(value, wanted[k]) << what << " [" << k << "]";
    } else {
      EXPECT_NEAR(value, wanted[k], tolerance * (1 + std::abs(wanted[k])))
          << what << " [" << k << "]";
    }
  }
}
inline void expect_near(const Array& found, const Array& wanted) {
  ASSERT_EQ(found.shape, wanted.shape);
  expect_near(found, values(wanted));
}

}  // namespace adjit::testing
