// tools/adjit-cache/text.hpp -- what goes to a terminal: columns, and bytes made harmless.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace adjit::cache_tool {

/// Rows of equal length under a row of headings, aligned to the left with two spaces between
/// columns.
void print_table(std::ostream& out, const std::vector<std::string>& headings,
                 const std::vector<std::vector<std::string>>& rows);

/// The text with control characters other than newline and tab, and bytes that are not UTF-8, as
/// \xNN: what an entry holds must not steer the terminal of whoever looks at it.
std::string printable(std::string_view text);

/// Each line of a text behind so many spaces; ends with a newline.
std::string indented(std::string_view text, size_t spaces);

}  // namespace adjit::cache_tool
