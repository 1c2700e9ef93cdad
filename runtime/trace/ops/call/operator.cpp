// runtime/trace/ops/call/operator.cpp -- an operator's stages, and errors that name it.
#include "runtime/trace/ops/call/operator.hpp"

#include <string>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"

namespace adjit::trace {
namespace {

// Whether a result of that type is weak: made of weak operands, and of none that are not (bools,
// and indices beside floats, do not count). One whose dtype was asked for is not.
bool is_weak(const OperatorCall& call, DType result) {
  if (call.attributes().has("dtype") || result == DType::Bool) return false;
  bool weak = false;
  for (const Operand& o : call.operands()) {
    if (!o.given()) continue;
    const OperandType type = type_of(call.trace(), o);
    if (is_float(type.dtype) && (!type.weak || !is_float(result))) return false;
    if (is_integer(type.dtype) && !type.weak && !is_float(result)) return false;
    weak |= type.weak && type.dtype != DType::Bool;
  }
  return weak;
}

}  // namespace

std::vector<TensorId> Operator::trace(Trace& trace, std::span<const TensorId> inputs,
                                      const Json& attributes) const {
  const std::string outer = trace.source().operation;
  trace.set_operation(std::string(name));
  const auto failed = [&](ErrorCode code, std::string message) {
    const std::string prefix = where(trace) + ": ";
    if (!message.starts_with(prefix)) message.insert(0, prefix);  // the trace itself failed
    trace.set_operation(outer);
    return Error(code, message);
  };
  try {
    OperatorCall call(trace, *this, inputs, attributes);
    std::vector<TensorId> made = build(call);
    for (TensorId result : made)
      if (results != Results::Created && is_weak(call, dtype_of(trace, result)))
        trace.set_weak(result);
    trace.set_operation(outer);
    return made;
  } catch (const Overflow& e) {
    throw failed(e.code(), std::string(e.what()) + " (attributes: " + attributes.dump() + ")");
  } catch (const Error& e) {
    throw failed(e.code(), e.what());
  } catch (const Json::exception&) {
    throw failed(ErrorCode::Invalid, "an attribute has a wrong type: " + attributes.dump() +
                                         "; the signature is " + std::string(name) +
                                         std::string(signature));
  }
}

}  // namespace adjit::trace
