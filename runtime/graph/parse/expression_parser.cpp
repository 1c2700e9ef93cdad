// runtime/graph/parse/expression_parser.cpp -- operator precedence with explicit stacks (Dijkstra's
// shunting yard).
#include "runtime/graph/parse/expression_parser.hpp"

#include <string>
#include <utility>

#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

// What has been opened and waits for its operands.
struct Open {
  enum class Kind : uint8_t { Prefix, Infix, Question, Colon, Group, Call } kind = Kind::Group;
  Op op = Op::Constant;
  int precedence = 0;
  bool swapped = false;
  bool guarded = false;  // Call: behind its `where`
  std::string_view text;
  uint32_t offset = 0;
  size_t base = 0;  // Call: operands before its arguments
};

// An expression as far as it is read.
struct ExpressionState {
  Cursor& cursor;
  Syntax& syntax;
  std::vector<Open> open = {};
  std::vector<SyntaxId> operands = {};
  bool expects_operand = true;
};

bool is_float_word(const Token& t) {
  return t.kind == TokenKind::Identifier && (t.text == "inf" || t.text == "nan");
}

bool is_number(const Token& t) {
  return t.kind == TokenKind::Integer || t.kind == TokenKind::Float || is_float_word(t);
}

SyntaxId add_node(ExpressionState& s, SyntaxNode node, std::span<const SyntaxId> children) {
  node.first_child = static_cast<uint32_t>(s.syntax.children.size());
  node.child_count = static_cast<uint32_t>(children.size());
  s.syntax.children.insert(s.syntax.children.end(), children.begin(), children.end());
  const SyntaxId id = static_cast<SyntaxId>(s.syntax.nodes.size());
  node.subtree = children.empty() ? id : s.syntax.nodes[children.front()].subtree;
  s.syntax.nodes.push_back(node);
  return id;
}

void push_leaf(ExpressionState& s, SyntaxKind kind, const Token& token, bool negative = false) {
  SyntaxNode node;
  node.kind = kind;
  node.text = token.text;
  node.offset = token.offset;
  node.negative = negative;
  s.operands.push_back(add_node(s, node, {}));
  s.expects_operand = false;
}

void push_number(ExpressionState& s, const Token& token, bool negative) {
  push_leaf(s, token.kind == TokenKind::Integer ? SyntaxKind::Integer : SyntaxKind::Float, token,
            negative);
}

Token spanning(const Token& first, const Token& last) {
  Token token = first;
  const char* end = last.text.data() + last.text.size();
  token.text = {first.text.data(), static_cast<size_t>(end - first.text.data())};
  return token;
}

void begin_guard(ExpressionState& s) {
  s.cursor.take();
  s.open.back().guarded = true;
  s.expects_operand = true;
}

void close_call(ExpressionState& s) {
  const Open call = s.open.back();
  s.open.pop_back();
  SyntaxNode node;
  node.kind = call.guarded ? SyntaxKind::GuardedRead : SyntaxKind::Call;
  node.text = call.text;
  node.offset = call.offset;
  const std::vector<SyntaxId> arguments(s.operands.begin() + static_cast<long>(call.base),
                                        s.operands.end());
  s.operands.resize(call.base);
  s.operands.push_back(add_node(s, node, arguments));
  s.expects_operand = false;
}

bool take_word(ExpressionState& s) {
  const Token token = s.cursor.take();
  if (token.text == "true" || token.text == "false") {
    push_leaf(s, SyntaxKind::Boolean, token);
  } else if (s.cursor.peek().kind == TokenKind::Dimension) {
    const Token number = s.cursor.take();
    push_leaf(s, SyntaxKind::Dimension, spanning(token, number));
  } else if (token.text == "nan_bits" && s.cursor.is("(")) {
    s.cursor.take();
    if (s.cursor.peek().kind != TokenKind::Integer) s.cursor.fail("expected 0x and 16 digits");
    push_leaf(s, SyntaxKind::Float, s.cursor.take());
    s.cursor.expect(")", "behind the bits of a NaN");
  } else if (s.cursor.is("(") && !s.cursor.peek().starts_line) {
    s.cursor.take();
    s.open.push_back({.kind = Open::Kind::Call,
                      .text = token.text,
                      .offset = token.offset,
                      .base = s.operands.size()});
    if (s.cursor.accept(")"))
      close_call(s);
    else if (s.cursor.is("where"))
      begin_guard(s);
  } else {
    push_leaf(s, SyntaxKind::Name, token);
  }
  return true;
}

// Where a value must stand. Always true: an expression cannot end here.
bool take_operand(ExpressionState& s) {
  const Token token = s.cursor.peek();
  if (token.text == "-" && token.kind == TokenKind::Symbol && is_number(s.cursor.peek(1)) &&
      !s.cursor.is("**", 2)) {
    s.cursor.take();
    push_number(s, s.cursor.take(), true);
    return true;
  }
  if (is_number(token)) {
    push_number(s, s.cursor.take(), false);
    return true;
  }
  if (token.kind == TokenKind::Identifier) return take_word(s);
  if (token.kind == TokenKind::Symbol) {
    if (token.text == "(") {
      s.cursor.take();
      s.open.push_back({.kind = Open::Kind::Group, .text = {}, .offset = token.offset});
      return true;
    }
    const Op op = token.text == "-"   ? Op::Neg
                  : token.text == "!" ? Op::Not
                  : token.text == "~" ? Op::BitNot
                                      : Op::Constant;
    if (op != Op::Constant) {
      s.cursor.take();
      s.open.push_back({.kind = Open::Kind::Prefix,
                        .op = op,
                        .precedence = kUnaryPrecedence,
                        .text = {},
                        .offset = token.offset});
      return true;
    }
  }
  s.cursor.fail("expected an expression, not " + shown(token));
}

