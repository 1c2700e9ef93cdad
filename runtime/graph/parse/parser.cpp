// runtime/graph/parse/parser.cpp -- statements and definitions by recursive descent (only scans and
// calls nest).
#include "runtime/graph/parse/parser.hpp"

#include <string>
#include <utility>

#include "runtime/graph/parse/expression_parser.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

constexpr int kMaxDepth = 64;

// One definition as far as it is read.
struct Parser {
  Cursor& cursor;
  DefinitionSyntax definition = {};
  int depth = 0;  // of scans and calls
};

std::vector<StatementSyntax> parse_block(Parser& p);

// A ',' or the closing symbol (which stays).
void take_separator(Parser& p, std::string_view close) {
  if (p.cursor.is(close)) return;
  p.cursor.expect(",", "or '" + std::string(close) + "'");
  if (p.cursor.is(close)) p.cursor.fail("expected something behind ','");
}

NameSyntax parse_name(Parser& p, std::string_view what) {
  const Token& token = p.cursor.peek();
  if (token.kind != TokenKind::Identifier)
    p.cursor.fail("expected the name " + std::string(what) + ", not " + shown(token));
  if (is_reserved(token.text))
    p.cursor.fail("'" + std::string(token.text) + "' is reserved and cannot be the name " +
                  std::string(what));
  p.cursor.take();
  return {token.text, token.offset};
}

SyntaxId parse_expression(Parser& p) { return parse_expression(p.cursor, p.definition.syntax); }

// "( a, b )"
std::vector<SyntaxId> parse_expressions(Parser& p, std::string_view before) {
  p.cursor.expect("(", before);
  std::vector<SyntaxId> list;
  while (!p.cursor.accept(")")) {
    list.push_back(parse_expression(p));
    take_separator(p, ")");
  }
  return list;
}

bool at_type(const Parser& p) {
  return p.cursor.peek().kind == TokenKind::Identifier && type_from_name(p.cursor.peek().text);
}

TypeSyntax parse_type(Parser& p) {
  if (!at_type(p))
    p.cursor.fail("expected a type such as float(N, M), not " + shown(p.cursor.peek()));
  const Token& token = p.cursor.take();
  TypeSyntax type{*type_from_name(token.text), {}, token.offset};
  if (p.cursor.is("(")) type.extents = parse_expressions(p, "before the extents");
  return type;
}

ParameterSyntax parse_declared(Parser& p, ParameterSyntax::Role role) {
  ParameterSyntax parameter;
  parameter.role = role;
  parameter.type = parse_type(p);
  const NameSyntax n = parse_name(p, "of a tensor");
  parameter.name = n.text;
  parameter.offset = n.offset;
  return parameter;
}

ParameterSyntax parse_output(Parser& p) {
  if (at_type(p)) return parse_declared(p, ParameterSyntax::Role::Input);
  const NameSyntax n = parse_name(p, "of an output");
  ParameterSyntax parameter;
  parameter.name = n.text;
  parameter.offset = n.offset;
  return parameter;
}

std::vector<NameSyntax> parse_names(Parser& p) {
  p.cursor.expect("(", "before a list of names");
  std::vector<NameSyntax> list;
  while (!p.cursor.accept(")")) {
    list.push_back(parse_name(p, "of a tensor"));
    take_separator(p, ")");
  }
  return list;
}

// "<=> matmul(A, B)": Tensor Comprehensions' note that a library function computes the same. It
// changes nothing here.
void skip_equivalent(Parser& p) {
  parse_name(p, "of the equivalent function");
  parse_expressions(p, "before the arguments of the equivalent function");
}

void take_update(Parser& p, StatementSyntax& s) {
  const Token& token = p.cursor.peek();
  if (token.kind != TokenKind::Update)
    p.cursor.fail("expected '=', '+=!', 'max=!' or another update, not " + shown(token));
  p.cursor.take();
  std::string_view text = token.text;
  const bool bang = text.back() == '!';
  if (bang) text.remove_suffix(1);
  text.remove_suffix(1);  // '='
  s.combiner = *combiner_from_spelling(text);
  s.fresh = bang || s.combiner == CombinerKind::None;
}

