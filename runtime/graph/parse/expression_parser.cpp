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

class ExpressionParser {
 public:
  ExpressionParser(Cursor& cursor, Syntax& syntax) : cursor_(cursor), syntax_(syntax) {}

  SyntaxId operator()() {
    for (bool more = true; more;) more = expects_operand_ ? operand() : continuation();
    reduce_to_bracket();
    if (!open_.empty()) {
      const Open& open = open_.back();
      if (open.kind == Open::Kind::Question)
        cursor_.fail("expected ':' of the '?' before, not " + shown(cursor_.peek()));
      cursor_.fail("expected an operator, ',' or ')' and not " + shown(cursor_.peek()) +
                   " (a '(' is still open)");
    }
    return operands_.back();
  }

 private:
  SyntaxId add(SyntaxNode node, std::span<const SyntaxId> children) {
    node.first_child = static_cast<uint32_t>(syntax_.children.size());
    node.child_count = static_cast<uint32_t>(children.size());
    syntax_.children.insert(syntax_.children.end(), children.begin(), children.end());
    const SyntaxId id = static_cast<SyntaxId>(syntax_.nodes.size());
    node.subtree = children.empty() ? id : syntax_.nodes[children.front()].subtree;
    syntax_.nodes.push_back(node);
    return id;
  }

  void push_leaf(SyntaxKind kind, const Token& token, bool negative = false) {
    SyntaxNode node;
    node.kind = kind;
    node.text = token.text;
    node.offset = token.offset;
    node.negative = negative;
    operands_.push_back(add(node, {}));
    expects_operand_ = false;
  }

  static bool is_float_word(const Token& t) {
    return t.kind == TokenKind::Identifier && (t.text == "inf" || t.text == "nan");
  }
  static bool is_number(const Token& t) {
    return t.kind == TokenKind::Integer || t.kind == TokenKind::Float || is_float_word(t);
  }
  void push_number(const Token& token, bool negative) {
    push_leaf(token.kind == TokenKind::Integer ? SyntaxKind::Integer : SyntaxKind::Float, token,
              negative);
  }

  static Token spanning(const Token& first, const Token& last) {
    Token token = first;
    const char* end = last.text.data() + last.text.size();
    token.text = {first.text.data(), static_cast<size_t>(end - first.text.data())};
    return token;
  }

  // Where a value must stand. Always true: an expression cannot end here.
  bool operand() {
    const Token token = cursor_.peek();
    if (token.text == "-" && token.kind == TokenKind::Symbol && is_number(cursor_.peek(1)) &&
        !cursor_.is("**", 2)) {
      cursor_.take();
      push_number(cursor_.take(), true);
      return true;
    }
    if (is_number(token)) {
      push_number(cursor_.take(), false);
      return true;
    }
    if (token.kind == TokenKind::Identifier) return word();
    if (token.kind == TokenKind::Symbol) {
      if (token.text == "(") {
        cursor_.take();
        open_.push_back({.kind = Open::Kind::Group, .text = {}, .offset = token.offset});
        return true;
      }
      const Op op = token.text == "-"   ? Op::Neg
                    : token.text == "!" ? Op::Not
                    : token.text == "~" ? Op::BitNot
                                        : Op::Constant;
      if (op != Op::Constant) {
        cursor_.take();
        open_.push_back({.kind = Open::Kind::Prefix,
                         .op = op,
                         .precedence = kUnaryPrecedence,
                         .text = {},
                         .offset = token.offset});
        return true;
      }
    }
    cursor_.fail("expected an expression, not " + shown(token));
  }

  bool word() {
    const Token token = cursor_.take();
    if (token.text == "true" || token.text == "false") {
      push_leaf(SyntaxKind::Boolean, token);
    } else if (cursor_.peek().kind == TokenKind::Dimension) {
      const Token number = cursor_.take();
      push_leaf(SyntaxKind::Dimension, spanning(token, number));
    } else if (token.text == "nan_bits" && cursor_.is("(")) {
      cursor_.take();
      if (cursor_.peek().kind != TokenKind::Integer) cursor_.fail("expected 0x and 16 digits");
      push_leaf(SyntaxKind::Float, cursor_.take());
      cursor_.expect(")", "behind the bits of a NaN");
    } else if (cursor_.is("(") && !cursor_.peek().starts_line) {
      cursor_.take();
      open_.push_back({.kind = Open::Kind::Call,
                       .text = token.text,
                       .offset = token.offset,
                       .base = operands_.size()});
      if (cursor_.accept(")"))
        close_call();
      else if (cursor_.is("where"))
        begin_guard();
    } else {
      push_leaf(SyntaxKind::Name, token);
    }
    return true;
  }

