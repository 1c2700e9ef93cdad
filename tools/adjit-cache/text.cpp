// tools/adjit-cache/text.cpp -- columns, and bytes made harmless.
#include "tools/adjit-cache/text.hpp"

#include <algorithm>
#include <cstdint>

namespace adjit::cache_tool {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

unsigned char byte_at(std::string_view text, size_t k) {
  return static_cast<unsigned char>(text[k]);
}

/// Bytes of the well-formed UTF-8 character at the front that may be printed; 0 if there is none.
size_t printable_length(std::string_view text) {
  const unsigned char lead = byte_at(text, 0);
  if (lead < 0x80) return (lead >= 0x20 && lead != 0x7f) || lead == '\n' || lead == '\t' ? 1 : 0;
  const size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = lead & (0xffU >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    if ((byte_at(text, k) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte_at(text, k) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool control = code < 0xa0 || (code >= 0x202a && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069);  // C1; reversals of direction
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || control || surrogate || code > 0x10ffff ? 0 : length;
}

/// Characters, not bytes: well-formed text is assumed.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void print_table(std::ostream& out, const std::vector<std::string>& headings,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (size_t k = 0; k < headings.size(); ++k) {
    size_t widest = width(headings[k]);
    for (const std::vector<std::string>& row : rows) widest = std::max(widest, width(row[k]));
    widths.push_back(widest);
  }
  const auto print_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t k = 0; k < row.size(); ++k) {
      line += row[k];
      if (k + 1 < row.size()) line.append(widths[k] - width(row[k]) + 2, ' ');
    }
    out << line << '\n';
  };
  print_row(headings);
  for (const std::vector<std::string>& row : rows) print_row(row);
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = printable_length(text);
    if (length == 0) {
      out += "\\x";
      out += kDigits[byte_at(text, 0) >> 4];
      out += kDigits[byte_at(text, 0) & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string indented(std::string_view text, size_t spaces) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.append(spaces, ' ').append(text.substr(0, end)).push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out.empty() ? "\n" : out;
}

}  // namespace adjit::cache_tool
