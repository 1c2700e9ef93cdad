// jit/engine/keys.hpp -- all that compiled code depends on, and all that a kept schedule does.
#pragma once

#include "jit/cache/entry/key.hpp"
#include "jit/engine/backend/backend.hpp"
#include "jit/engine/request.hpp"

namespace adjit::engine {

/// Of the LLVM that generates the code, such as "19.1.7".
const char* llvm_version();

/// Of the code of a request, for a machine of these components; `check_nan`: with tests of every
/// stage.
cache::Key code_key(const Request& request, Components machine, bool check_nan);

/// Of the computation, the layouts and the machine: not of the code that would be generated.
cache::Key kept_schedule_key(const Request& request, Components machine);

}  // namespace adjit::engine
