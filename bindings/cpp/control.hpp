// adjit/control.hpp -- computations inside a trace: calls, loops, derivatives by hand.
#pragma once

#include <string>
#include <vector>

#include "tensor.hpp"

namespace adjit::inline cpp {

namespace detail {

inline size_t output_count(const Computation& computation) {
  int32_t inputs = 0, outputs = 0;
  check(adjit_computation_counts(computation.get(), &inputs, &outputs));
  return static_cast<size_t>(outputs);
}

/// Runs `call` on a trace, the ids of its operands, and room for `results` tensors.
template <class Call>
std::vector<Tensor> called(const char* name, const std::vector<Tensor>& operands, size_t results,
                           const Where& where, Call&& call) {
  const std::shared_ptr<adjit_trace> trace = common_trace(operands, name);
  mark(trace.get(), where, name);
  const std::vector<adjit_tensor> inputs = ids(operands);
  std::vector<adjit_tensor> made(results, ADJIT_NONE);
  check(call(trace.get(), count(inputs), inputs.data(), count(made), made.data()));
  return tensors(trace, made);
}

inline std::vector<Tensor> joined(std::vector<Tensor> first, const std::vector<Tensor>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace detail

/// A computation on these arguments; its outputs.
inline std::vector<Tensor> call(const Computation& computation,
                                const std::vector<Tensor>& arguments,
                                Where where = Where::current()) {
  return detail::called("call", arguments, detail::output_count(computation), where,
                        [&](auto* trace, auto... rest) {
                          return adjit_trace_call(trace, computation.get(), rest...);
                        });
}

/// The same, but derivatives compute its intermediates again instead of keeping them.
inline std::vector<Tensor> checkpoint(const Computation& computation,
                                      const std::vector<Tensor>& arguments,
                                      Where where = Where::current()) {
  return detail::called("checkpoint", arguments, detail::output_count(computation), where,
                        [&](auto* trace, auto... rest) {
                          return adjit_trace_checkpoint(trace, computation.get(), rest...);
                        });
}

/// `primal` with a gradient by hand: `forward` gives primal's outputs and residuals, `backward`
/// takes residuals and one cotangent per float output, and gives one gradient per float input but
/// the last `closed` ones.
inline std::vector<Tensor> custom_vjp(const Computation& primal, const Computation& forward,
                                      const Computation& backward,
                                      const std::vector<Tensor>& arguments, int32_t closed = 0,
                                      Where where = Where::current()) {
  return detail::called("custom_vjp", arguments, detail::output_count(primal), where,
                        [&](auto* trace, auto... rest) {
                          return adjit_trace_custom_vjp(trace, primal.get(), forward.get(),
                                                        backward.get(), closed, rest...);
                        });
}

struct ScanOptions {
  bool reverse = false;  ///< from the last slice to the first
  int64_t steps = -1;    ///< needed where nothing is scanned; else the scanned leading extent
  /// > 0: the derivative keeps the carries of every segment-th step only.
  int64_t segment = 0;
};

struct ScanResult {
  std::vector<Tensor> carries;  ///< of the last step
  std::vector<Tensor> stacked;  ///< one slice a step along the leading dimension
};

/// Runs `step` once per slice of the scanned tensors' leading dimension. Its inputs: the carries,
/// one slice per scanned tensor, the fixed ones; its outputs: the next carries, then what is
/// stacked.
inline ScanResult scan(const Computation& step, const std::vector<Tensor>& carries,
                       const std::vector<Tensor>& scanned, const std::vector<Tensor>& fixed = {},
                       const ScanOptions& options = {}, Where where = Where::current()) {
  adjit_scan_options o{};
  o.struct_size = sizeof o;
  o.carries = detail::count(carries);
  o.scanned = detail::count(scanned);
  o.reverse = options.reverse;
  o.segment = options.segment;
  o.steps = options.steps;
  if (o.steps < 0) {
    if (scanned.empty() || scanned[0].rank() == 0)
      throw ShapeError("scan: nothing with a leading dimension is scanned; set steps");
    o.steps = scanned[0].shape()[0];
  }
  const std::vector<Tensor> operands = detail::joined(detail::joined(carries, scanned), fixed);
  const std::vector<Tensor> results = detail::called(
      "scan", operands, detail::output_count(step), where,
      [&](auto* trace, auto... rest) { return adjit_trace_scan(trace, step.get(), &o, rest...); });
  const auto stacked = results.begin() + o.carries;
  return {{results.begin(), stacked}, {stacked, results.end()}};
}

/// Runs `body` as long as the last carry, one bool scalar, is true. No reverse mode.
inline std::vector<Tensor> while_loop(const Computation& body, const std::vector<Tensor>& carries,
                                      const std::vector<Tensor>& fixed = {},
                                      Where where = Where::current()) {
  const int32_t carried = detail::count(carries);
  return detail::called("while_loop", detail::joined(carries, fixed), carries.size(), where,
                        [&](auto* trace, auto... rest) {
                          return adjit_trace_while(trace, body.get(), carried, rest...);
                        });
}

}  // namespace adjit::inline cpp
