// runtime/trace/trace.hpp -- a graph under construction.
//
// A trace collects inputs, constants and stages while the user's function runs on traced tensors.
// It knows nothing of operators (runtime/trace/ops) or of index notation (index_notation.hpp): both
// build stages through it.
//
// Worked example:
//   Trace trace("double_it");
//   trace.set_source("model.py", 12);
//   TensorId x = add_input(trace, "x", DType::Float32, {4});
//   std::vector<TensorId> y = find_operator("add").trace(trace, {{x, x}}, {});
//   Graph graph = trace.finish(y);
//
// Not thread-safe: one thread builds a trace. Traces of different threads are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/expr/error.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::trace {

/// A tensor as callers outside hold it: which trace it belongs to, and which tensor it is there.
/// Copyable, outlives its trace safely (resolve() then raises).
struct TracedTensor {
  uint64_t trace = 0;  // Trace::id(); 0 is no trace
  TensorId tensor;
  bool operator==(const TracedTensor&) const = default;
};

class Trace {
 public:
  explicit Trace(std::string name = "main");
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Unique in the process, never 0, never reused.
  uint64_t id() const { return id_; }

  // The user's position: put on every stage added from here on, and into every message.

  /// `line` <= 0 or an empty file: unknown.
  void set_source(std::string file, int line);
  /// What the user called ("matmul", "+", "compute"); operators set it for the time of their call.
  void set_operation(std::string operation);
  const SourceLine& source() const { return source_; }

  /// What is traced so far: add_input() and the functions beside it add to it. ErrorCode::Invalid
  /// once the trace is finished.
  Graph& open();
  const Graph& graph() const { return graph_; }
  /// open().pool: bodies are built in it; axes are numbered by position in the domain, output axes
  /// first.
  ExprPool& pool() { return open().pool; }
  /// ErrorCode::Invalid for a tensor that the trace does not have, and once it is finished.
  const TensorInfo& info(TensorId tensor) const;

  /// A weakly typed tensor takes the dtype of the other operands, as Python literals do: a float
  /// one adapts to float types, an integer one to any number. Results of operators whose operands
  /// are all weak are weak.
  bool is_weak(TensorId tensor) const { return weak_.contains(tensor.value); }
  void set_weak(TensorId tensor) { weak_.insert(tensor.value); }

  /// Ends the trace: the verified graph of what `outputs` need. Every later use raises
  /// ErrorCode::Invalid.
  Graph finish(std::span<const TensorId> outputs);

 private:
  void require_open() const;

  uint64_t id_;
  bool finished_ = false;
  Graph graph_;
  SourceLine source_;
  std::unordered_set<uint32_t> weak_;
};

/// Throws with "operation (file:line): what".
[[noreturn]] void fail(const Trace& trace, ErrorCode code, const std::string& what);
/// That prefix, or "" when nothing is known.
std::string where(const Trace& trace);
/// The same as the lines of a stage.
std::vector<SourceLine> source_lines(const Trace& trace);

// Tensors.

/// The next parameter of the graph. `weak`: a Python scalar passed as an argument; its dtype adapts
/// to what it meets (see is_weak). ErrorCode::Shape for a negative extent.
TensorId add_input(Trace& trace, std::string_view name, DType dtype, std::vector<int64_t> shape,
                   bool weak = false);
/// Row-major element data, copied. ErrorCode::Shape when the byte count does not fit.
TensorId add_constant(Trace& trace, std::string_view name, DType dtype, std::vector<int64_t> shape,
                      std::vector<std::byte> bytes);

inline const std::vector<int64_t>& shape_of(const Trace& trace, TensorId tensor) {
  return trace.info(tensor).shape;
}
inline DType dtype_of(const Trace& trace, TensorId tensor) { return trace.info(tensor).dtype; }
inline size_t rank_of(const Trace& trace, TensorId tensor) {
  return trace.info(tensor).shape.size();
}
/// Whether a tensor is 0 everywhere by how it is written: a constant of zeros, a stage that makes
/// them, or a view of one.
bool is_zero(const Trace& trace, TensorId tensor);

inline TracedTensor handle_of(const Trace& trace, TensorId tensor) { return {trace.id(), tensor}; }
/// The tensor of a handle. ErrorCode::Invalid when the handle belongs to another trace (a value
/// that escaped its function: return it instead) or this trace has been finished.
TensorId resolve(const Trace& trace, const TracedTensor& handle);

// Stages.

/// tensor[index], guarded by `predicate` when valid. Half types are cast to float32, in which they
/// are computed.
ExprId read(Trace& trace, TensorId tensor, std::span<const ExprId> index, ExprId predicate = {});
/// A Compute stage; one result per body, of the body's dtype.
std::vector<TensorId> add_compute(Trace& trace, std::string_view name, Domain domain,
                                  Combiner combiner, std::vector<ExprId> bodies,
                                  bool stop_gradient = false);
/// A Scatter stage (Stage::target says what it does) with a result of that shape and the body's
/// dtype.
TensorId add_scatter(Trace& trace, std::string_view name, std::vector<int64_t> shape, Domain domain,
                     CombinerKind kind, ExprId body, std::vector<ExprId> target, TensorId initial,
                     OutOfRange out_of_range);

/// "(3, 4)", "(3,)", "()".
std::string to_string(std::span<const int64_t> shape);

}  // namespace adjit::trace
