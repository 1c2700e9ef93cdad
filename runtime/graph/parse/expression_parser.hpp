// runtime/graph/parse/expression_parser.hpp -- one expression of the text notation into a Syntax,
// without recursion.
#pragma once

#include <span>

#include "runtime/graph/parse/syntax.hpp"

namespace adjit::graph {

/// A position in a token list; End is never passed.
class Cursor {
 public:
  Cursor(const Source& source, std::span<const Token> tokens) : source_(&source), tokens_(tokens) {}
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  /// A symbol, update or identifier with this spelling.
  bool is(std::string_view text, size_t ahead = 0) const {
    const Token& t = peek(ahead);
    return t.text == text && t.kind != TokenKind::String && t.kind != TokenKind::End;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text, std::string_view where);
  [[noreturn]] void fail(std::string_view message) const { fail_at(peek(), message); }
  [[noreturn]] void fail_at(const Token& token, std::string_view message) const {
    parse_error(*source_, token.offset, message);
  }

 private:
  const Source* source_;
  std::span<const Token> tokens_;
  size_t at_ = 0;
};

/// "the end of the text" or "'x'", for messages.
std::string shown(const Token& token);

/// Parses the longest expression at the cursor and returns its root. Operators by precedence
/// (vocabulary.hpp), then `c ? a : b`. A '(' on a later line does not call the name before it: it
/// begins the next statement.
SyntaxId parse_expression(Cursor& cursor, Syntax& syntax);

}  // namespace adjit::graph
