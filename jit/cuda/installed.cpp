// jit/cuda/installed.cpp -- the GPUs of the machine, without a call of the driver.
#include "jit/cuda/installed.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

namespace adjit::cuda {
namespace {

// "Model: \t\t NVIDIA H100 80GB HBM3" of a GPU's lines.
std::string model_in(const std::filesystem::path& information) {
  constexpr std::string_view kName = "Model:";
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kName)) continue;
    const size_t first = line.find_first_not_of(" \t", kName.size());
    if (first != std::string::npos) return line.substr(first);
  }
  return "a GPU of unknown model";
}

}  // namespace

std::vector<std::string> installed_gpus(const std::filesystem::path& list) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(list, error), end; !error && at != end;
       at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  std::vector<std::string> models;
  models.reserve(found.size());
  for (const std::filesystem::path& gpu : found) models.push_back(model_in(gpu / "information"));
  return models;
}

}  // namespace adjit::cuda