  // Behind a value. False: the expression ends here.
  bool continuation() {
    const Token token = cursor_.peek();
    if (token.text == "where" && token.kind == TokenKind::Identifier) return guard();
    if (token.kind != TokenKind::Symbol) return false;
    if (const Infix* infix = infix_from_spelling(token.text)) {
      cursor_.take();
      const bool to_the_right = infix->precedence == kPowerPrecedence;
      reduce(infix->precedence + (to_the_right ? 1 : 0));
      open_.push_back({.kind = Open::Kind::Infix,
                       .op = infix->op,
                       .precedence = infix->precedence,
                       .swapped = infix->swapped,
                       .text = infix->spelling,
                       .offset = token.offset});
      expects_operand_ = true;
      return true;
    }
    if (token.text == "?") {
      cursor_.take();
      reduce(kTernaryPrecedence + 1);
      open_.push_back({.kind = Open::Kind::Question, .text = {}, .offset = token.offset});
      expects_operand_ = true;
      return true;
    }
    if (token.text == ":") return colon();
    if (token.text == ",") return comma();
    if (token.text == ")") return close();
    return false;
  }

  // The else branch of `c ? a : b`, or the end of the expression (a range's colon).
  bool colon() {
    reduce_to_bracket();
    if (open_.empty() || open_.back().kind != Open::Kind::Question) return false;
    cursor_.take();
    open_.back().kind = Open::Kind::Colon;
    expects_operand_ = true;
    return true;
  }

  bool comma() {
    reduce_to_bracket();
    if (open_.empty() || open_.back().kind == Open::Kind::Question) return false;
    if (open_.back().kind == Open::Kind::Group) cursor_.fail("a tuple cannot stand here");
    if (open_.back().guarded) cursor_.fail("expected ')' behind the condition of a read");
    cursor_.take();
    expects_operand_ = true;
    return true;
  }

  bool close() {
    reduce_to_bracket();
    if (open_.empty() || open_.back().kind == Open::Kind::Question) return false;
    cursor_.take();
    if (open_.back().kind == Open::Kind::Call) {
      close_call();
    } else {
      open_.pop_back();
    }
    return true;
  }

  // `where` inside the parentheses of a read begins its predicate; elsewhere it ends the
  // expression.
  bool guard() {
    reduce_to_bracket();
    if (open_.empty() || open_.back().kind == Open::Kind::Question) return false;
    if (open_.back().kind == Open::Kind::Group || open_.back().guarded)
      cursor_.fail("'where' belongs inside the parentheses of a read or behind a statement");
    begin_guard();
    return true;
  }

  void begin_guard() {
    cursor_.take();
    open_.back().guarded = true;
    expects_operand_ = true;
  }

  void close_call() {
    const Open call = open_.back();
    open_.pop_back();
    SyntaxNode node;
    node.kind = call.guarded ? SyntaxKind::GuardedRead : SyntaxKind::Call;
    node.text = call.text;
    node.offset = call.offset;
    const std::vector<SyntaxId> arguments(operands_.begin() + static_cast<long>(call.base),
                                          operands_.end());
    operands_.resize(call.base);
    operands_.push_back(add(node, arguments));
    expects_operand_ = false;
  }

  // Finishes prefix and infix operators that bind at least as tightly.
  void reduce(int precedence) {
    while (!open_.empty() &&
           (open_.back().kind == Open::Kind::Prefix || open_.back().kind == Open::Kind::Infix) &&
           open_.back().precedence >= precedence)
      finish();
  }

  // Finishes everything up to an open bracket or an unanswered '?'.
  void reduce_to_bracket() {
    for (;;) {
      reduce(kTernaryPrecedence);
      if (open_.empty() || open_.back().kind != Open::Kind::Colon) return;
      finish();
    }
  }

  void finish() {
    const Open open = open_.back();
    open_.pop_back();
    const size_t count = open.kind == Open::Kind::Colon   ? 3
                         : open.kind == Open::Kind::Infix ? 2
                                                          : 1;
    std::vector<SyntaxId> children(operands_.end() - static_cast<long>(count), operands_.end());
    operands_.resize(operands_.size() - count);
    SyntaxNode node;
    node.kind = SyntaxKind::Operation;
    node.op = open.kind == Open::Kind::Colon ? Op::Select : open.op;
    node.text = open.text;
    node.offset = open.offset;
    node.swapped = open.swapped;
    operands_.push_back(add(node, children));
  }

  Cursor& cursor_;
  Syntax& syntax_;
  std::vector<Open> open_;
  std::vector<SyntaxId> operands_;
  bool expects_operand_ = true;
};

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
  return ExpressionParser(cursor, syntax)();
}

}  // namespace adjit::graph
