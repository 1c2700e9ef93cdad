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

class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, int depth)
      : graph_(graph), pool_(graph.pool), depth_(depth), defined_(graph.tensors.size(), false) {}

  void operator()() {
    if (depth_ > kMaxScanDepth) fail(ErrorCode::Invalid, "scans are nested too deeply");
    for (const TensorInfo& tensor : graph_.tensors) check_tensor(tensor);
    for (TensorId id : graph_.inputs) define(id);
    for (const ConstantData& constant : graph_.constants) check_constant(constant);
    for (const Stage& stage : graph_.stages) {
      stage_ = &stage;
      check_stage(stage);
      for (TensorId id : stage.results) define(id);
    }
    stage_ = nullptr;
    for (TensorId id : graph_.outputs) check_available(id, "an output");
  }

  void call(const Stage& stage) {
    stage_ = &stage;
    check_call(stage);
  }

 private:
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const {
    throw Error(code, (stage_ ? describe(graph_, *stage_) : "graph '" + graph_.name + "'") + ": " +
                          message);
  }
  void require(bool holds, ErrorCode code, const char* message) const {
    if (!holds) fail(code, message);
  }

  std::string named(TensorId id) const { return "'" + graph_.info(id).name + "'"; }

  void check_known(TensorId id) const {
    require(id.value < graph_.tensors.size(), ErrorCode::Invalid, "a tensor id is out of range");
  }
  void check_available(TensorId id, const std::string& what) const {
    check_known(id);
    if (!defined_[id.value])
      fail(ErrorCode::Invalid, what + " " + named(id) + " is not defined before it is used");
  }
  void define(TensorId id) {
    check_known(id);
    if (defined_[id.value]) fail(ErrorCode::Invalid, named(id) + " is defined twice");
    defined_[id.value] = true;
  }

  void check_tensor(const TensorInfo& tensor) const {
    for (int64_t extent : tensor.shape)
      if (extent < 0)
        fail(ErrorCode::Shape, "'" + tensor.name + "' has shape " + shape_text(tensor.shape));
    if (!is_countable(tensor.shape, static_cast<int64_t>(size_of(tensor.dtype))))
      fail(ErrorCode::Shape, "'" + tensor.name + "' of shape " + shape_text(tensor.shape) +
                                 " has more bytes than 64 bits can count");
  }

  void check_constant(const ConstantData& constant) {
    define(constant.tensor);
    const TensorInfo& info = graph_.info(constant.tensor);
    const size_t wanted = static_cast<size_t>(info.element_count()) * size_of(info.dtype);
    if (constant.bytes.size() != wanted)
      fail(ErrorCode::Shape, "constant " + named(constant.tensor) + " holds " +
                                 std::to_string(constant.bytes.size()) + " bytes, not " +
                                 std::to_string(wanted));
  }

  void check_stage(const Stage& stage) const {
    for (TensorId id : stage.results) check_known(id);
    for (TensorId id : stage.operands) check_available(id, "operand");
    require(!stage.results.empty(), ErrorCode::Invalid, "a stage without result");
    if (stage.kind == StageKind::Scan) return check_scan(stage);
    if (stage.kind == StageKind::Call) return check_call(stage);
    check_domain(stage.domain);
    require(stage.results.size() == stage.bodies.size(), ErrorCode::Invalid,
            "a stage needs one body per result");
    check_expressions(stage);
    check_results(stage);
    check_combiner(stage);
    verify_bounds(graph_, stage);
  }

  void check_domain(const Domain& domain) const {
    require(domain.output_rank <= domain.rank(), ErrorCode::Invalid, "more output axes than axes");
    for (int64_t extent : domain.extents)
      require(extent >= 0, ErrorCode::Shape, "an axis has a negative extent");
    require(is_countable(domain.extents), ErrorCode::Shape,
            "the domain has more points than 64 bits can count");
    for (size_t q = 0; q < domain.divisions.size(); ++q) {
      require(domain.divisions[q].divisor >= 1, ErrorCode::Invalid, "a divisor is not positive");
      require(domain.divisions[q].numerator.size() <= domain.rank() + q, ErrorCode::Invalid,
              "a division uses a later one");
    }
    for (const auto* rows : {&domain.inequalities, &domain.equalities})
      for (const Affine& row : *rows)
        require(row.size() <= domain.variable_count(), ErrorCode::Invalid,
                "a row of the domain uses a variable that it does not have");
  }

  void check_expressions(const Stage& stage) const {
    const std::vector<ExprId> roots = expressions_of(stage);
    for (ExprId root : roots)
      require(root.value < pool_.size(), ErrorCode::Invalid, "an expression id is out of range");
    for (ExprId id : reachable(pool_, roots)) {
      const Node& node = pool_[id];
      require(node.op != Op::Argument, ErrorCode::Invalid,
              "a body uses an argument, which only a custom combiner has");
      if (node.op == Op::Axis)
        require(node.dtype == DType::Int64 && node.payload < stage.domain.rank(),
                ErrorCode::Invalid, "a body uses an axis that the domain does not have");
      else if (node.op == Op::Read)
        check_read(id);
      else
        check_operation(id);
    }
  }

  void check_operation(ExprId id) const {
    const Node& node = pool_[id];
    if (info(node.op).rule == TypeRule::Leaf || node.op == Op::Cast) return;
    std::vector<DType> dtypes;
    for (ExprId operand : pool_.operands(id)) dtypes.push_back(pool_.dtype(operand));
    try {
      require(result_dtype(node.op, dtypes) == node.dtype, ErrorCode::DType,
              "an operation has a dtype that its operands do not give");
    } catch (const Error& error) {
      fail(error.code(), error.what());
    }
  }

  void check_read(ExprId id) const {
    const TensorId tensor = pool_.read_tensor(id);
    check_available(tensor, "the read tensor");
    const TensorInfo& t = graph_.info(tensor);
    const std::span<const ExprId> index = pool_.read_index(id);
    if (t.dtype != pool_.dtype(id))
      fail(ErrorCode::DType, named(tensor) + " is " + std::string(name_of(t.dtype)) +
                                 " but is read as " + std::string(name_of(pool_.dtype(id))));
    if (index.size() != t.shape.size())
      fail(ErrorCode::Shape, named(tensor) + " has shape " + shape_text(t.shape) +
                                 " but is read with " + std::to_string(index.size()) + " indices");
    for (ExprId coordinate : index)
      require(pool_.dtype(coordinate) == DType::Int64, ErrorCode::DType, "an index is not int64");
    const ExprId predicate = pool_.read_predicate(id);
    require(!predicate.valid() || pool_.dtype(predicate) == DType::Bool, ErrorCode::DType,
            "the predicate of a read is not bool");
  }

  void check_results(const Stage& stage) const {
    const bool scatter = stage.kind == StageKind::Scatter;
    const std::vector<int64_t> shape(
        stage.domain.extents.begin(),
        stage.domain.extents.begin() + static_cast<std::ptrdiff_t>(stage.domain.output_rank));
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const TensorInfo& result = graph_.info(stage.results[k]);
      if (result.dtype != pool_.dtype(stage.bodies[k]))
        fail(ErrorCode::DType, named(stage.results[k]) + " is " +
                                   std::string(name_of(result.dtype)) + " but its body is " +
                                   std::string(name_of(pool_.dtype(stage.bodies[k]))));
      if (!scatter && result.shape != shape)
        fail(ErrorCode::Shape, named(stage.results[k]) + " has shape " + shape_text(result.shape) +
                                   " but its output axes run over " + shape_text(shape));
    }
    if (!scatter) {
      require(stage.target.empty() && !stage.initial.valid(), ErrorCode::Invalid,
              "only a scatter has a target or an initial value");
      return;
    }
    const TensorInfo& result = graph_.info(stage.results[0]);
    require(stage.results.size() == 1, ErrorCode::Invalid, "a scatter has one result");
    require(stage.domain.output_rank == 0, ErrorCode::Invalid, "a scatter has no output axes");
    require(stage.target.size() == result.shape.size(), ErrorCode::Shape,
            "a scatter needs one target index per dimension of its result");
    for (ExprId index : stage.target)
      require(pool_.dtype(index) == DType::Int64, ErrorCode::DType, "a target index is not int64");
    if (!stage.initial.valid()) return;
    check_available(stage.initial, "the initial value");
    const TensorInfo& initial = graph_.info(stage.initial);
    require(initial.shape == result.shape && initial.dtype == result.dtype, ErrorCode::Shape,
            "a scatter and its initial value differ in shape or dtype");
  }

  void check_combiner(const Stage& stage) const {
    using Kind = CombinerKind;
    const Kind kind = stage.combiner.kind;
    const size_t n = stage.bodies.size();
    const DType dtype = pool_.dtype(stage.bodies[0]);
    const bool scatter = stage.kind == StageKind::Scatter;
    const bool simple = kind == Kind::Sum || kind == Kind::Product || kind == Kind::Max ||
                        kind == Kind::Min || kind == Kind::Any || kind == Kind::All;
    if (scatter)
      require(simple || kind == Kind::None, ErrorCode::Invalid,
              "a scatter combines with sum, product, max, min, any, all or not at all");
    if (kind == Kind::None)
      require(scatter || stage.domain.reduction_rank() == 0, ErrorCode::Invalid,
              "a stage with reduction axes needs a combiner");
    if (simple) require(n == 1, ErrorCode::Invalid, "this combiner takes one body");
    if (kind == Kind::Any || kind == Kind::All)
      require(dtype == DType::Bool, ErrorCode::DType, "any and all reduce bool");
    if (kind == Kind::ArgMax || kind == Kind::ArgMin)
      require(n == 2 && (pool_.dtype(stage.bodies[1]) == DType::Int64 ||
                         pool_.dtype(stage.bodies[1]) == DType::Int32),
              ErrorCode::DType, "argmax and argmin take a value and an index of int64 or int32");
    if (kind == Kind::Custom) check_custom(stage);
  }

  void check_custom(const Stage& stage) const {
    const Combiner& combiner = stage.combiner;
    const size_t n = stage.bodies.size();
    require(combiner.combine.size() == n && combiner.identity.size() == n, ErrorCode::Invalid,
            "a custom combiner needs one combined value and one identity per result");
    const auto dtype = [&](size_t k) { return accumulator_of(pool_.dtype(stage.bodies[k % n])); };
    for (size_t k = 0; k < n; ++k) {
      require(pool_.is(combiner.identity[k], Op::Constant), ErrorCode::Invalid,
              "the identity of a custom combiner is not constant");
      require(pool_.dtype(combiner.combine[k]) == dtype(k) &&
                  pool_.dtype(combiner.identity[k]) == dtype(k),
              ErrorCode::DType, "a custom combiner changes the dtype of what it combines");
    }
    for (ExprId id : reachable(pool_, combiner.combine)) {
      const Node& node = pool_[id];
      require(node.op != Op::Axis && node.op != Op::Read, ErrorCode::Invalid,
              "a custom combiner may use its arguments only");
      if (node.op == Op::Argument)
        require(node.payload < 2 * n && node.dtype == dtype(node.payload), ErrorCode::DType,
                "a custom combiner has an argument of another number or dtype");
      else
        check_operation(id);
    }
  }

  // Whether a tensor of the body fits one outside, whose leading axis (when `trips` is given) is
  // time.
  void check_fits(const TensorInfo& inner, TensorId outer, const int64_t* trips,
                  const char* what) const {
    const TensorInfo& out = graph_.info(outer);
    std::vector<int64_t> shape = inner.shape;
    if (trips != nullptr) shape.insert(shape.begin(), *trips);
    if (out.dtype != inner.dtype || out.shape != shape)
      fail(ErrorCode::Shape, std::string("a scan's ") + what + " " + named(outer) + " is " +
                                 std::string(name_of(out.dtype)) + shape_text(out.shape) +
                                 " where the step needs " + std::string(name_of(inner.dtype)) +
                                 shape_text(shape));
  }

  void check_scan(const Stage& stage) const {
    require(stage.scan && stage.scan->body, ErrorCode::Invalid, "a scan without a body");
    const Scan& scan = *stage.scan;
    const Graph& body = *scan.body;
    require(scan.trips >= 0, ErrorCode::Invalid, "a scan runs a negative number of steps");
    require(scan.segment >= 0, ErrorCode::Invalid, "a scan has segments of negative length");
    const size_t operands = scan.carries + scan.scanned + scan.fixed;
    require(stage.operands.size() == operands && body.inputs.size() == operands, ErrorCode::Invalid,
            "a scan and its step differ in their operands");
    const size_t results = scan.carries + scan.stacked;
    require(stage.results.size() == results && body.outputs.size() == results, ErrorCode::Invalid,
            "a scan and its step differ in their results");
    GraphVerifier(body, depth_ + 1)();
    if (scan.conditional) check_conditional(scan);
    const auto inside = [&](TensorId id) -> const TensorInfo& { return body.info(id); };
    for (size_t k = 0; k < operands; ++k) {
      const bool sliced = k >= scan.carries && k < scan.carries + scan.scanned;
      check_fits(inside(body.inputs[k]), stage.operands[k], sliced ? &scan.trips : nullptr,
                 "operand");
    }
    for (size_t k = 0; k < results; ++k)
      check_fits(inside(body.outputs[k]), stage.results[k],
                 k < scan.carries ? nullptr : &scan.trips, "result");
    for (size_t k = 0; k < scan.carries; ++k)
      require(inside(body.outputs[k]).dtype == inside(body.inputs[k]).dtype &&
                  inside(body.outputs[k]).shape == inside(body.inputs[k]).shape,
              ErrorCode::Shape, "a scan's step changes the shape or dtype of a carry");
  }

  // Whether a graph's tensors, in this order, fit tensors of this one.
  void check_signature(const Graph& inner, const std::vector<TensorId>& tensors,
                       std::span<const TensorId> outside, const char* what) const {
    require(tensors.size() == outside.size(), ErrorCode::Invalid,
            "a call and its function differ in their operands or results");
    for (size_t k = 0; k < tensors.size(); ++k) {
      const TensorInfo &in = inner.info(tensors[k]), &out = graph_.info(outside[k]);
      if (in.dtype != out.dtype || in.shape != out.shape)
        fail(ErrorCode::Shape, std::string("a call's ") + what + " " + named(outside[k]) +
                                   " does not fit '" + in.name + "' of its function");
    }
  }

  void check_call(const Stage& stage) const {
    require(!stage.callee.empty(), ErrorCode::Invalid, "a call without a name");
    if (!stage.call) return;
    const Call& call = *stage.call;
    require(call.body != nullptr, ErrorCode::Invalid, "a call without a body");
    require((call.forward == nullptr) == (call.backward == nullptr), ErrorCode::Invalid,
            "a call with a forward needs a backward, and the other way round");
    require(call.closed <= stage.operands.size(), ErrorCode::Invalid,
            "a call closes over more than its operands");
    GraphVerifier(*call.body, depth_ + 1)();
    check_signature(*call.body, call.body->inputs, stage.operands, "operand");
    check_signature(*call.body, call.body->outputs, stage.results, "result");
    if (call.forward) check_custom_call(stage, call);
  }

  // The forward's residuals and the cotangents of float results make the gradients of float
  // operands.
  void check_custom_call(const Stage& stage, const Call& call) const {
    const Graph &forward = *call.forward, &backward = *call.backward;
    GraphVerifier(forward, depth_ + 1)();
    GraphVerifier(backward, depth_ + 1)();
    check_signature(forward, forward.inputs, stage.operands, "operand");
    require(forward.outputs.size() >= stage.results.size(), ErrorCode::Invalid,
            "a call's forward has fewer outputs than the call");
    const auto first_residual =
        forward.outputs.begin() + static_cast<std::ptrdiff_t>(stage.results.size());
    check_signature(forward, {forward.outputs.begin(), first_residual}, stage.results, "result");
    std::vector<TensorInfo> given, wanted;
    for (auto at = first_residual; at != forward.outputs.end(); ++at)
      given.push_back(forward.info(*at));
    for (TensorId id : stage.results)
      if (is_float(graph_.info(id).dtype)) given.push_back(graph_.info(id));
    for (TensorId id : std::span(stage.operands).first(stage.operands.size() - call.closed))
      if (is_float(graph_.info(id).dtype)) wanted.push_back(graph_.info(id));
    check_backward(backward, backward.inputs, given, "inputs (residuals, then cotangents)");
    check_backward(backward, backward.outputs, wanted, "outputs (gradients of float operands)");
  }

  void check_backward(const Graph& backward, const std::vector<TensorId>& tensors,
                      const std::vector<TensorInfo>& wanted, const char* what) const {
    bool fits = tensors.size() == wanted.size();
    for (size_t k = 0; fits && k < tensors.size(); ++k)
      fits = backward.info(tensors[k]).dtype == wanted[k].dtype &&
             backward.info(tensors[k]).shape == wanted[k].shape;
    if (!fits)
      fail(ErrorCode::Shape,
           std::string("the backward of a call has other ") + what + " than its forward implies");
  }

  // The last carry of a conditional scan says whether to go on.
  void check_conditional(const Scan& scan) const {
    require(scan.trips == 0 && scan.scanned == 0 && scan.stacked == 0, ErrorCode::Invalid,
            "a conditional scan has no fixed number of steps: it scans and stacks nothing");
    const TensorInfo* last =
        scan.carries == 0 ? nullptr : &scan.body->info(scan.body->inputs[scan.carries - 1]);
    require(last != nullptr && last->dtype == DType::Bool && last->shape.empty(), ErrorCode::DType,
            "the last carry of a conditional scan is one bool: whether to go on");
  }

  const Graph& graph_;
  const ExprPool& pool_;
  int depth_;
  std::vector<bool> defined_;
  const Stage* stage_ = nullptr;
};

}  // namespace

void verify(const Graph& graph) { GraphVerifier(graph, 0)(); }

void verify_call(const Graph& graph, const Stage& stage) { GraphVerifier(graph, 0).call(stage); }

}  // namespace adjit::graph
