// runtime/trace/ops/call/operator.hpp -- an operator: a row of the table that bindings and
// documentation are made from (operator_table.hpp).
//
// An operator is a tracing function: it takes traced tensors and JSON attributes and adds stages;
// its gradient is derived from them. One file per family holds a table of rows.
//
// Attributes are one JSON object, keyed by the parameter names of the signature; a missing key
// means the default of the signature, null means None. Conventions shared by all operators:
//   - "dtype": a name ("float32"); "axis": an int, a list of ints, or null; "shape": a list of
//   ints.
//   - a non-finite float is the string "inf", "-inf" or "nan".
//   - "scalars": where the signature takes tensors or Python scalars, a list with one entry per
//   operand: null takes the
//     next tensor of `inputs`, a bool, int or float is a weakly typed literal, and
//     {"dtype": "float64", "value": 0.1} a literal of that dtype. Example, where(c, x, 0.0): inputs
//     {c, x}, attributes {"scalars": [null, null, 0.0]}. Without the key all operands are tensors.
//   - optional tensors (a bias) are named in "optional": the names of those that `inputs` holds, in
//   order, behind the
//     required ones. Example, batch_norm with weight only: {"optional": ["weight"]}. Without the
//     key, tensors beyond the required ones are the optional ones in the order of the signature.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/process/json.hpp"
#include "runtime/trace/trace.hpp"

namespace adjit::trace {

class OperatorCall;

/// The gradient of operators with integer or bool results.
inline constexpr std::string_view kNotAFloat = "none: the result is not a float";

struct Operator {
  std::string_view name;       // "matmul", "nn.conv2d"
  std::string_view signature;  // "(x, w, bias=None, *, stride=1, padding=0)": tensors first,
                               // attributes after '*'
  std::string_view shapes;     // "(N, C, H, W), (O, C/groups, KH, KW) -> (N, O, H', W')"
  std::string_view gradient;   // what the derived one equals, or why there is none
  std::vector<TensorId> (*build)(OperatorCall& call) = nullptr;
  /// Plain; Created: its dtype is its own, whatever numbers it is made from; Several: as many as
  /// its operands say, a tuple even of one.
  enum class Results : uint8_t { Plain, Created, Several };
  Results results = Results::Plain;

  /// Adds the operator's stages to the trace and returns its results. Every error names the
  /// operator and the trace's source line: ErrorCode::Shape, DType, Bounds, Invalid (an attribute
  /// that does not exist, or has a wrong type).
  std::vector<TensorId> trace(Trace& trace, std::span<const TensorId> inputs,
                              const Json& attributes) const;
};

}  // namespace adjit::trace
