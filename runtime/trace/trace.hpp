// runtime/trace/trace.hpp -- a graph under construction.
//
// A trace collects inputs, constants and stages while the user's function runs on traced tensors.
// It knows nothing of operators (runtime/trace/ops) or of index notation (index_notation.hpp): both
// build stages through it.
//
// Worked example:
//   Trace trace("double_it");
//   trace.set_source("model.py", 12);
//   TensorId x = trace.input("x", DType::Float32, {4});
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
  bool finished() const { return finished_; }

  // The user's position: put on every stage added from here on, and into every message.

  /// `line` <= 0 or an empty file: unknown.
  void set_source(std::string file, int line);
  /// What the user called ("matmul", "+", "compute"); operators set it for the time of their call.
  void set_operation(std::string operation);
  const SourceLine& source() const { return source_; }

  // Tensors.

  /// The next parameter of the graph. `weak`: a Python scalar passed as an argument; its dtype
  /// adapts to what it meets (see is_weak). ErrorCode::Shape for a negative extent.
  TensorId input(std::string_view name, DType dtype, std::vector<int64_t> shape, bool weak = false);
  /// Row-major element data, copied. ErrorCode::Shape when the byte count does not fit.
  TensorId constant(std::string_view name, DType dtype, std::vector<int64_t> shape,
                    std::vector<std::byte> bytes);
  const TensorInfo& info(TensorId tensor) const;
  const std::vector<int64_t>& shape(TensorId tensor) const { return info(tensor).shape; }
  DType dtype(TensorId tensor) const { return info(tensor).dtype; }
  size_t rank(TensorId tensor) const { return info(tensor).shape.size(); }

  /// A weakly typed tensor takes the dtype of the other operands, as Python literals do: a float
  /// one adapts to float types, an integer one to any number. Results of operators whose operands
  /// are all weak are weak.
  bool is_weak(TensorId tensor) const { return weak_.contains(tensor.value); }
  void set_weak(TensorId tensor) { weak_.insert(tensor.value); }

  /// Whether a tensor is 0 everywhere by how it is written: a constant of zeros, a stage that makes
  /// them, or a view of one.
  bool is_zero(TensorId tensor) const;

  TracedTensor handle(TensorId tensor) const { return {id_, tensor}; }
  /// The tensor of a handle. ErrorCode::Invalid when the handle belongs to another trace (a value
  /// that escaped its function: return it instead) or this trace has been finished.
  TensorId resolve(const TracedTensor& handle) const;

  // Stages. Bodies are built in pool(); axes are numbered by position in the domain, output axes
  // first.

  ExprPool& pool();
  const Graph& graph() const { return graph_; }
  /// tensor[index], guarded by `predicate` when valid. Half types are cast to float32, in which
  /// they are computed.
  ExprId read(TensorId tensor, std::span<const ExprId> index, ExprId predicate = {});
  /// A Compute stage; one result per body, of the body's dtype.
  std::vector<TensorId> compute(std::string_view name, Domain domain, Combiner combiner,
                                std::vector<ExprId> bodies, bool stop_gradient = false);
  /// A Scatter stage (Stage::target says what it does) with a result of that shape and the body's
  /// dtype.
  TensorId scatter(std::string_view name, std::vector<int64_t> shape, Domain domain,
                   CombinerKind kind, ExprId body, std::vector<ExprId> target, TensorId initial,
                   OutOfRange out_of_range);
  /// A Scan stage: final carries, then stacked results (see struct Scan). ErrorCode::Shape / DType
  /// when the operands do not fit the body's inputs, or the body changes a carry's shape or dtype.
  std::vector<TensorId> scan(Scan scan, std::span<const TensorId> operands);
  /// A Call stage (see struct Call): the function's results. ErrorCode::Shape / DType when the
  /// operands do not fit, or forward and backward do not fit the body.
  std::vector<TensorId> call_apart(Call call, std::span<const TensorId> operands);
  /// Splices a graph into this one: its inputs become `arguments`, its outputs are returned. Its
  /// stages keep their source lines. ErrorCode::Shape / DType name the argument that does not fit.
  std::vector<TensorId> call(const Graph& callee, std::span<const TensorId> arguments);

  /// Ends the trace: the verified graph of what `outputs` need. Every later use raises
  /// ErrorCode::Invalid.
  Graph finish(std::span<const TensorId> outputs);

  /// Throws with "operation (file:line): what".
  [[noreturn]] void fail(ErrorCode code, const std::string& what) const;
  /// That prefix, or "" when nothing is known.
  std::string where() const;

 private:
  void require_open() const;
  std::vector<SourceLine> lines() const;

  uint64_t id_;
  bool finished_ = false;
  Graph graph_;
  SourceLine source_;
  std::unordered_set<uint32_t> weak_;
};

/// "(3, 4)", "(3,)", "()".
std::string to_string(std::span<const int64_t> shape);

}  // namespace adjit::trace
