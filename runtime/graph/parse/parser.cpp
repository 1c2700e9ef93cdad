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

class DefinitionParser {
 public:
  explicit DefinitionParser(Cursor& cursor) : cursor_(cursor) {}

  DefinitionSyntax operator()() {
    definition_.offset = cursor_.peek().offset;
    cursor_.expect("def", "before a definition");
    definition_.name = name("of the definition").text;
    cursor_.expect("(", "before the inputs");
    while (!cursor_.accept(")")) {
      definition_.inputs.push_back(declared(ParameterSyntax::Role::Input));
      separator(")");
    }
    cursor_.expect("->", "behind the inputs");
    cursor_.expect("(", "before the outputs");
    while (!cursor_.accept(")")) {
      definition_.outputs.push_back(output());
      separator(")");
    }
    definition_.body = block();
    return std::move(definition_);
  }

 private:
  // A ',' or the closing symbol (which stays).
  void separator(std::string_view close) {
    if (cursor_.is(close)) return;
    cursor_.expect(",", "or '" + std::string(close) + "'");
    if (cursor_.is(close)) cursor_.fail("expected something behind ','");
  }

  SyntaxId expression() { return parse_expression(cursor_, definition_.syntax); }

  NameSyntax name(std::string_view what) {
    const Token& token = cursor_.peek();
    if (token.kind != TokenKind::Identifier)
      cursor_.fail("expected the name " + std::string(what) + ", not " + shown(token));
    if (is_reserved(token.text))
      cursor_.fail("'" + std::string(token.text) + "' is reserved and cannot be the name " +
                   std::string(what));
    cursor_.take();
    return {token.text, token.offset};
  }

  std::vector<NameSyntax> names() {
    cursor_.expect("(", "before a list of names");
    std::vector<NameSyntax> list;
    while (!cursor_.accept(")")) {
      list.push_back(name("of a tensor"));
      separator(")");
    }
    return list;
  }

  // "( a, b )"
  std::vector<SyntaxId> expressions(std::string_view before) {
    cursor_.expect("(", before);
    std::vector<SyntaxId> list;
    while (!cursor_.accept(")")) {
      list.push_back(expression());
      separator(")");
    }
    return list;
  }

  bool at_type() const {
    return cursor_.peek().kind == TokenKind::Identifier && type_from_name(cursor_.peek().text);
  }

  TypeSyntax type() {
    if (!at_type())
      cursor_.fail("expected a type such as float(N, M), not " + shown(cursor_.peek()));
    const Token& token = cursor_.take();
    TypeSyntax type{*type_from_name(token.text), {}, token.offset};
    if (cursor_.is("(")) type.extents = expressions("before the extents");
    return type;
  }

  ParameterSyntax declared(ParameterSyntax::Role role) {
    ParameterSyntax parameter;
    parameter.role = role;
    parameter.type = type();
    const NameSyntax n = name("of a tensor");
    parameter.name = n.text;
    parameter.offset = n.offset;
    return parameter;
  }

  ParameterSyntax output() {
    if (at_type()) return declared(ParameterSyntax::Role::Input);
    const NameSyntax n = name("of an output");
    ParameterSyntax parameter;
    parameter.name = n.text;
    parameter.offset = n.offset;
    return parameter;
  }

  std::vector<StatementSyntax> block() {
    cursor_.expect("{", "before the statements");
    std::vector<StatementSyntax> list;
    while (!cursor_.accept("}")) {
      if (cursor_.accept(";")) continue;
      if (cursor_.peek().kind == TokenKind::End)
        cursor_.fail("expected '}' at the end of the block");
      list.push_back(statement());
    }
    return list;
  }

  StatementSyntax statement() {
    const uint32_t offset = cursor_.peek().offset;
    StatementSyntax s = cursor_.is("const")  ? constant()
                        : cursor_.is("scan") ? scan()
                        : cursor_.is("call") ? call()
                                             : pointwise();
    s.offset = offset;
    return s;
  }

  StatementSyntax pointwise() {
    StatementSyntax s;
    if (cursor_.accept("scatter")) s.kind = StatementSyntax::Kind::Scatter;
    if (at_type()) s.type = type();
    const bool tuple = cursor_.is("(");
    if (tuple) {
      s.results = names();
      if (s.results.empty()) cursor_.fail("a tuple needs a name");
    } else {
      s.results.push_back(name("of a result"));
    }
    if (cursor_.is("(") && !cursor_.peek().starts_line) s.left = expressions("before the indices");
    update(s);
    attributes(s);
    while (cursor_.is("let")) s.lets.push_back(let());
    if (tuple && s.results.size() > 1) {
      s.bodies = expressions("before a tuple of values");
    } else {
      s.bodies.push_back(expression());
    }
    if (cursor_.accept("<=>")) equivalent();
    while (clause(s)) {
    }
    return s;
  }

