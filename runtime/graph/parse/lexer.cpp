// runtime/graph/parse/lexer.cpp -- text notation as tokens, and errors that point into it.
#include "runtime/graph/parse/lexer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

// Longest first, so that the first match is the longest.
constexpr std::array<std::string_view, 34> kSymbols{
    "<=>", "->", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "//", "**",
    "+",   "-",  "*",  "/",  "%",  "<",  ">",  "!",  "~",  "&",  "|",  "^",
    "?",   ":",  ",",  ";",  "(",  ")",  "[",  "]",  "{",  "}",
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text) {}

  std::vector<Token> operator()() {
    if (text_.size() >= std::numeric_limits<uint32_t>::max())
      throw Error(ErrorCode::Parse, std::string(source_.name) + ": the text is too long");
    while (skip_space(), at_ < text_.size()) tokens_.push_back(next());
    tokens_.push_back({TokenKind::End, text_.substr(text_.size()), offset(), true});
    return std::move(tokens_);
  }

 private:
  uint32_t offset() const { return static_cast<uint32_t>(at_); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_space() {
    while (at_ < text_.size() && (is_space(peek()) || peek() == '#')) {
      if (peek() == '#') {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else {
        if (peek() == '\n') new_line_ = true;
        ++at_;
      }
    }
  }

  Token take(TokenKind kind, size_t length) {
    const Token token{kind, text_.substr(at_, length), offset(), new_line_};
    at_ += length;
    new_line_ = false;
    return token;
  }

  Token next() {
    const char c = peek();
    const bool touches = at_ > 0 && !tokens_.empty() &&
                         tokens_.back().kind == TokenKind::Identifier && !is_space(text_[at_ - 1]);
    if (c == '.' && touches && is_digit(peek(1))) return dimension();
    if (is_letter(c)) return word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"') return string();
    if (c == '=' && peek(1) != '=') return take(TokenKind::Update, 1);
    if ((c == '+' || c == '*') && peek(1) == '=' && peek(2) != '=')
      return take(TokenKind::Update, peek(2) == '!' ? 3 : 2);
    for (std::string_view symbol : kSymbols)
      if (text_.substr(at_).starts_with(symbol)) return take(TokenKind::Symbol, symbol.size());
    parse_error(source_, offset(), "this character has no meaning here");
  }

  Token dimension() {
    size_t n = 1;
    while (is_digit(peek(n))) ++n;
    Token token = take(TokenKind::Dimension, n);
    token.text.remove_prefix(1);
    return token;
  }

  // An identifier, or a combiner with its '=': "max=!".
  Token word() {
    size_t n = 1;
    while (is_letter(peek(n)) || is_digit(peek(n))) ++n;
    if (peek(n) == '=' && peek(n + 1) != '=' && combiner_from_spelling(text_.substr(at_, n)))
      return take(TokenKind::Update, n + (peek(n + 1) == '!' ? 2 : 1));
    return take(TokenKind::Identifier, n);
  }

  Token number() {
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      size_t n = 2;
      while (is_digit(peek(n)) || (is_letter(peek(n)) && peek(n) != '_')) ++n;
      return take(TokenKind::Integer, n);
    }
    size_t n = 0;
    bool real = false;
    while (is_digit(peek(n))) ++n;
    if (peek(n) == '.') {
      real = true;
      ++n;
      while (is_digit(peek(n))) ++n;
    }
    const size_t sign = peek(n + 1) == '+' || peek(n + 1) == '-' ? 1 : 0;
    if ((peek(n) == 'e' || peek(n) == 'E') && is_digit(peek(n + 1 + sign))) {
      real = true;
      n += 1 + sign;
      while (is_digit(peek(n))) ++n;
    }
    Token token = take(real ? TokenKind::Float : TokenKind::Integer, n);
    if (real && (peek() == 'f' || peek() == 'F') && !is_letter(peek(1)) && !is_digit(peek(1)))
      ++at_;  // C's float suffix
    return token;
  }

  Token string() {
    const size_t close = text_.find('"', at_ + 1);
    if (close == std::string_view::npos)
      parse_error(source_, offset(), "this string has no closing quote");
    Token token = take(TokenKind::String, close + 1 - at_);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  bool new_line_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Lexer(source)(); }

Source::Source(std::string_view text, std::string_view name) : text(text), name(name) {
  line_starts.push_back(0);
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    line_starts.push_back(static_cast<uint32_t>(at) + 1);
}

Position position_of(const Source& source, uint32_t offset) {
  const auto next = std::ranges::upper_bound(source.line_starts, offset);
  const uint32_t start = next == source.line_starts.begin() ? 0 : *std::prev(next);
  return {std::max(1, static_cast<int>(next - source.line_starts.begin())),
          static_cast<int>(offset - start) + 1};
}

std::string located(const Source& source, uint32_t offset, std::string_view message) {
  constexpr size_t kShown = 160;  // of a long line, around the column
  const Position at = position_of(source, offset);
  const size_t column = static_cast<size_t>(at.column) - 1;
  const size_t start = std::min<size_t>(offset, source.text.size()) - column;
  std::string_view line = source.text.substr(start);
  line = line.substr(0, line.find('\n'));
  const size_t cut = column > kShown / 2 ? column - kShown / 2 : 0;
  line = line.substr(std::min(cut, line.size())).substr(0, kShown);
  std::string text(source.name);
  text += ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  text.append(message).append("\n  ");
  for (char c : line) text += c == '\t' || c == '\r' ? ' ' : c;
  return text + "\n  " + std::string(column - cut, ' ') + "^";
}

void parse_error(const Source& source, uint32_t offset, std::string_view message) {
  throw Error(ErrorCode::Parse, located(source, offset, message));
}

}  // namespace adjit::graph
