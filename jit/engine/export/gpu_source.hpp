// jit/engine/export/gpu_source.hpp -- exported functions for a GPU, by the CUDA driver alone.
#pragma once

#include <string>

#include "jit/engine/export/export.hpp"

namespace adjit::engine {

/// What a header says of all such functions, and of one: lines of its comment.
std::string gpu_header_text();
std::string gpu_remarks(const ExportedFunction& f);

/// What their definitions need: once in a source.
std::string gpu_support_text();
/// The function, its messages, and what unloads its code.
std::string gpu_function_text(const ExportedFunction& f);

}  // namespace adjit::engine
