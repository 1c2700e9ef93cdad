// jit/emit/loads/prefetch.cpp -- fetching what a loop reads later.
#include "jit/emit/loads/prefetch.hpp"

#include <cstdlib>

namespace adjit::emit {

void fetch_ahead(llvm::IRBuilder<>& builder, llvm::FixedVectorType* type, llvm::Value* pointer,
                 const Affine& first, size_t loop) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kFirstCache = 8192;  // bytes to the next row that leave it room for others
  constexpr int64_t kDistance = 384;     // at least, where the next iteration comes too soon
  constexpr uint32_t kRead = 0, kFirst = 3, kSecond = 2, kData = 1;
  llvm::Type* element = type->getElementType();
  int64_t moves = first.coefficient(loop);
  const int64_t size = element->getPrimitiveSizeInBits() / 8, bytes = size * type->getNumElements();
  while (moves != 0 && std::abs(moves) * size < kDistance) moves *= 2;
  if (moves == 0 || (bytes < kLine && floor_mod(first.constant() * size, kLine) >= bytes)) return;
  llvm::Value* next =
      builder.CreateGEP(element, pointer, builder.getInt64(static_cast<uint64_t>(moves)));
  builder.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {next->getType()},
      {next, builder.getInt32(kRead),
       builder.getInt32(std::abs(moves) * size <= kFirstCache ? kFirst : kSecond),
       builder.getInt32(kData)});
}

}  // namespace adjit::emit
