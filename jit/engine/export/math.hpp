// jit/engine/export/math.hpp -- the functions of this process that exported kernels call, in C.
#pragma once

#include <span>
#include <string>

#include "jit/engine/export/export.hpp"

namespace adjit::engine {

/// Definitions of those that the objects name. ErrorCode::Compile for one that libm lacks.
std::string exported_math(std::span<const ExportedFunction> functions);

}  // namespace adjit::engine
