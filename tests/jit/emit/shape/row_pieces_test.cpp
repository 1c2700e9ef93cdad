// tests/jit/emit/shape/row_pieces_test.cpp -- pieces of rows in the vectors of neighbouring
// instances.
#include "jit/emit/shape/row_pieces.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::vector<TileInstance> numbered(std::initializer_list<uint64_t> numbers, unsigned lanes = 8) {
  std::vector<TileInstance> all;
  for (uint64_t number : numbers) all.push_back({{}, number, lanes});
  return all;
}

std::vector<uint64_t> numbers_of(const std::vector<const TileInstance*>& piece) {
  std::vector<uint64_t> numbers;
  for (const TileInstance* instance : piece) numbers.push_back(instance->number);
  return numbers;
}

TEST(RowPieces, InstancesOfOnePieceComeInTheOrderOfTheRow) {
  // Trips of the second unrolled loop are in the second byte; the first loop's is 1 in all but one.
  const std::vector<TileInstance> all =
      numbered({0x0301, 0x0201, 0x0101, 0x0001, 0x0401, 0x0102, 0x0501});
  for (size_t k = 0; k < 4; ++k)
    EXPECT_EQ(numbers_of(piece_with(all, all[k], 1, 4)),
              (std::vector<uint64_t>{0x0001, 0x0101, 0x0201, 0x0301}));
  EXPECT_EQ(numbers_of(piece_with(all, all[4], 1, 2)), (std::vector<uint64_t>{0x0401, 0x0501}));
}

TEST(RowPieces, APieceThatIsNotAllThereIsNone) {
  std::vector<TileInstance> all = numbered({0x0001, 0x0101, 0x0201});
  EXPECT_TRUE(piece_with(all, all[0], 1, 4).empty());
  EXPECT_TRUE(piece_with(all, all[0], 1, 1).empty()) << "an element is no piece";
  all = numbered({0x0001, 0x0101});
  all[1].live_lanes = 3;
  EXPECT_TRUE(piece_with(all, all[0], 1, 2).empty()) << "their lanes end elsewhere";
}

// Vector r holds, for lanes r, r + 4, what the four instances have of them, one behind the other.
TEST(RowPieces, LanesFindTheirPieceInTransposedVectors) {
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
TEST(RowPieces, TransposedRowsAreVectorsOfOneElementOfEach) {
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