// What every kind of statement may carry: "stop_gradient", "region 3".
bool take_common_attribute(Parser& p, StatementSyntax& s) {
  if (p.cursor.accept("stop_gradient"))
    s.stop_gradient = true;
  else if (p.cursor.accept("region"))
    s.region = parse_expression(p);
  else
    return false;
  return true;
}

void take_attributes(Parser& p, StatementSyntax& s) {
  if (!p.cursor.accept("[")) return;
  while (!p.cursor.accept("]")) {
    const Token& token = p.cursor.peek();
    if (token.text == "even") {
      s.ties = Ties::Even;
    } else if (token.text == "first") {
      s.ties = Ties::First;
    } else if (take_common_attribute(p, s)) {
      take_separator(p, "]");
      continue;
    } else if (const auto mode = mode_from_spelling(token.text)) {
      s.mode = *mode;
    } else {
      p.cursor.fail("expected even, first, error, drop, clip, wrap, stop_gradient or region, not " +
                    shown(token));
    }
    p.cursor.take();
    take_separator(p, "]");
  }
}

LetSyntax parse_let(Parser& p) {
  p.cursor.expect("let", "before a name");
  const NameSyntax n = parse_name(p, "of a let");
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' behind the name of a let");
  LetSyntax result{n.text, parse_expression(p), n.offset};
  p.cursor.expect(";", "behind a let");
  return result;
}

void take_combine(Parser& p, StatementSyntax& s) {
  s.arguments = parse_names(p);
  p.cursor.expect(",", "between the left and the right operands");
  const std::vector<NameSyntax> right = parse_names(p);
  if (right.size() != s.arguments.size())
    p.cursor.fail("the left and the right operands of 'combine' are not equally many");
  s.arguments.insert(s.arguments.end(), right.begin(), right.end());
  p.cursor.expect("->", "behind the operands of 'combine'");
  while (p.cursor.is("let")) s.combine_lets.push_back(parse_let(p));
  s.combine = parse_expressions(p, "before the combined values");
}

WhereSyntax parse_condition(Parser& p) {
  WhereSyntax w;
  w.offset = p.cursor.peek().offset;
  if (p.cursor.accept("exists")) {
    w.kind = WhereSyntax::Kind::Exists;
    w.first = parse_expression(p);
    return w;
  }
  const bool named = p.cursor.peek().kind == TokenKind::Identifier;
  if (named && p.cursor.is("in", 1)) {
    w.name = parse_name(p, "of an index").text;
    p.cursor.take();
    w.first = parse_expression(p);
    p.cursor.expect(":", "between the ends of a range");
    w.second = parse_expression(p);
  } else if (named && p.cursor.peek(1).kind == TokenKind::Update && p.cursor.is("=", 1)) {
    w.kind = WhereSyntax::Kind::Let;
    w.name = parse_name(p, "of a value").text;
    p.cursor.take();
    w.first = parse_expression(p);
  } else {
    w.kind = WhereSyntax::Kind::Condition;
    w.first = parse_expression(p);
  }
  return w;
}

bool take_clause(Parser& p, StatementSyntax& s) {
  if (p.cursor.accept("where")) {
    do {
      s.where.push_back(parse_condition(p));
    } while (p.cursor.accept(","));
  } else if (p.cursor.accept("from")) {
    s.from = parse_name(p, "of a tensor");
  } else if (p.cursor.accept("combine")) {
    take_combine(p, s);
  } else if (p.cursor.accept("identity")) {
    s.identity = parse_expressions(p, "before the identity");
  } else {
    return false;
  }
  return true;
}

