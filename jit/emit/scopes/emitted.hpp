// jit/emit/scopes/emitted.hpp -- machine values with the scope that holds them, and the points that
// they are values of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace llvm {
class Value;
}

namespace adjit::emit {

/// A machine value and the outermost scope that holds it.
struct Emitted {
  llvm::Value* value = nullptr;
  size_t depth = 0;
};

/// The point being evaluated: the index emitter's fixed variables say where it is.
struct Point {
  uint64_t instance = 0;  // of the tile: see instance_number.hpp
  Emitted active;         // lanes (or i1) that may touch memory; null: all
};

}  // namespace adjit::emit
