// tests/jit/engine/run_compiled.hpp -- graphs through the whole engine, on arrays of the
// interpreter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "jit/engine/engine.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/fuzz/oracle/rounding.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

inline constexpr const char* kScanInAScan =
    "def f(double(3) c0, double(4, 5, 3) x, double(3) w) -> (c, ys) {\n"
    "  scan (c, ys) = outer[4](carry double(3) a = c0, over double(5, 3) rows = x, "
    "fixed double(3) v = w) -> (last, s) {\n"
    "    scan (last, inner) = inner[5, reverse](carry double(3) b = a, over double(3) r = rows, "
    "fixed double(3) u = v) -> (n, n) {\n"
    "      n(i) = sin(b(i) * u(i) + r(i))\n"
    "    }\n"
    "    s() +=! inner(t, i)\n"
    "  }\n"
    "}";

/// An engine without a disk cache.
inline EngineOptions memory_only(int threads, std::string features = "") {
  EngineOptions options;
  options.threads = threads;
  options.target_features = std::move(features);
  options.store.mode = cache::Mode::Off;
  options.verify_plans = true;
  return options;
}

inline Request request_of(Graph graph, std::string schedule_json = "") {
  Request request;
  request.computation = std::make_shared<const Computation>(std::move(graph));
  for (const Computation::Tensor& input : request.computation->inputs())
    request.layouts.push_back(contiguous_layout(input.shape));
  request.schedule_json = std::move(schedule_json);
  return request;
}

/// The outputs for inputs whose elements 0 are there. They start as garbage, so that an element
/// that is not written shows.
inline std::vector<Array> run_executable(Executable& executable,
                                         const std::vector<const void*>& inputs) {
  std::vector<Array> outputs;
  for (const ArraySpec& spec : executable.plan().outputs) {
    outputs.push_back(Array::zeros(spec.dtype, spec.shape));
    std::ranges::fill(outputs.back().bytes, std::byte{0x5a});
  }
  std::vector<void*> out;
  for (Array& array : outputs) out.push_back(array.bytes.data());
  executable.run(inputs.data(), out.data());
  return outputs;
}

inline std::vector<Array> run_compiled(Engine& engine, const Request& request,
                                       const std::vector<Array>& inputs) {
  std::vector<const void*> in;
  for (const Array& array : inputs) in.push_back(array.bytes.data());
  return run_executable(*engine.compile(request).executable, in);
}

/// The first element in which compiled outputs differ from the interpreter's, as text; "" when none
/// does. Elements that rounding alone moves far do not count: the interpreter in float64 says
/// which, and the wide one where a decision hangs on rounding (tests/fuzz/oracle/rounding.hpp).
inline std::string first_difference(const Graph& graph, const std::vector<Array>& inputs,
                                    const std::vector<Array>& compiled) {
  const std::vector<Array> exact = interpret(graph, inputs);
  const std::vector<Array> wide = interpret_in_double(graph, inputs);
  for (size_t k = 0; k < exact.size(); ++k)
    for (int64_t e = 0; e < exact[k].element_count(); ++e) {
      const double a = exact[k].at(e), b = compiled[k].at(e), w = wide[k].at(e);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double scale = std::max({1.0, std::abs(a), std::abs(w)});
      // Of half types, a unit in the last place: the value before it may lie next to a midpoint.
      const double unit = exact[k].dtype == DType::BFloat16  ? 0x1p-7
                          : exact[k].dtype == DType::Float16 ? 0x1p-10
                                                             : 1e-4;
      if (!(std::abs(a - w) < unit * scale)) continue;  // ill-conditioned
      if (is_float(exact[k].dtype) && std::abs(a - b) < 2 * unit * scale) continue;
      if (rounding_may_give(graph, inputs, k, e, b)) continue;
      return "output " + std::to_string(k) + " element " + std::to_string(e) + ": interpreted " +
             std::to_string(a) + ", compiled " + std::to_string(b);
    }
  return "";
}

}  // namespace adjit::testing