void finish(ExpressionState& s) {
  const Open open = s.open.back();
  s.open.pop_back();
  const size_t count = open.kind == Open::Kind::Colon ? 3 : open.kind == Open::Kind::Infix ? 2 : 1;
  std::vector<SyntaxId> children(s.operands.end() - static_cast<long>(count), s.operands.end());
  s.operands.resize(s.operands.size() - count);
  SyntaxNode node;
  node.kind = SyntaxKind::Operation;
  node.op = open.kind == Open::Kind::Colon ? Op::Select : open.op;
  node.text = open.text;
  node.offset = open.offset;
  node.swapped = open.swapped;
  s.operands.push_back(add_node(s, node, children));
}

// Finishes prefix and infix operators that bind at least as tightly.
void reduce(ExpressionState& s, int precedence) {
  while (!s.open.empty() &&
         (s.open.back().kind == Open::Kind::Prefix || s.open.back().kind == Open::Kind::Infix) &&
         s.open.back().precedence >= precedence)
    finish(s);
}

// Finishes everything up to an open bracket or an unanswered '?'.
void reduce_to_bracket(ExpressionState& s) {
  for (;;) {
    reduce(s, kTernaryPrecedence);
    if (s.open.empty() || s.open.back().kind != Open::Kind::Colon) return;
    finish(s);
  }
}

// The else branch of `c ? a : b`, or the end of the expression (a range's colon).
bool take_colon(ExpressionState& s) {
  reduce_to_bracket(s);
  if (s.open.empty() || s.open.back().kind != Open::Kind::Question) return false;
  s.cursor.take();
  s.open.back().kind = Open::Kind::Colon;
  s.expects_operand = true;
  return true;
}

bool take_comma(ExpressionState& s) {
  reduce_to_bracket(s);
  if (s.open.empty() || s.open.back().kind == Open::Kind::Question) return false;
  if (s.open.back().kind == Open::Kind::Group) s.cursor.fail("a tuple cannot stand here");
  if (s.open.back().guarded) s.cursor.fail("expected ')' behind the condition of a read");
  s.cursor.take();
  s.expects_operand = true;
  return true;
}

bool take_close(ExpressionState& s) {
  reduce_to_bracket(s);
  if (s.open.empty() || s.open.back().kind == Open::Kind::Question) return false;
  s.cursor.take();
  if (s.open.back().kind == Open::Kind::Call) {
    close_call(s);
  } else {
    s.open.pop_back();
  }
  return true;
}

// `where` inside the parentheses of a read begins its predicate; elsewhere it ends the
// expression.
bool take_guard(ExpressionState& s) {
  reduce_to_bracket(s);
  if (s.open.empty() || s.open.back().kind == Open::Kind::Question) return false;
  if (s.open.back().kind == Open::Kind::Group || s.open.back().guarded)
    s.cursor.fail("'where' belongs inside the parentheses of a read or behind a statement");
  begin_guard(s);
  return true;
}

// Behind a value. False: the expression ends here.
bool take_continuation(ExpressionState& s) {
  const Token token = s.cursor.peek();
  if (token.text == "where" && token.kind == TokenKind::Identifier) return take_guard(s);
  if (token.kind != TokenKind::Symbol) return false;
  if (const Infix* infix = infix_from_spelling(token.text)) {
    s.cursor.take();
    const bool to_the_right = infix->precedence == kPowerPrecedence;
    reduce(s, infix->precedence + (to_the_right ? 1 : 0));
    s.open.push_back({.kind = Open::Kind::Infix,
                      .op = infix->op,
                      .precedence = infix->precedence,
                      .swapped = infix->swapped,
                      .text = infix->spelling,
                      .offset = token.offset});
    s.expects_operand = true;
    return true;
  }
  if (token.text == "?") {
    s.cursor.take();
    reduce(s, kTernaryPrecedence + 1);
    s.open.push_back({.kind = Open::Kind::Question, .text = {}, .offset = token.offset});
    s.expects_operand = true;
    return true;
  }
  if (token.text == ":") return take_colon(s);
  if (token.text == ",") return take_comma(s);
  if (token.text == ")") return take_close(s);
  return false;
}

SyntaxId parse(ExpressionState& s) {
  for (bool more = true; more;) more = s.expects_operand ? take_operand(s) : take_continuation(s);
  reduce_to_bracket(s);
  if (!s.open.empty()) {
    const Open& open = s.open.back();
    if (open.kind == Open::Kind::Question)
      s.cursor.fail("expected ':' of the '?' before, not " + shown(s.cursor.peek()));
    s.cursor.fail("expected an operator, ',' or ')' and not " + shown(s.cursor.peek()) +
                  " (a '(' is still open)");
  }
  return s.operands.back();
}

}  // namespace

std::string shown(const Token& token) {
  if (token.kind == TokenKind::End) return "the end of the text";
  return "'" + std::string(token.text) + "'";
}

void Cursor::expect(std::string_view text, std::string_view where) {
  if (accept(text)) return;
  fail("expected '" + std::string(text) + "' " + std::string(where) + ", not " + shown(peek()));
}

SyntaxId parse_expression(Cursor& cursor, Syntax& syntax) {
  ExpressionState state{cursor, syntax};
  return parse(state);
}

}  // namespace adjit::graph