StatementSyntax parse_pointwise(Parser& p) {
  StatementSyntax s;
  if (p.cursor.accept("scatter")) s.kind = StatementSyntax::Kind::Scatter;
  if (at_type(p)) s.type = parse_type(p);
  const bool tuple = p.cursor.is("(");
  if (tuple) {
    s.results = parse_names(p);
    if (s.results.empty()) p.cursor.fail("a tuple needs a name");
  } else {
    s.results.push_back(parse_name(p, "of a result"));
  }
  if (p.cursor.is("(") && !p.cursor.peek().starts_line)
    s.left = parse_expressions(p, "before the indices");
  take_update(p, s);
  take_attributes(p, s);
  while (p.cursor.is("let")) s.lets.push_back(parse_let(p));
  if (tuple && s.results.size() > 1) {
    s.bodies = parse_expressions(p, "before a tuple of values");
  } else {
    s.bodies.push_back(parse_expression(p));
  }
  if (p.cursor.accept("<=>")) skip_equivalent(p);
  while (take_clause(p, s)) {
  }
  return s;
}

StatementSyntax parse_constant(Parser& p) {
  p.cursor.take();
  StatementSyntax s;
  s.kind = StatementSyntax::Kind::Constant;
  s.type = parse_type(p);
  s.results.push_back(parse_name(p, "of a constant"));
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' behind the name of a constant");
  if (p.cursor.accept("hex")) {
    if (p.cursor.peek().kind != TokenKind::String) p.cursor.fail("expected bytes in quotes");
    const Token& bytes = p.cursor.take();
    s.hex = NameSyntax{bytes.text, bytes.offset};
    return s;
  }
  p.cursor.expect("[", "before the elements");
  while (!p.cursor.accept("]")) {
    s.elements.push_back(parse_expression(p));
    take_separator(p, "]");
  }
  return s;
}

ParameterSyntax parse_operand(Parser& p, ParameterSyntax::Role role) {
  ParameterSyntax parameter = parse_declared(p, role);
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' and the operand's outer name");
  parameter.operand = parse_name(p, "of a tensor").text;
  return parameter;
}

ParameterSyntax parse_scan_operand(Parser& p) {
  using Role = ParameterSyntax::Role;
  Role role = Role::Carry;
  if (p.cursor.accept("over"))
    role = Role::Over;
  else if (p.cursor.accept("fixed"))
    role = Role::Fixed;
  else
    p.cursor.expect("carry", "(or 'over', 'fixed') before an operand of a scan");
  return parse_operand(p, role);
}

// "( parameters ) -> ( names ) { ... }"
template <class Parameter>
SubgraphSyntax parse_subgraph(Parser& p, Parameter&& parameter) {
  if (++p.depth > kMaxDepth) p.cursor.fail("scans and calls are nested too deeply");
  SubgraphSyntax graph;
  p.cursor.expect("(", "before the operands");
  while (!p.cursor.accept(")")) {
    graph.parameters.push_back(parameter());
    take_separator(p, ")");
  }
  p.cursor.expect("->", "behind the operands");
  graph.outputs = parse_names(p);
  graph.body = parse_block(p);
  --p.depth;
  return graph;
}

StatementSyntax parse_scan(Parser& p) {
  p.cursor.take();
  StatementSyntax s;
  s.kind = StatementSyntax::Kind::Scan;
  s.results = parse_names(p);
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' behind the results of a scan");
  ScanSyntax& scan = s.scan.emplace();
  scan.name = parse_name(p, "of the step").text;
  p.cursor.expect("[", "before the number of steps");
  scan.conditional = p.cursor.accept("while");
  if (!scan.conditional) scan.trips = parse_expression(p);
  while (p.cursor.accept(",")) {
    if (p.cursor.accept("reverse")) {
      scan.reverse = true;
    } else if (p.cursor.accept("segment")) {
      scan.segmented = true;
      scan.segment = parse_expression(p);
    } else if (!take_common_attribute(p, s)) {
      p.cursor.fail("expected reverse, segment, stop_gradient or region, not " +
                    shown(p.cursor.peek()));
    }
  }
  p.cursor.expect("]", "behind the number of steps");
  scan.step = parse_subgraph(p, [&] { return parse_scan_operand(p); });
  return s;
}

SubgraphSyntax parse_titled_subgraph(Parser& p, std::string_view title) {
  p.cursor.expect(title, "behind the block before it");
  return parse_subgraph(p, [&] { return parse_declared(p, ParameterSyntax::Role::Input); });
}

