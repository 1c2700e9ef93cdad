// jit/emit/ir/transpose.hpp -- pieces of rows as vectors of columns, and the other way round.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// Vectors whose 16-byte parts hold a piece of a row each (of rows r, r + G, ... in vector r of G),
/// as vectors that hold an element of each row; and the other way round.
std::vector<llvm::Value*> transposed(llvm::IRBuilder<>& builder, unsigned lanes,
                                     const std::vector<llvm::Value*>& rows);

/// A piece of a row for each lane, of vectors that hold those of lanes r, r + G, ... each (what
/// `transposed` gives for the vectors of a piece's instances).
std::vector<llvm::Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                         const std::vector<llvm::Value*>& vectors);

}  // namespace adjit::emit
