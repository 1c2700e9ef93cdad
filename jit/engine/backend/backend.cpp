// jit/engine/backend/backend.cpp -- sections of an entry by their names.
#include "jit/engine/backend/backend.hpp"

#include <algorithm>

#include "runtime/expr/error.hpp"

namespace adjit::engine {

const std::string& section_of(std::span<const cache::Section> sections, std::string_view name) {
  const auto found = std::ranges::find(sections, name, &cache::Section::name);
  if (found == sections.end()) throw Error(ErrorCode::Cache, "the entry lacks a section");
  return found->bytes;
}

}  // namespace adjit::engine
