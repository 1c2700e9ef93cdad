// runtime/graph/graph.hpp -- what a computation is: tensors, stages, graphs. Plain values.
//
// A stage defines one tensor, or a tuple of tensors over the same axes, by an iteration domain, a
// combiner and one scalar body per tuple component. A graph is an ordered list of stages: a stage
// reads inputs, constants and the results of earlier stages only. Shapes are concrete. Graphs are
// values: every transformation is a pure function Graph -> Graph.
//
// Worked example, C = A B with A 4x6, B 6x5:
//   tensors: A (input), B (input), C;  one stage: domain {extents {4, 5, 6}, output_rank 2},
//   combiner Sum, bodies { A[axis0, axis2] * B[axis2, axis1] }, results { C }.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/expr/expr.hpp"
#include "runtime/graph/domain.hpp"

namespace adjit::graph {

/// Where the user wrote it. Outside hashing and keys; merged stages keep all of theirs.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string operation;  // what the user called: "matmul", "compute", "+"
  bool operator==(const SourceLine&) const = default;
};
/// "file.py:12 (matmul)", or "" when unknown.
std::string to_string(const SourceLine& line);

struct TensorInfo {
  std::string name;  // unique within its graph, an identifier of the text notation
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;  // row-major meaning; strides belong to buffers, not to tensors
  int64_t element_count() const;
  double bytes() const {
    return static_cast<double>(element_count()) * static_cast<double>(size_of(dtype));
  }
};

/// How a stage folds its body over the reduction axes.
enum class CombinerKind : uint8_t {
  None,     // no reduction axes: result = body
  Sum,      // identity 0. A body that is a product accumulates with fma (where the CPU has it)
  Product,  // identity 1
  Max,      // identity -inf (lowest integer); NaN wins
  Min,      // identity +inf (highest integer); NaN wins
  ArgMax,   // two bodies (value, int64 or int32 payload) and two results: the first of the largest
            // values; NaN wins
  ArgMin,   // likewise
  Any,      // bool, identity false
  All,      // bool, identity true
  Custom,   // associative, n-tuple: combine[k] over argument(0..n-1) = left, argument(n..2n-1) =
            // right
};
std::string_view name_of(CombinerKind kind);

/// How max/min share a cotangent among equal winners.
enum class Ties : uint8_t { Even, First };

struct Combiner {
  CombinerKind kind = CombinerKind::None;
  Ties ties = Ties::Even;
  std::vector<ExprId> combine;   // Custom only
  std::vector<ExprId> identity;  // Custom only: constants
};

enum class StageKind : uint8_t {
  Compute,  // results[k][output axes] = combiner over the domain of bodies[k]
  Scatter,  // results[0][target(axes)] combined with bodies[0] over the whole domain; see `target`
  Scan,     // a sub-graph iterated over time
  Call,     // a function: opaque, or a sub-graph whose derivative is a matter of its own
};

/// What a scatter does with a target index out of range.
enum class OutOfRange : uint8_t { Error, Drop, Clip, Wrap };

struct Graph;

/// A loop over time t = 0 .. trips-1 (or backwards). The body's inputs are, in order: the carries,
/// one slice per scanned operand (its leading axis indexed by t), the fixed operands. Its outputs:
/// the next carries (same shapes and dtypes), then one slice per stacked result. The stage's
/// operands are the initial carries, the scanned, the fixed; its results the final carries, then
/// the stacked results (leading axis: trips).
///
/// In a conditional scan the number of steps depends on data: the last carry is one bool, and steps
/// run as long as it is true. Nothing is scanned or stacked, and `trips` is 0. There is no reverse
/// mode.
struct Scan {
  std::shared_ptr<const Graph> body;
  int64_t trips = 0;
  size_t carries = 0, scanned = 0, fixed = 0, stacked = 0;
  bool reverse = false;
  int64_t segment = 0;       // > 0: the derivative keeps the carries of every segment-th step only
  bool conditional = false;  // as long as the last carry is true
};

/// A sub-graph called as one stage, because reverse mode does not derive its stages one by one:
///  - recompute: the derivative computes the body's intermediates again instead of keeping them;
///  - custom (`forward` is set): reverse mode runs `forward` in the body's place, and `backward` on
///    what that leaves.
/// With neither the stage means its body and nothing else. runtime/diff/reverse/calls.hpp expands
/// calls.
struct Call {
  std::shared_ptr<const Graph> body;  // operands -> results
  bool recompute = false;
  std::shared_ptr<const Graph> forward;  // operands -> results, then residuals
  /// Residuals, then a cotangent for each float result -> a gradient for each float operand that is
  /// not `closed`.
  std::shared_ptr<const Graph> backward;
  size_t closed = 0;  // the last operands, which the function closes over: no gradient reaches them
};

