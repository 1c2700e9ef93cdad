// jit/engine/export_math.hpp -- the functions of this process that exported kernels call, in C.
#pragma once

#include <span>
#include <string>

#include "jit/engine/export.hpp"

namespace adjit::engine {

/// Definitions of those that the objects name. ErrorCode::Compile for one that libm lacks.
std::string exported_math(std::span<const ExportedFunction> functions);

}  // namespace adjit::engine
