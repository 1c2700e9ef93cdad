// tests/jit/emit/shape/row_pieces_test.cpp -- pieces of rows in the vectors of neighbouring
// instances.
#include "jit/emit/shape/row_pieces.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace adjit::testing
