// tests/runtime/diff/indices/index_pieces_test.cpp -- indices that are affine piece by piece.
#include "runtime/diff/indices/index_pieces.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/domain/count.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

// Every point where the condition holds lies in exactly one piece, whose forms are the coordinates
// there; what the condition excludes, a piece excludes or asks for.
void expect_exact(ExprPool& pool, const Domain& domain, const std::vector<ExprId>& coordinates,
                  ExprId condition, const std::vector<IndexPiece>& pieces) {
  for_each_point(domain, [&](const std::vector<int64_t>& point) {
    int holding = 0;
    for (const IndexPiece& piece : pieces) {
      if (!piece.domain.contains(point)) continue;
      if (piece.condition.valid() && value_at(pool, piece.condition, point) == 0) continue;
      ++holding;
      const std::vector<int64_t> variables = piece.domain.variables_at(point);
      for (size_t d = 0; d < coordinates.size(); ++d)
        EXPECT_EQ(evaluate(piece.index[d], variables), value_at(pool, coordinates[d], point));
    }
    EXPECT_EQ(holding, condition.valid() ? value_at(pool, condition, point) : 1);
  });
}

struct Indexes {
  ExprPool pool;
  ExprId axis(size_t k) { return pool.axis(k); }
  ExprId number(int64_t value) { return pool.constant_int(value); }
  ExprId clip(ExprId index, int64_t extent) {
    return pool.make(Op::Min, {pool.make(Op::Max, {index, number(0)}), number(extent - 1)});
  }
  // i + r - 1, r over 3
  ExprId shifted(size_t i, size_t r) { return pool.sub(pool.add(axis(i), axis(r)), number(1)); }
};

TEST(IndexPieces, AClippedWindow) {
  Indexes in;
  const Domain domain = shape_box({9, 3});
  const ExprId index = in.clip(in.shifted(0, 1), 9);
  const auto pieces = index_pieces(in.pool, domain, std::vector{index}, {});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->size(), 3);
  expect_exact(in.pool, domain, {index}, {}, *pieces);
  int64_t constant = 0;
  for (const IndexPiece& piece : *pieces)
    if (piece.index[0].is_constant()) constant += *count_points(piece.domain);
  EXPECT_EQ(constant, 2) << "the bounds have the points outside alone";
}

// Pieces of several coordinates are products; what is empty is no piece.
TEST(IndexPieces, SeveralCoordinates) {
  Indexes in;
  const Domain domain = shape_box({5, 6, 3, 3});
  const std::vector<ExprId> index{in.clip(in.shifted(0, 2), 5), in.clip(in.shifted(1, 3), 6)};
  const auto pieces = index_pieces(in.pool, domain, index, {});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->size(), 9);
  expect_exact(in.pool, domain, index, {}, *pieces);
  const std::vector<ExprId> same{in.clip(in.shifted(0, 2), 5), in.clip(in.shifted(0, 2), 5)};
  EXPECT_EQ(index_pieces(in.pool, domain, same, {})->size(), 3);
}

TEST(IndexPieces, FourClippedCoordinatesAreTheMost) {
  for (const size_t coordinates : {size_t{4}, size_t{5}}) {
    Indexes in;
    std::vector<int64_t> extents(coordinates, 5);
    extents.resize(2 * coordinates, 3);
    std::vector<ExprId> index;
    for (size_t d = 0; d < coordinates; ++d)
      index.push_back(in.clip(in.shifted(d, coordinates + d), 5));
    const auto pieces = index_pieces(in.pool, shape_box(extents), index, {});
    EXPECT_EQ(pieces.has_value(), coordinates == 4);
    if (pieces) {
      EXPECT_EQ(pieces->size(), kMostPieces);
    }
  }
}

