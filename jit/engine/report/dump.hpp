// jit/engine/report/dump.hpp -- every step of a compilation as files, for people (ADJIT_DUMP).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/cache/log.hpp"

namespace adjit::engine {

/// Files of one compilation: name and content.
using DumpFiles = std::vector<std::pair<std::string, std::string>>;

/// The directory that ADJIT_DUMP names; "" when it names none.
std::string dump_directory();

/// Writes the files to directory/<title>-<id>/. What cannot be written is a warning, never an
/// error.
void dump(const std::string& directory, std::string_view title, std::string_view id,
          const DumpFiles& files, const cache::Log& log);

}  // namespace adjit::engine
