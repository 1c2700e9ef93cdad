// jit/emit/ir/transpose.cpp -- transpositions as rounds of perfect shuffles.
#include "jit/emit/ir/transpose.hpp"

#include "runtime/expr/error.hpp"

namespace adjit::emit {

using llvm::Value;

std::vector<Value*> transposed(llvm::IRBuilder<>& builder, unsigned lanes,
                               const std::vector<Value*>& rows) {
  const auto group = static_cast<unsigned>(rows.size());
  const auto interleave = [&](Value* a, Value* b, bool upper) {
    llvm::SmallVector<int, 64> take;
    for (unsigned part = 0; part < lanes; part += group)
      for (unsigned e = 0; e < group / 2; ++e) {
        const unsigned element = part + e + (upper ? group / 2 : 0);
        take.push_back(static_cast<int>(element));
        take.push_back(static_cast<int>(lanes + element));
      }
    return builder.CreateShuffleVector(a, b, take);
  };
  std::vector<Value*> vectors = rows;
  for (unsigned done = 1; done < group; done *= 2) {
    std::vector<Value*> next;
    for (unsigned r = 0; r < group / 2; ++r) {
      next.push_back(interleave(vectors[r], vectors[r + group / 2], false));
      next.push_back(interleave(vectors[r], vectors[r + group / 2], true));
    }
    vectors = std::move(next);
  }
  return vectors;
}

std::vector<Value*> pieces_of_rows(llvm::IRBuilder<>& builder, unsigned lanes,
                                   const std::vector<Value*>& vectors) {
  const size_t length = vectors.size();
  invariant(length > 0, "a piece has no elements");
  std::vector<Value*> pieces;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::SmallVector<int, 16> take;
    for (size_t e = 0; e < length; ++e)
      take.push_back(static_cast<int>(lane / length * length + e));
    pieces.push_back(builder.CreateShuffleVector(vectors[lane % length], take));
  }
  return pieces;
}

}  // namespace adjit::emit
