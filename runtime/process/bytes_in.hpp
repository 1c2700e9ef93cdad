// runtime/process/bytes_in.hpp -- all that a file holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace adjit::process {

/// Nothing where it cannot be read.
inline std::string bytes_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace adjit::process
