// bindings/c/index_notation.cpp -- scalar expressions, reductions, compute and scatter.
#include <array>
#include <string_view>

#include "bindings/c/arrays.hpp"
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "runtime/trace/index_reduction.hpp"
#include "runtime/trace/lowering.hpp"

namespace adjit::c {
namespace {

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

// The first row of a table with that name; ErrorCode::Invalid lists what there is.
template <class Value, size_t N>
Value named(const std::array<Named<Value>, N>& table, std::string_view name, const char* what) {
  std::string known;
  for (const Named<Value>& row : table) {
    if (row.name == name) return row.value;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::Invalid,
              "'" + std::string(name) + "' is no " + what + "; there are " + known);
}

constexpr std::array<Named<CombinerKind>, 8> kReducers{{{"sum", CombinerKind::Sum},
                                                        {"prod", CombinerKind::Product},
                                                        {"max", CombinerKind::Max},
                                                        {"min", CombinerKind::Min},
                                                        {"argmax", CombinerKind::ArgMax},
                                                        {"argmin", CombinerKind::ArgMin},
                                                        {"any", CombinerKind::Any},
                                                        {"all", CombinerKind::All}}};
constexpr std::array<Named<CombinerKind>, 5> kScatters{{{"add", CombinerKind::Sum},
                                                        {"mul", CombinerKind::Product},
                                                        {"max", CombinerKind::Max},
                                                        {"min", CombinerKind::Min},
                                                        {"set", CombinerKind::None}}};
constexpr std::array<Named<IndexMode>, 4> kIndexModes{{{"error", IndexMode::Error},
                                                       {"clip", IndexMode::Clip},
                                                       {"wrap", IndexMode::Wrap},
                                                       {"drop", IndexMode::Drop}}};
constexpr std::array<Named<OutOfRange>, 4> kOutOfRange{{{"error", OutOfRange::Error},
                                                        {"clip", OutOfRange::Clip},
                                                        {"wrap", OutOfRange::Wrap},
                                                        {"drop", OutOfRange::Drop}}};
constexpr std::array<Named<Ties>, 2> kTies{{{"even", Ties::Even}, {"first", Ties::First}}};

/// An operation, and whether its operands come in the other order.
struct Operation {
  Op op;
  bool swapped = false;
};
// English names of operations that the text notation writes as signs.
constexpr std::array<Named<Operation>, 24> kSigns{{{"neg", {Op::Neg}},
                                                   {"not", {Op::Not}},
                                                   {"invert", {Op::BitNot}},
                                                   {"add", {Op::Add}},
                                                   {"sub", {Op::Sub}},
                                                   {"mul", {Op::Mul}},
                                                   {"div", {Op::Div}},
                                                   {"floordiv", {Op::FloorDiv}},
                                                   {"mod", {Op::Mod}},
                                                   {"and", {Op::And}},
                                                   {"or", {Op::Or}},
                                                   {"bitand", {Op::BitAnd}},
                                                   {"bitor", {Op::BitOr}},
                                                   {"bitxor", {Op::BitXor}},
                                                   {"lshift", {Op::ShiftLeft}},
                                                   {"rshift", {Op::ShiftRight}},
                                                   {"eq", {Op::Eq}},
                                                   {"ne", {Op::Ne}},
                                                   {"lt", {Op::Lt}},
                                                   {"le", {Op::Le}},
                                                   {"gt", {Op::Lt, true}},
                                                   {"ge", {Op::Le, true}},
                                                   {">", {Op::Lt, true}},
                                                   {">=", {Op::Le, true}}}};

Operation operation_named(std::string_view name) {
  for (const Named<Operation>& row : kSigns)
    if (row.name == name) return row.value;
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    const TypeRule rule = info(op).rule;
    if (rule != TypeRule::Leaf && rule != TypeRule::Cast && info(op).name == name && op != Op::Neg)
      return {op};
  }
  throw Error(ErrorCode::Invalid, "'" + std::string(name) + "' is no operation on expressions");
}

std::vector<ScalarExpr> exprs(int32_t count, const adjit_expr* ids) {
  std::vector<ScalarExpr> list;
  for (adjit_expr id : elements(ids, count, "expressions")) list.push_back({id});
  return list;
}

std::vector<AxisHandle> axes(int32_t count, const adjit_axis* ids) {
  std::vector<AxisHandle> list;
  for (adjit_axis id : elements(ids, count, "axes")) list.push_back({id});
  return list;
}

// The index notation of a trace that is not finished; ErrorCode::Invalid otherwise.
IndexNotation& open_notation(adjit_trace* trace) {
  adjit_trace& open = required(trace, "trace");
  static_cast<void>(open.trace.pool());
  return open.notation;
}

// Runs `make` on the trace's index notation and hands out the expression it returns.
template <class Make>
adjit_status expression(adjit_trace* trace, adjit_expr* expr, Make&& make) {
  return guarded([&] {
    required(expr, "expr");
    *expr = make(open_notation(trace)).value;
  });
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT
using adjit::trace::IndexNotation;

extern "C" {

adjit_status adjit_axis_create(adjit_trace* trace, int64_t lo, int64_t hi, const char* name,
                               adjit_axis* axis) {
  return guarded([&] {
    required(axis, "axis");
    *axis = add_axis(open_notation(trace), lo, hi, name == nullptr ? "" : name).value;
  });
}

adjit_status adjit_expr_axis(adjit_trace* trace, adjit_axis axis, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) { return axis_value(n, {axis}); });
}
adjit_status adjit_expr_int(adjit_trace* trace, int64_t value, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    return literal(n, adjit::trace::WeakScalar::of(value));
  });
}
adjit_status adjit_expr_float(adjit_trace* trace, double value, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    return literal(n, adjit::trace::WeakScalar::of(value));
  });
}
adjit_status adjit_expr_bool(adjit_trace* trace, int32_t value, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    return literal(n, adjit::trace::WeakScalar::of(value != 0));
  });
}

