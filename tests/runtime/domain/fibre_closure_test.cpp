// tests/runtime/domain/fibre_closure_test.cpp -- derivatives of derivatives: fibres of what fibres
// produce.
#include <gtest/gtest.h>

#include <algorithm>

#include "visit.hpp"

namespace adjit::domain {
namespace {

/// The adjoint stage dX[j] = sum_t dY[original(j, t)] reads dY at the source's output axes. Its own
/// adjoint is the fibre of that read, which must visit every point of the stage's domain once.
void expect_closed(const FibrePiece& stage, const Domain& source, NestRun& run) {
  const std::vector<Affine> index(
      stage.original.begin(),
      stage.original.begin() + static_cast<std::ptrdiff_t>(source.output_rank));
  const std::vector<int64_t> target(
      source.extents.begin(),
      source.extents.begin() + static_cast<std::ptrdiff_t>(source.output_rank));
  const std::vector<Visit> expected = brute_force(stage.domain, index, target);
  const auto pieces = fibre(stage.domain, index, target);
  ASSERT_TRUE(pieces.has_value()) << to_text(stage);
  std::string text = to_text(stage) + "\n";
  for (const FibrePiece& piece : *pieces) text += to_text(piece) + "\n";
  EXPECT_EQ(visits_of(*pieces, target, run), expected) << text;
}

TEST(FibreClosure, SecondDerivativesOfEveryPattern) {
  NestRun run;
  for (const Pattern& pattern : all_patterns(Size::Small)) {
    SCOPED_TRACE(pattern.name);
    for (const IndexMap& map : pattern.maps) {
      const auto stages = fibre(map.source, map.index, pattern.target);
      ASSERT_TRUE(stages.has_value());
      for (const FibrePiece& stage : *stages) expect_closed(stage, map.source, run);
    }
  }
  EXPECT_EQ(run.empty_outer, 0);
}

// Third derivatives come back to the first: the fibre of the fibre of a convolution is a
// convolution.
TEST(FibreClosure, FibreOfFibreOfConvolutionIsConvolution) {
  IndexMap m({6}, {3});
  m.index = {m[0] + m[1]};
  const auto adjoint = fibre(m.source, m.index, std::vector<int64_t>{8});
  ASSERT_TRUE(adjoint && adjoint->size() == 1);
  const FibrePiece& stage = adjoint->front();
  const auto again = fibre(stage.domain, std::vector{stage.original[0]}, std::vector<int64_t>{6});
  ASSERT_TRUE(again && again->size() == 1);
  EXPECT_EQ(to_text(again->front()), "axes j0:6 | t0:3; source (j0 + t0, t0)");
}

}  // namespace
}  // namespace adjit::domain
