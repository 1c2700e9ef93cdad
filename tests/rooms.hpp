// tests/rooms.hpp -- what tests share stands in adjit::testing, which uses the names of all rooms.
#pragma once

#include "runtime/process/rooms.hpp"

namespace adjit::testing {
using namespace engine;  // NOLINT(google-build-using-namespace)
}  // namespace adjit::testing