  // "<=> matmul(A, B)": Tensor Comprehensions' note that a library function computes the same. It
  // changes nothing here.
  void equivalent() {
    name("of the equivalent function");
    expressions("before the arguments of the equivalent function");
  }

  void update(StatementSyntax& s) {
    const Token& token = cursor_.peek();
    if (token.kind != TokenKind::Update)
      cursor_.fail("expected '=', '+=!', 'max=!' or another update, not " + shown(token));
    cursor_.take();
    std::string_view text = token.text;
    const bool bang = text.back() == '!';
    if (bang) text.remove_suffix(1);
    text.remove_suffix(1);  // '='
    s.combiner = *combiner_from_spelling(text);
    s.fresh = bang || s.combiner == CombinerKind::None;
  }

  // What every kind of statement may carry: "stop_gradient", "region 3".
  bool common_attribute(StatementSyntax& s) {
    if (cursor_.accept("stop_gradient"))
      s.stop_gradient = true;
    else if (cursor_.accept("region"))
      s.region = expression();
    else
      return false;
    return true;
  }

  void attributes(StatementSyntax& s) {
    if (!cursor_.accept("[")) return;
    while (!cursor_.accept("]")) {
      const Token& token = cursor_.peek();
      if (token.text == "even") {
        s.ties = Ties::Even;
      } else if (token.text == "first") {
        s.ties = Ties::First;
      } else if (common_attribute(s)) {
        separator("]");
        continue;
      } else if (const auto mode = mode_from_spelling(token.text)) {
        s.mode = *mode;
      } else {
        cursor_.fail(
            "expected even, first, error, drop, clip, wrap, stop_gradient or region, not " +
            shown(token));
      }
      cursor_.take();
      separator("]");
    }
  }

  LetSyntax let() {
    cursor_.expect("let", "before a name");
    const NameSyntax n = name("of a let");
    if (!cursor_.accept("=")) cursor_.fail("expected '=' behind the name of a let");
    LetSyntax result{n.text, expression(), n.offset};
    cursor_.expect(";", "behind a let");
    return result;
  }

  bool clause(StatementSyntax& s) {
    if (cursor_.accept("where")) {
      do {
        s.where.push_back(condition());
      } while (cursor_.accept(","));
    } else if (cursor_.accept("from")) {
      s.from = name("of a tensor");
    } else if (cursor_.accept("combine")) {
      combine(s);
    } else if (cursor_.accept("identity")) {
      s.identity = expressions("before the identity");
    } else {
      return false;
    }
    return true;
  }

  void combine(StatementSyntax& s) {
    s.arguments = names();
    cursor_.expect(",", "between the left and the right operands");
    const std::vector<NameSyntax> right = names();
    if (right.size() != s.arguments.size())
      cursor_.fail("the left and the right operands of 'combine' are not equally many");
    s.arguments.insert(s.arguments.end(), right.begin(), right.end());
    cursor_.expect("->", "behind the operands of 'combine'");
    while (cursor_.is("let")) s.combine_lets.push_back(let());
    s.combine = expressions("before the combined values");
  }

  WhereSyntax condition() {
    WhereSyntax w;
    w.offset = cursor_.peek().offset;
    if (cursor_.accept("exists")) {
      w.kind = WhereSyntax::Kind::Exists;
      w.first = expression();
      return w;
    }
    const bool named = cursor_.peek().kind == TokenKind::Identifier;
    if (named && cursor_.is("in", 1)) {
      w.name = name("of an index").text;
      cursor_.take();
      w.first = expression();
      cursor_.expect(":", "between the ends of a range");
      w.second = expression();
    } else if (named && cursor_.peek(1).kind == TokenKind::Update && cursor_.is("=", 1)) {
      w.kind = WhereSyntax::Kind::Let;
      w.name = name("of a value").text;
      cursor_.take();
      w.first = expression();
    } else {
      w.kind = WhereSyntax::Kind::Condition;
      w.first = expression();
    }
    return w;
  }

  StatementSyntax constant() {
    cursor_.take();
    StatementSyntax s;
    s.kind = StatementSyntax::Kind::Constant;
    s.type = type();
    s.results.push_back(name("of a constant"));
    if (!cursor_.accept("=")) cursor_.fail("expected '=' behind the name of a constant");
    if (cursor_.accept("hex")) {
      if (cursor_.peek().kind != TokenKind::String) cursor_.fail("expected bytes in quotes");
      const Token& bytes = cursor_.take();
      s.hex = NameSyntax{bytes.text, bytes.offset};
      return s;
    }
    cursor_.expect("[", "before the elements");
    while (!cursor_.accept("]")) {
      s.elements.push_back(expression());
      separator("]");
    }
    return s;
  }