adjit_status adjit_expr_read(adjit_trace* trace, adjit_tensor tensor, int32_t rank,
                             const adjit_expr* index, const char* mode, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    if (tensor >= trace->trace.graph().tensors.size())
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               std::to_string(tensor) + " is no tensor of this trace");
    return read(n, adjit::expr::TensorId{tensor}, exprs(rank, index),
                named(kIndexModes, mode == nullptr ? "error" : mode, "index mode"));
  });
}

adjit_status adjit_expr_apply(adjit_trace* trace, const char* operation, int32_t operand_count,
                              const adjit_expr* operands, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    std::string_view name = &required(operation, "operation");
    std::vector<adjit::trace::ScalarExpr> values = exprs(operand_count, operands);
    if (name == "-" && values.size() == 1) name = "neg";
    const Operation wanted = operation_named(name);
    if (wanted.op == adjit::expr::Op::Select) {
      if (values.size() != 3)
        throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid, "select takes three operands");
      return select(n, values[0], values[1], values[2]);
    }
    if (wanted.swapped && values.size() == 2) std::swap(values[0], values[1]);
    return apply(n, wanted.op, values);
  });
}

adjit_status adjit_expr_cast(adjit_trace* trace, adjit_expr operand, adjit_dtype dtype,
                             adjit_expr* expr) {
  return expression(trace, expr,
                    [&](IndexNotation& n) { return cast(n, {operand}, dtype_of(dtype)); });
}

adjit_status adjit_expr_dtype(adjit_trace* trace, adjit_expr expr, adjit_dtype* dtype) {
  return guarded([&] {
    required(dtype, "dtype");
    *dtype = static_cast<adjit_dtype>(dtype_of(open_notation(trace), {expr}));
  });
}

adjit_status adjit_expr_reduce(adjit_trace* trace, const char* reducer, adjit_expr body,
                               int32_t axis_count, const adjit_axis* axis_ids, adjit_expr where,
                               const char* ties, adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    return reduce(n, named(kReducers, &required(reducer, "reducer"), "reducer"), {body},
                  axes(axis_count, axis_ids), {where},
                  named(kTies, ties == nullptr ? "even" : ties, "rule for ties"));
  });
}

adjit_status adjit_expr_argument(adjit_trace* trace, int32_t number, adjit_dtype dtype,
                                 adjit_expr* expr) {
  return expression(trace, expr, [&](IndexNotation& n) {
    if (number < 0)
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid, "an argument has a number >= 0");
    return argument(n, static_cast<size_t>(number), dtype_of(dtype));
  });
}

adjit_status adjit_expr_reduce_custom(adjit_trace* trace, int32_t n, const adjit_expr* bodies,
                                      const adjit_expr* combine, const adjit_expr* identity,
                                      int32_t axis_count, const adjit_axis* axis_ids,
                                      adjit_expr where, adjit_expr* results) {
  return guarded([&] {
    required(results, "results");
    const std::vector<adjit::trace::ScalarExpr> made =
        reduce_custom(open_notation(trace), exprs(n, bodies), exprs(n, combine), exprs(n, identity),
                      axes(axis_count, axis_ids), {where});
    for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].value;
  });
}

adjit_status adjit_trace_compute(adjit_trace* trace, const char* name, int32_t axis_count,
                                 const adjit_axis* axis_ids, int32_t body_count,
                                 const adjit_expr* bodies, adjit_tensor* results) {
  return guarded([&] {
    required(results, "results");
    const std::vector<adjit::expr::TensorId> made =
        compute(open_notation(trace), name == nullptr ? "t" : name, axes(axis_count, axis_ids),
                exprs(body_count, bodies));
    for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].value;
  });
}

adjit_status adjit_trace_scatter(adjit_trace* trace, const char* name, int32_t rank,
                                 const int64_t* shape, int32_t axis_count,
                                 const adjit_axis* axis_ids, const adjit_expr* target,
                                 adjit_expr value, const char* combine, adjit_tensor initial,
                                 const char* mode, adjit_expr where, adjit_tensor* result) {
  return guarded([&] {
    required(result, "result");
    const std::span<const int64_t> extents = elements(shape, rank, "shape");
    *result =
        scatter(open_notation(trace), name == nullptr ? "t" : name,
                {extents.begin(), extents.end()}, axes(axis_count, axis_ids), exprs(rank, target),
                {value}, named(kScatters, combine == nullptr ? "add" : combine, "scatter"),
                adjit::expr::TensorId{initial},
                named(kOutOfRange, mode == nullptr ? "error" : mode, "index mode"), {where})
            .value;
  });
}

}  // extern "C"