// A literal that is affine in a piece is rows of it; one that data decides stays.
TEST(IndexPieces, ConditionsAreSplitToo) {
  Indexes in;
  ExprPool& pool = in.pool;
  const Domain domain = shape_box({9, 9});
  const ExprId i = in.axis(0), j = in.axis(1);
  const ExprId distance = pool.make(Op::Abs, {pool.sub(i, j)});
  const ExprId near = pool.make(Op::Le, {distance, pool.make(Op::Min, {i, in.number(2)})});
  const ExprId edge = pool.make(
      Op::Or, {pool.make(Op::Eq, {i, in.number(3)}), pool.make(Op::Eq, {j, in.number(8)})});
  for (ExprId condition : {near, edge, pool.logical_and(near, edge)}) {
    const auto pieces = index_pieces(pool, domain, std::vector{i, j}, condition);
    ASSERT_TRUE(pieces);
    for (const IndexPiece& piece : *pieces) EXPECT_FALSE(piece.condition.valid());
    expect_exact(pool, domain, {i, j}, condition, *pieces);
  }
  const ExprId mask = pool.read(TensorId{0}, DType::Bool, std::vector{i, j});
  const auto pieces = index_pieces(pool, domain, std::vector{i, j}, pool.logical_and(near, mask));
  ASSERT_TRUE(pieces);
  for (const IndexPiece& piece : *pieces) EXPECT_EQ(piece.condition, mask);
}

TEST(IndexPieces, NoneWhereDataOrAProductDecides) {
  Indexes in;
  ExprPool& pool = in.pool;
  const Domain domain = shape_box({9, 9});
  const ExprId i = in.axis(0), j = in.axis(1);
  const ExprId from_data = pool.read(TensorId{0}, DType::Int64, std::vector{i});
  for (ExprId index : {in.clip(from_data, 9), pool.mul(i, j), in.clip(pool.mul(i, j), 9)})
    EXPECT_FALSE(index_pieces(pool, domain, std::vector{index}, {}));
}

// A random index of two axes: affine forms, //, %, and choices among them.
class RandomIndex {
 public:
  RandomIndex(ExprPool& pool, uint64_t seed) : pool_(pool), engine_(seed) {}

  ExprId operator()(int depth) {
    const ExprId a = depth == 0 ? leaf() : (*this)(depth - 1);
    switch (draw(0, depth == 0 ? 1 : 10)) {
      case 0: return pool_.add(a, pool_.constant_int(draw(-4, 4)));
      case 1: return pool_.sub(pool_.mul(a, pool_.constant_int(draw(1, 2))), leaf());
      case 2: return pool_.make(Op::Abs, {a});
      case 3: return pool_.make(Op::Sign, {a});
      case 4: return pool_.make(Op::FloorDiv, {a, pool_.constant_int(draw(1, 3))});
      case 5: return pool_.make(Op::Mod, {a, pool_.constant_int(draw(1, 4))});
      case 6: return pool_.make(Op::Min, {a, (*this)(depth - 1)});
      case 7: return pool_.make(Op::Max, {pool_.constant_int(draw(-2, 4)), a});
      case 8: return pool_.cast(condition(depth - 1), DType::Int64);
      default: return pool_.select(condition(depth - 1), a, (*this)(depth - 1));
    }
  }

  ExprId condition(int depth) {
    constexpr Op kOps[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
    ExprId one = pool_.make(kOps[draw(0, 3)], {(*this)(depth), leaf()});
    if (depth > 0 && draw(0, 2) == 0)
      one = pool_.make(draw(0, 1) == 0 ? Op::And : Op::Or, {one, condition(depth - 1)});
    return draw(0, 3) == 0 ? pool_.make(Op::Not, {one}) : one;
  }

 private:
  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  ExprId leaf() {
    return draw(0, 3) == 0 ? pool_.constant_int(draw(-2, 5))
                           : pool_.axis(static_cast<size_t>(draw(0, 1)));
  }

  ExprPool& pool_;
  std::mt19937_64 engine_;
};

TEST(IndexPieces, RandomOnesAgreeWithBruteForce) {
  int split = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    ExprPool pool;
    RandomIndex random(pool, seed);
    const Domain domain = shape_box({5, 4});
    const std::vector<ExprId> index{random(2), random(1)};
    const ExprId condition = seed % 2 == 0 ? random.condition(1) : ExprId{};
    const auto pieces = index_pieces(pool, domain, index, condition);
    if (!pieces) continue;
    split += pieces->size() > 1;
    expect_exact(pool, domain, index, condition, *pieces);
  }
  EXPECT_GT(split, 200);
}

}  // namespace
}  // namespace adjit::testing