void take_call_with_body(Parser& p, StatementSyntax& s) {
  s.results = parse_names(p);
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' behind the results of a call");
  CallSyntax& call = s.call.emplace();
  call.name = parse_name(p, "of the function").text;
  bool custom = false;
  if (p.cursor.accept("["))
    while (!p.cursor.accept("]")) {
      if (p.cursor.accept("recompute"))
        call.recompute = true;
      else if (p.cursor.accept("custom"))
        custom = true;
      else if (!take_common_attribute(p, s))
        p.cursor.fail("expected recompute, custom, stop_gradient or region, not " +
                      shown(p.cursor.peek()));
      take_separator(p, "]");
    }
  using Role = ParameterSyntax::Role;
  call.body = parse_subgraph(
      p, [&] { return parse_operand(p, p.cursor.accept("closed") ? Role::Closed : Role::Input); });
  if (!custom) return;
  call.forward = parse_titled_subgraph(p, "forward");
  call.backward = parse_titled_subgraph(p, "backward");
}

StatementSyntax parse_call(Parser& p) {
  p.cursor.take();
  StatementSyntax s;
  s.kind = StatementSyntax::Kind::Call;
  if (p.cursor.peek(1).kind == TokenKind::Identifier && !type_from_name(p.cursor.peek(1).text)) {
    take_call_with_body(p, s);
    return s;
  }
  p.cursor.expect("(", "before the results");
  while (!p.cursor.accept(")")) {
    s.declared.push_back(parse_declared(p, ParameterSyntax::Role::Input));
    take_separator(p, ")");
  }
  if (!p.cursor.accept("=")) p.cursor.fail("expected '=' behind the results of a call");
  take_attributes(p, s);
  if (p.cursor.peek().kind != TokenKind::Identifier) p.cursor.fail("expected a function's name");
  s.callee = p.cursor.take().text;
  s.operands = parse_names(p);
  return s;
}

StatementSyntax parse_statement(Parser& p) {
  const uint32_t offset = p.cursor.peek().offset;
  StatementSyntax s = p.cursor.is("const")  ? parse_constant(p)
                      : p.cursor.is("scan") ? parse_scan(p)
                      : p.cursor.is("call") ? parse_call(p)
                                            : parse_pointwise(p);
  s.offset = offset;
  return s;
}

std::vector<StatementSyntax> parse_block(Parser& p) {
  p.cursor.expect("{", "before the statements");
  std::vector<StatementSyntax> list;
  while (!p.cursor.accept("}")) {
    if (p.cursor.accept(";")) continue;
    if (p.cursor.peek().kind == TokenKind::End)
      p.cursor.fail("expected '}' at the end of the block");
    list.push_back(parse_statement(p));
  }
  return list;
}

DefinitionSyntax parse_definition(Parser& p) {
  p.definition.offset = p.cursor.peek().offset;
  p.cursor.expect("def", "before a definition");
  p.definition.name = parse_name(p, "of the definition").text;
  p.cursor.expect("(", "before the inputs");
  while (!p.cursor.accept(")")) {
    p.definition.inputs.push_back(parse_declared(p, ParameterSyntax::Role::Input));
    take_separator(p, ")");
  }
  p.cursor.expect("->", "behind the inputs");
  p.cursor.expect("(", "before the outputs");
  while (!p.cursor.accept(")")) {
    p.definition.outputs.push_back(parse_output(p));
    take_separator(p, ")");
  }
  p.definition.body = parse_block(p);
  return std::move(p.definition);
}

}  // namespace

std::vector<DefinitionSyntax> parse_definitions(const Source& source) {
  const std::vector<Token> tokens = tokenize(source);
  Cursor cursor(source, tokens);
  std::vector<DefinitionSyntax> definitions;
  while (cursor.peek().kind != TokenKind::End) {
    const Token first = cursor.peek();
    Parser parser{cursor};
    definitions.push_back(parse_definition(parser));
    for (size_t k = 0; k + 1 < definitions.size(); ++k)
      if (definitions[k].name == definitions.back().name)
        cursor.fail_at(first, "'" + std::string(definitions[k].name) + "' is defined twice");
  }
  return definitions;
}

}  // namespace adjit::graph
