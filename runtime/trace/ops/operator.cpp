// runtime/trace/ops/operator.cpp -- the table of all families, calls by name.
#include "runtime/trace/ops/operator.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "runtime/process/fork.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/families.hpp"
#include "runtime/trace/ops/operator_call.hpp"

namespace adjit::trace {
namespace {

std::vector<Operator> collect() {
  std::vector<Operator> all;
  for (const auto family :
       {unary_operators(),       binary_operators(),         selection_operators(),
        reduction_operators(),   cumulative_operators(),     contraction_operators(),
        view_operators(),        joining_operators(),        indexing_operators(),
        gathering_operators(),   padding_operators(),        triangle_operators(),
        creation_operators(),    activation_operators(),     softmax_operators(),
        convolution_operators(), pooling_operators(),        normalization_operators(),
        loss_operators(),        classification_operators(), network_operators(),
        resampling_operators(),  random_operators()})
    all.insert(all.end(), family.begin(), family.end());
  std::ranges::sort(all, {}, &Operator::name);
  return all;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Operator& op : all_operators()) names.push_back(op.name);
  const size_t shown = std::min<size_t>(3, names.size());
  std::ranges::stable_sort(names, {}, [&](std::string_view candidate) {
    // "conv2d" is near "nn.conv2d": a shared tail counts more than the prefix that differs.
    return candidate.ends_with(name) ? 0 : edit_distance(name, candidate);
  });
  std::string text;
  for (size_t k = 0; k < shown; ++k) text += (k ? ", " : "") + std::string(names[k]);
  return text;
}

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

std::span<const Operator> all_operators() {
  const ForkDelay no_fork;
  static const std::vector<Operator> kAll = collect();
  return kAll;
}

const Operator& find_operator(std::string_view name) {
  const std::span<const Operator> all = all_operators();
  const auto at = std::ranges::lower_bound(all, name, {}, &Operator::name);
  if (at != all.end() && at->name == name) return *at;
  throw Error(ErrorCode::Invalid, "there is no operator '" + std::string(name) +
                                      "'; the nearest are " + nearest_names(name));
}

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
