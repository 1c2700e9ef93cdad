// runtime/graph/parse/instantiate.cpp -- definitions, constants, scans and calls to graphs.
#include "runtime/graph/parse/instantiate.hpp"

#include <algorithm>
#include <utility>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/parse/statement_builder.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

using Role = ParameterSyntax::Role;

void build_block(Block& block, std::span<const StatementSyntax> statements);

// Matches a declared type with a shape: binds new symbols, compares the rest.
void bind_shape(Block& block, const ParameterSyntax& parameter, std::span<const int64_t> shape) {
  SymbolTable& scope = block.scope;
  const std::vector<SyntaxId>& extents = parameter.type->extents;
  const std::string name(parameter.name);
  const auto mismatch = [&](uint32_t offset, const std::string& message) {
    throw Error(ErrorCode::Shape, located(*scope.source, offset, message));
  };
  if (shape.size() != extents.size())
    mismatch(parameter.offset, "'" + name + "' is declared with " + std::to_string(extents.size()) +
                                   " dimensions but has shape " + shape_text(shape));
  for (size_t k = 0; k < shape.size(); ++k) {
    const SyntaxNode& node = scope.node(extents[k]);
    if (node.kind == SyntaxKind::Name && !scope.symbols.contains(node.text)) {
      scope.symbols.emplace(node.text, shape[k]);
      continue;
    }
    const int64_t declared = evaluate_integer(scope, extents[k]);
    if (declared != shape[k])
      mismatch(node.offset, (node.kind == SyntaxKind::Name ? "'" + std::string(node.text) + "' is "
                                                           : "this is ") +
                                std::to_string(declared) + ", but dimension " + std::to_string(k) +
                                " of '" + name + "' is " + std::to_string(shape[k]));
  }
}

