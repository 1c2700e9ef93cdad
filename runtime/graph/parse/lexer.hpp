// runtime/graph/parse/lexer.hpp -- text notation as tokens, and errors that point into it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/expr/error.hpp"

namespace adjit::graph {

enum class TokenKind : uint8_t {
  Identifier,
  Integer,
  Float,
  String,     // without its quotes
  Update,     // "=", "+=", "max=!", ...: an identifier or sign, '=', perhaps '!'
  Dimension,  // ".0" directly behind an identifier: the text is "0"
  Symbol,     // operators and punctuation
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  uint32_t offset = 0;
  bool starts_line = false;  // the first token on its line
};

/// A text and the name it goes by in messages.
struct Source {
  Source() = default;
  Source(std::string_view text, std::string_view name);

  std::string_view text;
  std::string_view name;
  std::vector<uint32_t> line_starts;  // ascending: every statement asks for its line
};

/// Splits a text; '#' begins a comment. The last token is End. ErrorCode::Parse on a character that
/// belongs nowhere.
std::vector<Token> tokenize(const Source& source);

/// Line and column, from 1.
struct Position {
  int line = 1;
  int column = 1;
};
Position position_of(const Source& source, uint32_t offset);

/// "file:line:column: message", the source line, and a caret under the column.
std::string located(const Source& source, uint32_t offset, std::string_view message);
[[noreturn]] void parse_error(const Source& source, uint32_t offset, std::string_view message);

}  // namespace adjit::graph
