// tests/runtime/domain/fibre_fuzz_test.cpp -- random quasi-affine reads against brute force.
//
// ADJIT_FUZZ_CASES sets the number of cases (2,000 by default), ADJIT_FUZZ_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "random_read.hpp"
#include "visit.hpp"

namespace adjit::domain {
namespace {

TEST(FibreFuzz, AgreesWithBruteForce) {
  const int64_t cases = environment("ADJIT_FUZZ_CASES", 2000);
  const uint64_t first = static_cast<uint64_t>(environment("ADJIT_FUZZ_SEED", 1));
  NestRun run;
  int64_t done = 0, fallen_back = 0;
  std::vector<double> times;
  for (uint64_t seed = first; done < cases; ++seed) {
    const Pattern pattern = RandomRead(seed).generate();
    if (target_cells(pattern) > 20'000) continue;
    ++done;
    const IndexMap& map = pattern.maps.front();
    const double start = cpu_milliseconds();
    const auto pieces = fibre(map.source, map.index, pattern.target);
    times.push_back(cpu_milliseconds() - start);
    if (!pieces) {
      ++fallen_back;
      continue;
    }
    const std::vector<Visit> expected = brute_force(map.source, map.index, pattern.target);
    std::string text = "seed " + std::to_string(seed) + "\n";
    for (const FibrePiece& piece : *pieces) text += to_text(piece) + "\n";
    ASSERT_EQ(visits_of(*pieces, pattern.target, run), expected) << text;
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  std::cout << done << " cases, " << fallen_back << " fell back, " << run.points << " points, "
            << run.empty_outer << " idle iterations; ms: median " << quantile(50) << ", p90 "
            << quantile(90) << ", p99 " << quantile(99) << ", max " << times.back() << "\n";
  EXPECT_LE(fallen_back * 100, done * 3);
}

}  // namespace
}  // namespace adjit::domain
