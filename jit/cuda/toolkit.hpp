// jit/cuda/toolkit.hpp -- where the programs of CUDA's toolkit are.
#pragma once

#include <string>
#include <vector>

namespace adjit::cuda {

/// Paths that a program may have, by its name, the first to be tried first: in PATH, where it is
/// there, in the folder bin of CUDA_HOME or CUDA_PATH, or in /usr/local/cuda/bin.
std::vector<std::string> toolkit_places(const std::string& name);

}  // namespace adjit::cuda