void add_parameter(Block& block, const ParameterSyntax& parameter, DType dtype,
                   std::vector<int64_t> shape) {
  if (parameter.type->dtype != dtype)
    throw Error(ErrorCode::DType, located(*block.scope.source, parameter.offset,
                                          "'" + std::string(parameter.name) + "' is declared " +
                                              std::string(name_of(parameter.type->dtype)) +
                                              " but is given " + std::string(name_of(dtype))));
  if (block.scope.tensors.contains(parameter.name))
    block.scope.fail(parameter.offset,
                     "two inputs are called '" + std::string(parameter.name) + "'");
  const TensorId id = block.declare({parameter.name, parameter.offset}, dtype, std::move(shape));
  block.scope.graph->inputs.push_back(id);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::byte> hex_bytes(const SymbolTable& scope, const NameSyntax& hex) {
  std::vector<std::byte> bytes;
  if (hex.text.size() % 2 != 0) scope.fail(hex.offset, "half a byte is missing");
  for (size_t k = 0; k < hex.text.size(); k += 2) {
    const int high = hex_digit(hex.text[k]), low = hex_digit(hex.text[k + 1]);
    if (high < 0 || low < 0)
      scope.fail(hex.offset + 1 + static_cast<uint32_t>(k + (high < 0 ? 0 : 1)),
                 "this is not a hexadecimal digit");
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

std::vector<std::byte> listed_bytes(const SymbolTable& scope, const StatementSyntax& s) {
  const size_t size = size_of(s.type->dtype);
  std::vector<std::byte> bytes(s.elements.size() * size);
  ExpressionContext expressions(scope);
  for (size_t k = 0; k < s.elements.size(); ++k) {
    const ExprId element = scope.graph->pool.cast(
        build_expression(expressions, s.elements[k], s.type->dtype), s.type->dtype);
    const Node& node = scope.graph->pool[element];
    if (node.op != Op::Constant)
      scope.fail(scope.node(s.elements[k]).offset, "an element must be a literal");
    store_element(bytes.data() + k * size, node.dtype,
                  is_float(node.dtype) ? Scalar::of_float(*scope.graph->pool.value(element))
                                       : Scalar::of_int(static_cast<int64_t>(node.payload)));
  }
  return bytes;
}

void build_constant(Block& block, const StatementSyntax& s) {
  Graph& graph = *block.scope.graph;
  std::vector<std::byte> bytes =
      s.hex ? hex_bytes(block.scope, *s.hex) : listed_bytes(block.scope, s);
  const TensorId id = block.declare(s.results[0], s.type->dtype, block.extents(*s.type));
  const size_t wanted =
      static_cast<size_t>(graph.info(id).element_count()) * size_of(s.type->dtype);
  if (bytes.size() != wanted)
    throw Error(ErrorCode::Shape,
                located(*block.scope.source, s.offset,
                        "the shape needs " + std::to_string(wanted) + " bytes of data, not " +
                            std::to_string(bytes.size())));
  graph.constants.push_back({id, std::move(bytes)});
}

// A graph inside a statement; outer symbols stay visible. `shape_of(k)` is what parameter k is
// given, a dtype and a shape.
template <class ShapeOf>
std::shared_ptr<const Graph> build_subgraph(const Block& outer, std::string_view name,
                                            const SubgraphSyntax& syntax, ShapeOf&& given) {
  auto graph = std::make_shared<Graph>();
  graph->name = name;
  Block block{outer.scope, outer.definition, {}};
  block.scope.graph = graph.get();
  block.scope.tensors.clear();
  for (size_t k = 0; k < syntax.parameters.size(); ++k) {
    auto [dtype, shape] = given(block, k);
    bind_shape(block, syntax.parameters[k], shape);
    add_parameter(block, syntax.parameters[k], dtype, std::move(shape));
  }
  build_block(block, syntax.body);
  for (const NameSyntax& output : syntax.outputs) graph->outputs.push_back(block.find(output));
  return graph;
}

// One whose parameters stand for operands of the statement.
std::shared_ptr<const Graph> applied_subgraph(const Block& outer, std::string_view name,
                                              const SubgraphSyntax& syntax,
                                              std::span<const TensorId> operands) {
  return build_subgraph(outer, name, syntax, [&](Block&, size_t k) {
    const TensorInfo& operand = outer.scope.graph->info(operands[k]);
    std::vector<int64_t> shape = operand.shape;
    if (syntax.parameters[k].role == Role::Over) {
      if (shape.empty())
        outer.scope.fail(syntax.parameters[k].offset, "a scalar has no axis to scan over");
      shape.erase(shape.begin());
    }
    return std::pair(operand.dtype, shape);
  });
}

// One whose parameters declare their own shapes.
std::shared_ptr<const Graph> declared_subgraph(const Block& outer, std::string_view name,
                                               const SubgraphSyntax& syntax) {
  return build_subgraph(outer, name, syntax, [&](Block& block, size_t k) {
    const TypeSyntax& type = *syntax.parameters[k].type;
    return std::pair(type.dtype, block.extents(type));
  });
}

void build_call(Block& block, const StatementSyntax& s) {
  Stage stage;
  stage.kind = StageKind::Call;
  stage.callee = s.callee;
  stage.stop_gradient = s.stop_gradient;
  stage.region = block.region(s);
  stage.combiner.ties = s.ties;
  stage.out_of_range = s.mode;
  for (const NameSyntax& operand : s.operands) stage.operands.push_back(block.find(operand));
  for (const ParameterSyntax& result : s.declared)
    stage.results.push_back(block.declare({result.name, result.offset}, result.type->dtype,
                                          block.extents(*result.type)));
  stage.lines = block.lines(s.offset);
  block.scope.graph->stages.push_back(std::move(stage));
}

void build_call_with_body(Block& block, const StatementSyntax& s) {
  const CallSyntax& syntax = *s.call;
  Stage stage;
  stage.kind = StageKind::Call;
  stage.callee = syntax.name;
  stage.stop_gradient = s.stop_gradient;
  stage.region = block.region(s);
  stage.lines = block.lines(s.offset);
  auto call = std::make_shared<Call>();
  for (const ParameterSyntax& parameter : syntax.body.parameters) {
    if (parameter.role == Role::Closed)
      call->closed += 1;
    else if (call->closed > 0)
      block.scope.fail(parameter.offset, "closed operands stand behind the others");
    stage.operands.push_back(block.find({parameter.operand, parameter.offset}));
  }
  call->recompute = syntax.recompute;
  call->body = applied_subgraph(block, syntax.name, syntax.body, stage.operands);
  if (syntax.forward) {
    call->forward = declared_subgraph(block, syntax.name, *syntax.forward);
    call->backward = declared_subgraph(block, syntax.name, *syntax.backward);
  }
  if (syntax.body.outputs.size() != s.results.size())
    block.scope.fail(s.offset, "a call has one result per output of its function");
  for (size_t k = 0; k < s.results.size(); ++k) {
    const TensorInfo& output = call->body->info(call->body->outputs[k]);
    stage.results.push_back(block.declare(s.results[k], output.dtype, output.shape));
  }
  stage.call = std::move(call);
  block.scope.graph->stages.push_back(std::move(stage));
}

void build_scan(Block& block, const StatementSyntax& s) {
  const ScanSyntax& syntax = *s.scan;
  Graph& graph = *block.scope.graph;
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.stop_gradient = s.stop_gradient;
  stage.region = block.region(s);
  stage.lines = block.lines(s.offset);
  auto scan = std::make_shared<Scan>();
  Role last = Role::Carry;
  for (const ParameterSyntax& parameter : syntax.step.parameters) {
    if (parameter.role < last)
      block.scope.fail(parameter.offset, "operands stand in the order carry, over, fixed");
    last = parameter.role;
    (last == Role::Carry ? scan->carries : last == Role::Over ? scan->scanned : scan->fixed) += 1;
    stage.operands.push_back(block.find({parameter.operand, parameter.offset}));
  }
  scan->conditional = syntax.conditional;
  if (!scan->conditional) scan->trips = evaluate_integer(block.scope, syntax.trips);
  if (syntax.segmented) scan->segment = evaluate_integer(block.scope, syntax.segment);
  scan->reverse = syntax.reverse;
  scan->body = applied_subgraph(block, syntax.name, syntax.step, stage.operands);
  if (syntax.step.outputs.size() != s.results.size() || s.results.size() < scan->carries)
    block.scope.fail(s.offset, "a scan has one result per output of its step, the carries first");
  scan->stacked = s.results.size() - scan->carries;
  if (scan->trips < 0) block.scope.fail(s.offset, "the number of steps is negative");
  if (scan->segment < 0) block.scope.fail(s.offset, "the length of a segment is negative");
  for (size_t k = 0; k < s.results.size(); ++k) {
    const TensorInfo& output = scan->body->info(scan->body->outputs[k]);
    std::vector<int64_t> shape = output.shape;
    if (k >= scan->carries) shape.insert(shape.begin(), scan->trips);
    stage.results.push_back(block.declare(s.results[k], output.dtype, std::move(shape)));
  }
  stage.scan = std::move(scan);
  graph.stages.push_back(std::move(stage));
}

void build_block(Block& block, std::span<const StatementSyntax> statements) {
  using Kind = StatementSyntax::Kind;
  for (const StatementSyntax& s : statements) {
    switch (s.kind) {
      case Kind::Pointwise:
      case Kind::Scatter: build_pointwise(block, s); break;
      case Kind::Constant: build_constant(block, s); break;
      case Kind::Scan: build_scan(block, s); break;
      case Kind::Call:
        if (s.call)
          build_call_with_body(block, s);
        else
          build_call(block, s);
        break;
    }
  }
}

void add_outputs(Block& block, std::span<const ParameterSyntax> outputs) {
  Graph& graph = *block.scope.graph;
  for (const ParameterSyntax& output : outputs) {
    const TensorId id = block.find({output.name, output.offset});
    const TensorInfo& info = graph.info(id);
    if (output.type &&
        (output.type->dtype != info.dtype ||
         (!output.type->extents.empty() && block.extents(*output.type) != info.shape)))
      throw Error(output.type->dtype != info.dtype ? ErrorCode::DType : ErrorCode::Shape,
                  located(*block.scope.source, output.offset,
                          "the output is " + std::string(text_name_of(info.dtype)) +
                              shape_text(info.shape) + ", not what its type declares"));
    graph.outputs.push_back(id);
  }
}

bool has_symbols(const DefinitionSyntax& definition) {
  return std::ranges::any_of(definition.inputs, [&](const ParameterSyntax& input) {
    return std::ranges::any_of(input.type->extents, [&](SyntaxId extent) {
      return definition.syntax[extent].kind != SyntaxKind::Integer;
    });
  });
}

}  // namespace

Graph instantiate(const Source& source, const DefinitionSyntax& definition,
                  std::span<const std::vector<int64_t>> shapes, std::span<const DType> dtypes) {
  if (shapes.size() != definition.inputs.size() || dtypes.size() != definition.inputs.size())
    throw Error(ErrorCode::Shape, "'" + std::string(definition.name) + "' takes " +
                                      std::to_string(definition.inputs.size()) + " inputs, not " +
                                      std::to_string(shapes.size()));
  Graph graph;
  graph.name = definition.name;
  Block block;
  block.definition = definition.name;
  block.scope.source = &source;
  block.scope.syntax = &definition.syntax;
  block.scope.graph = &graph;
  block.scope.fold = has_symbols(definition);
  for (size_t k = 0; k < shapes.size(); ++k) {
    bind_shape(block, definition.inputs[k], shapes[k]);
    add_parameter(block, definition.inputs[k], dtypes[k], shapes[k]);
  }
  build_block(block, definition.body);
  add_outputs(block, definition.outputs);
  return graph;
}

Graph instantiate_concrete(const Source& source, const DefinitionSyntax& definition) {
  Block block;
  Graph none;
  block.scope.source = &source;
  block.scope.syntax = &definition.syntax;
  block.scope.graph = &none;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<DType> dtypes;
  for (const ParameterSyntax& input : definition.inputs) {
    shapes.push_back(block.extents(*input.type));
    dtypes.push_back(input.type->dtype);
  }
  return instantiate(source, definition, shapes, dtypes);
}

}  // namespace adjit::graph
