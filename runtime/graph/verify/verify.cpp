// runtime/graph/verify/verify.cpp -- the structure of a graph: order, ranks, dtypes, combiners,
// scans.
#include "runtime/graph/verify/verify.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "runtime/graph/verify/verify_bounds.hpp"

namespace adjit::graph {
namespace {

constexpr int kMaxScanDepth = 64;

// A graph as far as it is verified.
struct Verification {
  Verification(const Graph& whole, int scans_around)
      : graph(whole), pool(whole.pool), depth(scans_around), defined(whole.tensors.size(), false) {}

  const Graph& graph;
  const ExprPool& pool;
  int depth;
  std::vector<bool> defined;
  const Stage* stage = nullptr;  // that is looked at
};

// A whole graph, so many scans and calls deep.
void verify_at(const Graph& graph, int depth);

[[noreturn]] void fail(const Verification& v, ErrorCode code, const std::string& message) {
  throw Error(code, (v.stage ? describe(v.graph, *v.stage) : "graph '" + v.graph.name + "'") +
                        ": " + message);
}

std::string quoted(const Verification& v, TensorId id) { return "'" + v.graph.info(id).name + "'"; }

void require(const Verification& v, bool holds, ErrorCode code, const char* message) {
  if (!holds) fail(v, code, message);
}

void check_known(const Verification& v, TensorId id) {
  require(v, id.value < v.graph.tensors.size(), ErrorCode::Invalid, "a tensor id is out of range");
}

void check_available(const Verification& v, TensorId id, const std::string& what) {
  check_known(v, id);
  if (!v.defined[id.value])
    fail(v, ErrorCode::Invalid, what + " " + quoted(v, id) + " is not defined before it is used");
}

void define(Verification& v, TensorId id) {
  check_known(v, id);
  if (v.defined[id.value]) fail(v, ErrorCode::Invalid, quoted(v, id) + " is defined twice");
  v.defined[id.value] = true;
}

void check_tensor(const Verification& v, const TensorInfo& tensor) {
  for (int64_t extent : tensor.shape)
    if (extent < 0)
      fail(v, ErrorCode::Shape, "'" + tensor.name + "' has shape " + shape_text(tensor.shape));
  if (!is_countable(tensor.shape, static_cast<int64_t>(size_of(tensor.dtype))))
    fail(v, ErrorCode::Shape,
         "'" + tensor.name + "' of shape " + shape_text(tensor.shape) +
             " has more bytes than 64 bits can count");
}

void check_constant(Verification& v, const ConstantData& constant) {
  define(v, constant.tensor);
  const TensorInfo& info = v.graph.info(constant.tensor);
  const size_t wanted = static_cast<size_t>(info.element_count()) * size_of(info.dtype);
  if (constant.bytes.size() != wanted)
    fail(v, ErrorCode::Shape,
         "constant " + quoted(v, constant.tensor) + " holds " +
             std::to_string(constant.bytes.size()) + " bytes, not " + std::to_string(wanted));
}

void check_domain(const Verification& v, const Domain& domain) {
  require(v, domain.output_rank <= domain.rank(), ErrorCode::Invalid, "more output axes than axes");
  for (int64_t extent : domain.extents)
    require(v, extent >= 0, ErrorCode::Shape, "an axis has a negative extent");
  require(v, is_countable(domain.extents), ErrorCode::Shape,
          "the domain has more points than 64 bits can count");
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    require(v, domain.divisions[q].divisor >= 1, ErrorCode::Invalid, "a divisor is not positive");
    require(v, domain.divisions[q].numerator.size() <= domain.rank() + q, ErrorCode::Invalid,
            "a division uses a later one");
  }
  for (const auto* rows : {&domain.inequalities, &domain.equalities})
    for (const Affine& row : *rows)
      require(v, row.size() <= domain.variable_count(), ErrorCode::Invalid,
              "a row of the domain uses a variable that it does not have");
}

void check_operation(const Verification& v, ExprId id) {
  const Node& node = v.pool[id];
  if (info(node.op).rule == TypeRule::Leaf || node.op == Op::Cast) return;
  std::vector<DType> dtypes;
  for (ExprId operand : v.pool.operands(id)) dtypes.push_back(v.pool.dtype(operand));
  try {
    require(v, result_dtype(node.op, dtypes) == node.dtype, ErrorCode::DType,
            "an operation has a dtype that its operands do not give");
  } catch (const Error& error) {
    fail(v, error.code(), error.what());
  }
}

void check_read(const Verification& v, ExprId id) {
  const TensorId tensor = v.pool.read_tensor(id);
  check_available(v, tensor, "the read tensor");
  const TensorInfo& t = v.graph.info(tensor);
  const std::span<const ExprId> index = v.pool.read_index(id);
  if (t.dtype != v.pool.dtype(id))
    fail(v, ErrorCode::DType,
         quoted(v, tensor) + " is " + std::string(name_of(t.dtype)) + " but is read as " +
             std::string(name_of(v.pool.dtype(id))));
  if (index.size() != t.shape.size())
    fail(v, ErrorCode::Shape,
         quoted(v, tensor) + " has shape " + shape_text(t.shape) + " but is read with " +
             std::to_string(index.size()) + " indices");
  for (ExprId coordinate : index)
    require(v, v.pool.dtype(coordinate) == DType::Int64, ErrorCode::DType, "an index is not int64");
  const ExprId predicate = v.pool.read_predicate(id);
  require(v, !predicate.valid() || v.pool.dtype(predicate) == DType::Bool, ErrorCode::DType,
          "the predicate of a read is not bool");
}

void check_expressions(const Verification& v, const Stage& stage) {
  const std::vector<ExprId> roots = expressions_of(stage);
  for (ExprId root : roots)
    require(v, root.value < v.pool.size(), ErrorCode::Invalid, "an expression id is out of range");
  for (ExprId id : reachable(v.pool, roots)) {
    const Node& node = v.pool[id];
    require(v, node.op != Op::Argument, ErrorCode::Invalid,
            "a body uses an argument, which only a custom combiner has");
    if (node.op == Op::Axis)
      require(v, node.dtype == DType::Int64 && node.payload < stage.domain.rank(),
              ErrorCode::Invalid, "a body uses an axis that the domain does not have");
    else if (node.op == Op::Read)
      check_read(v, id);
    else
      check_operation(v, id);
  }
}

void check_results(const Verification& v, const Stage& stage) {
  const bool scatter = stage.kind == StageKind::Scatter;
  const std::vector<int64_t> shape(
      stage.domain.extents.begin(),
      stage.domain.extents.begin() + static_cast<std::ptrdiff_t>(stage.domain.output_rank));
  for (size_t k = 0; k < stage.results.size(); ++k) {
    const TensorInfo& result = v.graph.info(stage.results[k]);
    if (result.dtype != v.pool.dtype(stage.bodies[k]))
      fail(v, ErrorCode::DType,
           quoted(v, stage.results[k]) + " is " + std::string(name_of(result.dtype)) +
               " but its body is " + std::string(name_of(v.pool.dtype(stage.bodies[k]))));
    if (!scatter && result.shape != shape)
      fail(v, ErrorCode::Shape,
           quoted(v, stage.results[k]) + " has shape " + shape_text(result.shape) +
               " but its output axes run over " + shape_text(shape));
  }
  if (!scatter) {
    require(v, stage.target.empty() && !stage.initial.valid(), ErrorCode::Invalid,
            "only a scatter has a target or an initial value");
    return;
  }
  const TensorInfo& result = v.graph.info(stage.results[0]);
  require(v, stage.results.size() == 1, ErrorCode::Invalid, "a scatter has one result");
  require(v, stage.domain.output_rank == 0, ErrorCode::Invalid, "a scatter has no output axes");
  require(v, stage.target.size() == result.shape.size(), ErrorCode::Shape,
          "a scatter needs one target index per dimension of its result");
  for (ExprId index : stage.target)
    require(v, v.pool.dtype(index) == DType::Int64, ErrorCode::DType,
            "a target index is not int64");
  if (!stage.initial.valid()) return;
  check_available(v, stage.initial, "the initial value");
  const TensorInfo& initial = v.graph.info(stage.initial);
  require(v, initial.shape == result.shape && initial.dtype == result.dtype, ErrorCode::Shape,
          "a scatter and its initial value differ in shape or dtype");
}

void check_custom(const Verification& v, const Stage& stage) {
  const Combiner& combiner = stage.combiner;
  const size_t n = stage.bodies.size();
  require(v, combiner.combine.size() == n && combiner.identity.size() == n, ErrorCode::Invalid,
          "a custom combiner needs one combined value and one identity per result");
  const auto dtype = [&](size_t k) { return accumulator_of(v.pool.dtype(stage.bodies[k % n])); };
  for (size_t k = 0; k < n; ++k) {
    require(v, v.pool.is(combiner.identity[k], Op::Constant), ErrorCode::Invalid,
            "the identity of a custom combiner is not constant");
    require(v,
            v.pool.dtype(combiner.combine[k]) == dtype(k) &&
                v.pool.dtype(combiner.identity[k]) == dtype(k),
            ErrorCode::DType, "a custom combiner changes the dtype of what it combines");
  }
  for (ExprId id : reachable(v.pool, combiner.combine)) {
    const Node& node = v.pool[id];
    require(v, node.op != Op::Axis && node.op != Op::Read, ErrorCode::Invalid,
            "a custom combiner may use its arguments only");
    if (node.op == Op::Argument)
      require(v, node.payload < 2 * n && node.dtype == dtype(node.payload), ErrorCode::DType,
              "a custom combiner has an argument of another number or dtype");
    else
      check_operation(v, id);
  }
}

void check_combiner(const Verification& v, const Stage& stage) {
  using Kind = CombinerKind;
  const Kind kind = stage.combiner.kind;
  const size_t n = stage.bodies.size();
  const DType dtype = v.pool.dtype(stage.bodies[0]);
  const bool scatter = stage.kind == StageKind::Scatter;
  const bool simple = kind == Kind::Sum || kind == Kind::Product || kind == Kind::Max ||
                      kind == Kind::Min || kind == Kind::Any || kind == Kind::All;
  if (scatter)
    require(v, simple || kind == Kind::None, ErrorCode::Invalid,
            "a scatter combines with sum, product, max, min, any, all or not at all");
  if (kind == Kind::None)
    require(v, scatter || stage.domain.reduction_rank() == 0, ErrorCode::Invalid,
            "a stage with reduction axes needs a combiner");
  if (simple) require(v, n == 1, ErrorCode::Invalid, "this combiner takes one body");
  if (kind == Kind::Any || kind == Kind::All)
    require(v, dtype == DType::Bool, ErrorCode::DType, "any and all reduce bool");
  if (kind == Kind::ArgMax || kind == Kind::ArgMin)
    require(v,
            n == 2 && (v.pool.dtype(stage.bodies[1]) == DType::Int64 ||
                       v.pool.dtype(stage.bodies[1]) == DType::Int32),
            ErrorCode::DType, "argmax and argmin take a value and an index of int64 or int32");
  if (kind == Kind::Custom) check_custom(v, stage);
}

// Whether a tensor of the body fits one outside, whose leading axis (when `trips` is given) is
// time.
void check_fits(const Verification& v, const TensorInfo& inner, TensorId outer,
                const int64_t* trips, const char* what) {
  const TensorInfo& out = v.graph.info(outer);
  std::vector<int64_t> shape = inner.shape;
  if (trips != nullptr) shape.insert(shape.begin(), *trips);
  if (out.dtype != inner.dtype || out.shape != shape)
    fail(v, ErrorCode::Shape,
         std::string("a scan's ") + what + " " + quoted(v, outer) + " is " +
             std::string(name_of(out.dtype)) + shape_text(out.shape) + " where the step needs " +
             std::string(name_of(inner.dtype)) + shape_text(shape));
}

// The last carry of a conditional scan says whether to go on.
void check_conditional(const Verification& v, const Scan& scan) {
  require(v, scan.trips == 0 && scan.scanned == 0 && scan.stacked == 0, ErrorCode::Invalid,
          "a conditional scan has no fixed number of steps: it scans and stacks nothing");
  const TensorInfo* last =
      scan.carries == 0 ? nullptr : &scan.body->info(scan.body->inputs[scan.carries - 1]);
  require(v, last != nullptr && last->dtype == DType::Bool && last->shape.empty(), ErrorCode::DType,
          "the last carry of a conditional scan is one bool: whether to go on");
}

void check_scan(const Verification& v, const Stage& stage) {
  require(v, stage.scan && stage.scan->body, ErrorCode::Invalid, "a scan without a body");
  const Scan& scan = *stage.scan;
  const Graph& body = *scan.body;
  require(v, scan.trips >= 0, ErrorCode::Invalid, "a scan runs a negative number of steps");
  require(v, scan.segment >= 0, ErrorCode::Invalid, "a scan has segments of negative length");
  const size_t operands = scan.carries + scan.scanned + scan.fixed;
  require(v, stage.operands.size() == operands && body.inputs.size() == operands,
          ErrorCode::Invalid, "a scan and its step differ in their operands");
  const size_t results = scan.carries + scan.stacked;
  require(v, stage.results.size() == results && body.outputs.size() == results, ErrorCode::Invalid,
          "a scan and its step differ in their results");
  verify_at(body, v.depth + 1);
  if (scan.conditional) check_conditional(v, scan);
  const auto inside = [&](TensorId id) -> const TensorInfo& { return body.info(id); };
  for (size_t k = 0; k < operands; ++k) {
    const bool sliced = k >= scan.carries && k < scan.carries + scan.scanned;
    check_fits(v, inside(body.inputs[k]), stage.operands[k], sliced ? &scan.trips : nullptr,
               "operand");
  }
  for (size_t k = 0; k < results; ++k)
    check_fits(v, inside(body.outputs[k]), stage.results[k],
               k < scan.carries ? nullptr : &scan.trips, "result");
  for (size_t k = 0; k < scan.carries; ++k)
    require(v,
            inside(body.outputs[k]).dtype == inside(body.inputs[k]).dtype &&
                inside(body.outputs[k]).shape == inside(body.inputs[k]).shape,
            ErrorCode::Shape, "a scan's step changes the shape or dtype of a carry");
}

// Whether a graph's tensors, in this order, fit tensors of this one.
void check_signature(const Verification& v, const Graph& inner,
                     const std::vector<TensorId>& tensors, std::span<const TensorId> outside,
                     const char* what) {
  require(v, tensors.size() == outside.size(), ErrorCode::Invalid,
          "a call and its function differ in their operands or results");
  for (size_t k = 0; k < tensors.size(); ++k) {
    const TensorInfo &in = inner.info(tensors[k]), &out = v.graph.info(outside[k]);
    if (in.dtype != out.dtype || in.shape != out.shape)
      fail(v, ErrorCode::Shape,
           std::string("a call's ") + what + " " + quoted(v, outside[k]) + " does not fit '" +
               in.name + "' of its function");
  }
}

void check_backward(const Verification& v, const Graph& backward,
                    const std::vector<TensorId>& tensors, const std::vector<TensorInfo>& wanted,
                    const char* what) {
  bool fits = tensors.size() == wanted.size();
  for (size_t k = 0; fits && k < tensors.size(); ++k)
    fits = backward.info(tensors[k]).dtype == wanted[k].dtype &&
           backward.info(tensors[k]).shape == wanted[k].shape;
  if (!fits)
    fail(v, ErrorCode::Shape,
         std::string("the backward of a call has other ") + what + " than its forward implies");
}

// The forward's residuals and the cotangents of float results make the gradients of float
// operands.
void check_custom_call(const Verification& v, const Stage& stage, const Call& call) {
  const Graph &forward = *call.forward, &backward = *call.backward;
  verify_at(forward, v.depth + 1);
  verify_at(backward, v.depth + 1);
  check_signature(v, forward, forward.inputs, stage.operands, "operand");
  require(v, forward.outputs.size() >= stage.results.size(), ErrorCode::Invalid,
          "a call's forward has fewer outputs than the call");
  const auto first_residual =
      forward.outputs.begin() + static_cast<std::ptrdiff_t>(stage.results.size());
  check_signature(v, forward, {forward.outputs.begin(), first_residual}, stage.results, "result");
  std::vector<TensorInfo> given, wanted;
  for (auto at = first_residual; at != forward.outputs.end(); ++at)
    given.push_back(forward.info(*at));
  for (TensorId id : stage.results)
    if (is_float(v.graph.info(id).dtype)) given.push_back(v.graph.info(id));
  for (TensorId id : std::span(stage.operands).first(stage.operands.size() - call.closed))
    if (is_float(v.graph.info(id).dtype)) wanted.push_back(v.graph.info(id));
  check_backward(v, backward, backward.inputs, given, "inputs (residuals, then cotangents)");
  check_backward(v, backward, backward.outputs, wanted, "outputs (gradients of float operands)");
}

void check_call(const Verification& v, const Stage& stage) {
  require(v, !stage.callee.empty(), ErrorCode::Invalid, "a call without a name");
  if (!stage.call) return;
  const Call& call = *stage.call;
  require(v, call.body != nullptr, ErrorCode::Invalid, "a call without a body");
  require(v, (call.forward == nullptr) == (call.backward == nullptr), ErrorCode::Invalid,
          "a call with a forward needs a backward, and the other way round");
  require(v, call.closed <= stage.operands.size(), ErrorCode::Invalid,
          "a call closes over more than its operands");
  verify_at(*call.body, v.depth + 1);
  check_signature(v, *call.body, call.body->inputs, stage.operands, "operand");
  check_signature(v, *call.body, call.body->outputs, stage.results, "result");
  if (call.forward) check_custom_call(v, stage, call);
}

void check_stage(const Verification& v, const Stage& stage) {
  for (TensorId id : stage.results) check_known(v, id);
  for (TensorId id : stage.operands) check_available(v, id, "operand");
  require(v, !stage.results.empty(), ErrorCode::Invalid, "a stage without result");
  if (stage.kind == StageKind::Scan) return check_scan(v, stage);
  if (stage.kind == StageKind::Call) return check_call(v, stage);
  check_domain(v, stage.domain);
  require(v, stage.results.size() == stage.bodies.size(), ErrorCode::Invalid,
          "a stage needs one body per result");
  check_expressions(v, stage);
  check_results(v, stage);
  check_combiner(v, stage);
  verify_bounds(v.graph, stage);
}

void check_graph(Verification& v) {
  if (v.depth > kMaxScanDepth) fail(v, ErrorCode::Invalid, "scans are nested too deeply");
  for (const TensorInfo& tensor : v.graph.tensors) check_tensor(v, tensor);
  for (TensorId id : v.graph.inputs) define(v, id);
  for (const ConstantData& constant : v.graph.constants) check_constant(v, constant);
  for (const Stage& stage : v.graph.stages) {
    v.stage = &stage;
    check_stage(v, stage);
    for (TensorId id : stage.results) define(v, id);
  }
  v.stage = nullptr;
  for (TensorId id : v.graph.outputs) check_available(v, id, "an output");
}

void verify_at(const Graph& graph, int depth) {
  Verification v(graph, depth);
  check_graph(v);
}

}  // namespace

void verify(const Graph& graph) { verify_at(graph, 0); }

void verify_call(const Graph& graph, const Stage& stage) {
  Verification v(graph, 0);
  v.stage = &stage;
  check_call(v, stage);
}

}  // namespace adjit::graph
