// tests/autosched/analysis/access_test.cpp -- how reads move through memory as their axes advance.
#include "autosched/analysis/access.hpp"

#include <random>
#include <set>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

MemoryAccess access(const Graph& graph) {
  return accesses_of(LoweredGraph(graph), graph.stages.back()).reads.front();
}

TEST(Access, StridesOfAxes) {
  const MemoryAccess a = access(parse_graph(
      "def f(float(7, 40) x) -> (y) { y(i, j) = x(j, 2 * i + 1) where i in 0:9, j in 0:7 }"));
  EXPECT_EQ(a.strides, (std::vector<int64_t>{2, 40}));
  EXPECT_EQ(a.irregular, (std::vector<bool>{false, false}));
}

TEST(Access, DivisionsAreIrregular) {
  const MemoryAccess a = access(
      parse_graph("def f(float(7, 40) x) -> (y) { y(i, j) = x(j // 2, i) where i in 0:9, j in 0:14 "
                  "}"));
  EXPECT_EQ(a.irregular, (std::vector<bool>{false, true}));
  EXPECT_TRUE(a.contiguous(0));
  EXPECT_FALSE(a.contiguous(1));
  EXPECT_TRUE(a.depends_on(1));
  EXPECT_FALSE(a.guarded);
}

TEST(Access, ResultsAreRowMajor) {
  const Graph graph =
      parse_graph("def f(float(7, 9) x) -> (y) { y(i, j) = x(j, i) where i in 0:9, j in 0:7 }");
  const MemoryAccess result = accesses_of(LoweredGraph(graph), graph.stages.back()).result;
  EXPECT_EQ(result.strides, (std::vector<int64_t>{7, 1}));
  EXPECT_TRUE(result.contiguous(1));
  EXPECT_FALSE(result.read.valid());
}

TEST(Access, ReshapedTensorsAreRegular) {
  // (4, 6, 5, 3) as (4, 2, 45)
  const MemoryAccess flat = access(parse_graph(
      "def f(float(4, 6, 5, 3) x) -> (y) { y(i, j, k) = x(i, (j * 45 + k) // 15, (j * 45 + k) // 3 "
      "% 5, (j * 45 + k) % 3) where i in 0:4, j in 0:2, k in 0:45 }"));
  EXPECT_EQ(flat.strides, (std::vector<int64_t>{90, 45, 1}));
  EXPECT_EQ(flat.irregular, (std::vector<bool>(3, false)));
  // and back
  const MemoryAccess back = access(parse_graph(
      "def f(float(4, 2, 45) x) -> (y) { y(i, j, k, l) = x(i, (j * 15 + k * 3 + l) // 45, (j * 15 "
      "+ k * 3 + l) % 45) where i in 0:4, j in 0:6, k in 0:5, l in 0:3 }"));
  EXPECT_EQ(back.strides, (std::vector<int64_t>{90, 15, 3, 1}));
  EXPECT_EQ(back.irregular, (std::vector<bool>(4, false)));
}

TEST(Access, OtherStridesDoNotCancel) {
  // A slice of the tensor's rows: 3 of 4 columns.
  const MemoryAccess a = access(
      parse_graph("def f(float(5, 4) x) -> (y) { y(k) = x(k // 3, k % 3) where k in 0:15 }"));
  EXPECT_EQ(a.irregular, (std::vector<bool>{true}));
}

TEST(Access, ByData) {
  const LoweredGraph graph(
      parse_graph("def f(float(50, 8) x, int64(9) n) -> (y) { y(i, j) = x(n(i), j) where i in 0:9, "
                  "j in 0:8 }"));
  for (const MemoryAccess& a : accesses_of(graph, graph.stages.back()).reads) {
    const bool gathers = graph.info(a.tensor).name == "x";
    EXPECT_EQ(a.by_data, (std::vector<bool>{gathers, false}));
    EXPECT_EQ(a.strides, (gathers ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 0}));
  }
}

// Two axes of results and two of a reduction, in lanes along the first: against all places.
TEST(Access, DistinctReadsAreThePlacesOfAllCopies) {
  std::mt19937 random(11);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  const int64_t strides[] = {0, 1, 2, 3, 7, 8, 56, 64, 100};
  for (int round = 0; round < 2000; ++round) {
    MemoryAccess access;
    std::vector<int64_t> instances;
    for (int a = 0; a < 5; ++a) {
      access.strides.push_back(strides[below(9)] * (below(4) == 0 ? -1 : 1));
      access.irregular.push_back(below(8) == 0);
      instances.push_back(1 + below(4));
    }
    double apart = 1;
    std::set<int64_t> places{0};
    for (size_t a = 0; a < 5; ++a) {
      if (!access.depends_on(a)) continue;
      if (a == 0 || access.irregular[a]) {
        apart *= static_cast<double>(instances[a]);
        continue;
      }
      std::set<int64_t> next;
      for (const int64_t place : places)
        for (int64_t k = 0; k < instances[a]; ++k) next.insert(place + k * access.strides[a]);
      places = std::move(next);
    }
    const bool along_results = access.strides[1] != 0 && !access.irregular[1] && instances[1] > 1;
    const bool along_results_too =
        access.strides[2] != 0 && !access.irregular[2] && instances[2] > 1;
    const bool along_sums = (access.strides[3] != 0 && !access.irregular[3] && instances[3] > 1) ||
                            (access.strides[4] != 0 && !access.irregular[4] && instances[4] > 1);
    if (!(along_results || along_results_too) || !along_sums) continue;  // nothing is shared
    EXPECT_EQ(distinct_reads(access, instances, 3, 0), apart * static_cast<double>(places.size()));
  }
}

}  // namespace
}  // namespace adjit::sched
