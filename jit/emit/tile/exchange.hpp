// jit/emit/tile/exchange.hpp -- how threads of a block get at each other's values: by shuffles
// within a warp, through the block's memory otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/kernel_context.hpp"

namespace adjit::emit {

/// A number of threads, lanes or elements: i32.
llvm::Value* number_of(llvm::IRBuilder<>& builder, int64_t number);

/// Which thread of the warp a thread gets the value of: one so many lanes further up or down, its
/// own where there is none, or the one with that number.
enum class Shuffle : uint8_t { FromBelow, Down, Index };
/// A scalar, or a vector element by element. All threads of the warp must come to it.
llvm::Value* shuffled(llvm::IRBuilder<>& builder, Shuffle kind, llvm::Value* value,
                      llvm::Value* lanes);

/// An element of its own for each of so many threads, of each of some values: in memory of the
/// nest's own, or, where that is much, in the memory of all exchanges.
class ExchangedValues {
 public:
  ExchangedValues(const KernelContext& kernel, const Nest* own,
                  const std::vector<Partial>& partials, int64_t elements);

  void store(const Carried& values, llvm::Value* element) const;
  Carried load(llvm::Value* element) const;

 private:
  struct Array {
    llvm::Type *type, *memory;
    llvm::Align align;
    llvm::Value* pointer;
  };
  llvm::IRBuilder<>& builder_;
  std::vector<Array> arrays_;
};

}  // namespace adjit::emit