struct Stage {
  StageKind kind = StageKind::Compute;
  std::vector<TensorId> results;  // one per tuple component
  Domain domain;                  // Compute, Scatter
  Combiner combiner;  // Compute, Scatter (Sum, Product, Max, Min, or None: the last writer in
                      // domain order wins)
  std::vector<ExprId> bodies;  // Compute, Scatter; scalar expressions over the domain's axes
  /// Scatter: all axes of the domain are "reduction" axes (output_rank 0); `target` gives one Int64
  /// expression per dimension of the result. The result starts as a copy of `initial` when valid,
  /// else as the combiner's identity (0 for None).
  std::vector<ExprId> target;
  TensorId initial;
  OutOfRange out_of_range = OutOfRange::Error;
  std::shared_ptr<const Scan> scan;  // Scan
  std::string callee;                // Call: the function's name
  std::shared_ptr<const Call> call;  // Call: what it does; null: opaque
  std::vector<TensorId> operands;    // Scan, Call: the tensors they read
  bool stop_gradient = false;        // the derivative sees a constant here
  uint32_t region = 0;  // stages of different regions compute the same twice: they never merge
  std::vector<SourceLine> lines;
};

/// A point of a Compute stage where the domain's rows exclude every reduction point holds the
/// combiner's identity, or 0 for None. (Max over nothing is -inf, as the identity says; the tracer
/// refuses empty max/min as NumPy does.)
///
/// Constants are tensors with data (element layout as in memory, row-major).
struct ConstantData {
  TensorId tensor;
  std::vector<std::byte> bytes;
};

struct Graph {
  std::string name = "main";
  ExprPool pool;
  std::vector<TensorInfo> tensors;
  std::vector<TensorId> inputs;
  std::vector<ConstantData> constants;
  std::vector<Stage> stages;
  std::vector<TensorId> outputs;  // inputs may be outputs; a tensor may be output twice

  const TensorInfo& info(TensorId id) const { return tensors[id.value]; }
};

/// Adds a tensor; `name` is made an identifier and unique by a suffix.
TensorId add_tensor(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape);
TensorId add_input(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape);
TensorId add_constant(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape,
                      std::vector<std::byte> bytes);
/// Adds a Compute stage over a domain whose bodies have been built in graph.pool; result dtypes are
/// the bodies'. Returns its results' ids (one per body).
std::vector<TensorId> add_compute(Graph& graph, std::string_view name, Domain domain,
                                  Combiner combiner, std::vector<ExprId> bodies,
                                  std::vector<SourceLine> lines = {});
/// graph.pool.read(tensor, index) with the tensor's dtype.
ExprId read(Graph& graph, TensorId tensor, std::span<const ExprId> index, ExprId predicate = {});
/// Which stage defines a tensor (index into stages), per tensor; SIZE_MAX for inputs and constants.
std::vector<size_t> defining_stages(const Graph& graph);
/// Tensors that a stage reads (through bodies, target, predicates, initial, operands), ascending,
/// each once.
std::vector<TensorId> tensors_read(const Graph& graph, const Stage& stage);
/// What a stage evaluates at a point: its bodies, and a scatter's target.
std::vector<ExprId> expressions_of(const Stage& stage);

/// The affine form of an Int64 expression over the domain's variables, adding divisions to `domain`
/// for // and % by positive constants; nullopt when it is not quasi-affine (reads a tensor,
/// multiplies axes) or when its value may leave int64, and so wrap, in the domain's box.
std::optional<Affine> as_affine(const ExprPool& pool, ExprId expr, Domain& domain);
/// The expression of an affine form: variable k < rank is axis(k), a division is its FloorDiv.
ExprId to_expr(ExprPool& pool, const Affine& form, const Domain& domain);

/// A copy that holds only what the outputs need: dead stages, tensors and expression nodes dropped,
/// ids renumbered in order; all inputs are kept. Order of stages is unchanged.
Graph compact(const Graph& graph);
Graph compact(Graph&& graph);  // takes the stages instead of copying them

/// 128-bit content hash as 32 hex digits: equal for graphs equal up to tensor names, source lines
/// and dead parts.
std::string content_hash(const Graph& graph);

/// "(2, 3)", for messages.
std::string shape_text(std::span<const int64_t> shape);

}  // namespace adjit::graph
