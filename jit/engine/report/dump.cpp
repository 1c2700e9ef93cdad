// jit/engine/report/dump.cpp -- every step of a compilation as files.
#include "jit/engine/report/dump.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace adjit::engine {

std::string dump_directory() {
  const char* directory = std::getenv("ADJIT_DUMP");
  return directory == nullptr ? "" : directory;
}

void dump(const std::string& directory, std::string_view title, std::string_view id,
          const DumpFiles& files, const cache::Log& log) {
  std::string name;
  for (char c : title.substr(0, 80)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const std::filesystem::path folder =
      std::filesystem::path(directory) / (name + "-" + std::string(id.substr(0, 12)));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto& [file, content] : files) {
    std::ofstream out(folder / file, std::ios::binary);
    out << content;
    out.close();
    if (out) continue;
    cache::say(log, cache::Level::Warning,
               "ADJIT_DUMP: '" + (folder / file).string() + "' cannot be written");
    return;
  }
}

}  // namespace adjit::engine