  StatementSyntax scan() {
    cursor_.take();
    StatementSyntax s;
    s.kind = StatementSyntax::Kind::Scan;
    s.results = names();
    if (!cursor_.accept("=")) cursor_.fail("expected '=' behind the results of a scan");
    ScanSyntax& scan = s.scan.emplace();
    scan.name = name("of the step").text;
    cursor_.expect("[", "before the number of steps");
    scan.conditional = cursor_.accept("while");
    if (!scan.conditional) scan.trips = expression();
    while (cursor_.accept(",")) {
      if (cursor_.accept("reverse")) {
        scan.reverse = true;
      } else if (cursor_.accept("segment")) {
        scan.segmented = true;
        scan.segment = expression();
      } else if (!common_attribute(s)) {
        cursor_.fail("expected reverse, segment, stop_gradient or region, not " +
                     shown(cursor_.peek()));
      }
    }
    cursor_.expect("]", "behind the number of steps");
    scan.step = subgraph([this] { return scan_operand(); });
    return s;
  }

  ParameterSyntax scan_operand() {
    using Role = ParameterSyntax::Role;
    Role role = Role::Carry;
    if (cursor_.accept("over"))
      role = Role::Over;
    else if (cursor_.accept("fixed"))
      role = Role::Fixed;
    else
      cursor_.expect("carry", "(or 'over', 'fixed') before an operand of a scan");
    return operand(role);
  }

  ParameterSyntax operand(ParameterSyntax::Role role) {
    ParameterSyntax parameter = declared(role);
    if (!cursor_.accept("=")) cursor_.fail("expected '=' and the operand's outer name");
    parameter.operand = name("of a tensor").text;
    return parameter;
  }

  // "( parameters ) -> ( names ) { ... }"
  template <class Parameter>
  SubgraphSyntax subgraph(Parameter&& parameter) {
    if (++depth_ > kMaxDepth) cursor_.fail("scans and calls are nested too deeply");
    SubgraphSyntax graph;
    cursor_.expect("(", "before the operands");
    while (!cursor_.accept(")")) {
      graph.parameters.push_back(parameter());
      separator(")");
    }
    cursor_.expect("->", "behind the operands");
    graph.outputs = names();
    graph.body = block();
    --depth_;
    return graph;
  }

  SubgraphSyntax titled_subgraph(std::string_view title) {
    cursor_.expect(title, "behind the block before it");
    return subgraph([this] { return declared(ParameterSyntax::Role::Input); });
  }

  StatementSyntax call() {
    cursor_.take();
    StatementSyntax s;
    s.kind = StatementSyntax::Kind::Call;
    if (cursor_.peek(1).kind == TokenKind::Identifier && !type_from_name(cursor_.peek(1).text)) {
      call_with_body(s);
      return s;
    }
    cursor_.expect("(", "before the results");
    while (!cursor_.accept(")")) {
      s.declared.push_back(declared(ParameterSyntax::Role::Input));
      separator(")");
    }
    if (!cursor_.accept("=")) cursor_.fail("expected '=' behind the results of a call");
    attributes(s);
    if (cursor_.peek().kind != TokenKind::Identifier) cursor_.fail("expected a function's name");
    s.callee = cursor_.take().text;
    s.operands = names();
    return s;
  }

  void call_with_body(StatementSyntax& s) {
    s.results = names();
    if (!cursor_.accept("=")) cursor_.fail("expected '=' behind the results of a call");
    CallSyntax& call = s.call.emplace();
    call.name = name("of the function").text;
    bool custom = false;
    if (cursor_.accept("["))
      while (!cursor_.accept("]")) {
        if (cursor_.accept("recompute"))
          call.recompute = true;
        else if (cursor_.accept("custom"))
          custom = true;
        else if (!common_attribute(s))
          cursor_.fail("expected recompute, custom, stop_gradient or region, not " +
                       shown(cursor_.peek()));
        separator("]");
      }
    using Role = ParameterSyntax::Role;
    call.body =
        subgraph([this] { return operand(cursor_.accept("closed") ? Role::Closed : Role::Input); });
    if (!custom) return;
    call.forward = titled_subgraph("forward");
    call.backward = titled_subgraph("backward");
  }

  Cursor& cursor_;
  DefinitionSyntax definition_;
  int depth_ = 0;
};

}  // namespace

std::vector<DefinitionSyntax> parse_definitions(const Source& source) {
  const std::vector<Token> tokens = tokenize(source);
  Cursor cursor(source, tokens);
  std::vector<DefinitionSyntax> definitions;
  while (cursor.peek().kind != TokenKind::End) {
    const Token first = cursor.peek();
    definitions.push_back(DefinitionParser(cursor)());
    for (size_t k = 0; k + 1 < definitions.size(); ++k)
      if (definitions[k].name == definitions.back().name)
        cursor.fail_at(first, "'" + std::string(definitions[k].name) + "' is defined twice");
  }
  return definitions;
}

}  // namespace adjit::graph
