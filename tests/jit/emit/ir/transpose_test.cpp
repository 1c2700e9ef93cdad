// tests/jit/emit/ir/transpose_test.cpp -- rows become columns, element by element.
#include "jit/emit/ir/transpose.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Vector r holds, for lanes r, r + 4, what the four instances have of them, one behind the other.
TEST(Transpose, LanesFindTheirPieceInTransposedVectors) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    auto* type = llvm::FixedVectorType::get(b.getFloatTy(), 8);
    std::vector<llvm::Value*> transposed;
    for (unsigned k = 0; k < 4; ++k)
      transposed.push_back(b.CreateAlignedLoad(
          type, b.CreateConstInBoundsGEP1_64(type, pointer_argument(b, f, 0), k), llvm::Align(4)));
    const std::vector<llvm::Value*> pieces = emit::pieces_of_rows(b, 8, transposed);
    for (size_t lane = 0; lane < pieces.size(); ++lane)
      b.CreateAlignedStore(
          pieces[lane],
          b.CreateConstInBoundsGEP1_64(pieces[lane]->getType(), pointer_argument(b, f, 1), lane),
          llvm::Align(4));
  });
  std::vector<float> from(32), to(32);
  for (size_t lane = 0; lane < 8; ++lane)
    for (size_t instance = 0; instance < 4; ++instance)
      from[8 * (lane % 4) + 4 * (lane / 4) + instance] = static_cast<float>(10 * lane + instance);
  void* pointers[] = {from.data(), to.data()};
  function(pointers);
  for (size_t lane = 0; lane < 8; ++lane)
    for (size_t instance = 0; instance < 4; ++instance)
      EXPECT_EQ(to[4 * lane + instance], static_cast<float>(10 * lane + instance)) << lane;
}

// Element e of row r is 10 r + e.
TEST(Transpose, TransposedRowsAreVectorsOfOneElementOfEach) {
  for (const size_t group : {2, 4}) {
    const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
      auto* type = llvm::FixedVectorType::get(b.getFloatTy(), 8);
      const auto at = [&](unsigned argument, size_t k) {
        return b.CreateConstInBoundsGEP1_64(type, pointer_argument(b, f, argument), k);
      };
      std::vector<llvm::Value*> rows;
      for (size_t k = 0; k < group; ++k)
        rows.push_back(b.CreateAlignedLoad(type, at(0, k), llvm::Align(4)));
      const std::vector<llvm::Value*> vectors = emit::transposed(b, 8, rows);
      for (size_t k = 0; k < vectors.size(); ++k)
        b.CreateAlignedStore(vectors[k], at(1, k), llvm::Align(4));
    });
    std::vector<float> from(8 * group), to(8 * group);
    for (size_t row = 0; row < 8; ++row)
      for (size_t e = 0; e < group; ++e)
        from[8 * (row % group) + row / group * group + e] = static_cast<float>(10 * row + e);
    void* pointers[] = {from.data(), to.data()};
    function(pointers);
    for (size_t row = 0; row < 8; ++row)
      for (size_t e = 0; e < group; ++e)
        EXPECT_EQ(to[8 * e + row], static_cast<float>(10 * row + e)) << group;
  }
}

}  // namespace
}  // namespace adjit::testing
