// jit/cuda/toolkit.cpp -- where the programs of CUDA's toolkit are.
#include "jit/cuda/toolkit.hpp"

#include <cstdlib>
#include <optional>

#include "runtime/process/run_program.hpp"

namespace adjit::cuda {

std::vector<std::string> toolkit_places(const std::string& name) {
  std::vector<std::string> places;
  if (std::optional<std::string> found = process::find_program(name)) places.push_back(*found);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0')
      places.push_back(std::string(root) + "/bin/" + name);
  places.push_back("/usr/local/cuda/bin/" + name);
  return places;
}

}  // namespace adjit::cuda
