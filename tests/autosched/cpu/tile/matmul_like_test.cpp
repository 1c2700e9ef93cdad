// Which stages are like a matrix product, and which copy panels.
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"

#include "autosched/cpu/tile/choose_tile.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr CpuMachine kReference;

struct ModelledProduct {
  explicit ModelledProduct(Graph of)
      : graph(std::move(of)),
        stage(graph.stages.back()),
        accesses(accesses_of(graph, stage)),
        tile(choose_reduction_tile({graph, stage, accesses, stage.domain.extents, kReference})) {}

  // Of the operand that the lanes walk.
  bool panels(const CpuMachine& machine = {}) const {
    for (const MemoryAccess& access : accesses.reads)
      if (access.depends_on(*tile.vector_axis))
        return copies_panels(graph, stage, access, tile, accesses, machine);
    return false;
  }

  int64_t streamed(const CpuMachine& machine = {}) const {
    return streamed_steps(graph, stage, tile, accesses, machine);
  }

  LoweredGraph graph;
  Stage stage;
  Accesses accesses;
  TileChoice tile;
};

TEST(RowsAxis, IsTheOneThatUsesTheLanesOperandAgain) {
  const ModelledProduct p(matmul_graph(64, 128, 32));
  EXPECT_EQ(p.tile.vector_axis, 1U);
  EXPECT_EQ(rows_axis(p.stage, p.tile, p.accesses), 0U);
  const ModelledProduct sum(column_sum_graph(64, 128));
  EXPECT_EQ(rows_axis(sum.stage, sum.tile, sum.accesses), std::nullopt);
}

TEST(RowBytes, AreThoseOfOneBlock) {
  EXPECT_EQ(row_bytes(ModelledProduct(matmul_graph(8, 16, 1024)).stage, 3), 4 * 3 * 1024);
  EXPECT_EQ(row_bytes(ModelledProduct(matmul_graph(8, 16, 4096)).stage, 3), 4 * 3 * 512);
}

TEST(CopiesPanels, WhereALargeOperandIsUsedByFewRows) {
  EXPECT_TRUE(ModelledProduct(matmul_graph(16, 2048, 1100)).panels());
  EXPECT_FALSE(ModelledProduct(matmul_graph(4, 2048, 1100)).panels()) << "too little reuse";
  EXPECT_FALSE(ModelledProduct(matmul_graph(16, 128, 16384)).panels())
      << "rows are near each other";
  EXPECT_FALSE(ModelledProduct(matmul_graph(16, 256, 64)).panels())
      << "its copy stays close anyway";
  EXPECT_FALSE(ModelledProduct(matmul_graph(2048, 2048, 1100)).panels())
      << "the rows' operand does not";
  EXPECT_TRUE(ModelledProduct(matmul_graph(16, 512, 512)).panels({.l2_bytes = 256 << 10}));
}

// Panels are made in the product's loops where a tile waits for the operand; larger ones than the
// caches keep are streamed where rows are few.
TEST(MatrixProduct, PanelsOfWhatStaysInTheCaches) {
  CpuMachine machine{2, 512};
  machine.l2_bytes = 2 << 20;
  machine.fma_bits = 1024;
  const auto scheduled = [&](int64_t rows, int64_t columns, int64_t steps) {
    return print(default_schedule(matmul_graph(rows, columns, steps), machine));
  };
  const std::string near = scheduled(256, 784, 512);
  EXPECT_NE(near.find("with B_packed(0:512, j0 + j1 : j0 + j1 + 32) (local"), std::string::npos)
      << near;
  EXPECT_EQ(near.find("fetches the next"), std::string::npos) << near;
  const std::string few = scheduled(16, 4096, 1100);
  EXPECT_EQ(few.find("B_packed"), std::string::npos) << few;
  EXPECT_NE(few.find("fetches the next"), std::string::npos) << few;
  EXPECT_EQ(scheduled(256, 784, 32).find("B_packed"), std::string::npos) << "no tile waits for it";
}

TEST(StreamedSteps, WhereTheResultsOfACoreStayInItsCache) {
  const ModelledProduct few(matmul_graph(16, 2048, 1100));
  EXPECT_EQ(few.streamed(), 32);
  EXPECT_EQ(few.streamed({.cores = 1, .l2_bytes = 128 << 10}), 0);
  EXPECT_EQ(few.streamed({.cores = 4, .l2_bytes = 128 << 10}), 32) << "columns are shared out";
  EXPECT_EQ(ModelledProduct(matmul_graph(16, 2048, 100)).streamed(), 0)
      << "there is little to walk";
  EXPECT_EQ(ModelledProduct(matmul_graph(64, 8192, 1100)).streamed(), 0);
  EXPECT_EQ(ModelledProduct(column_sum_graph(4096, 2048)).streamed(), 0) << "no rows";
}

// What a panel would hold of a third dimension, inside the lanes' loop, is no panel: 512 kB of it
// were more than a kernel may keep.
TEST(MatrixProduct, NoPanelsOfWhatLoopsInsideTheLanesWalk) {
  const Graph graph = parse_graph(
      "def f(float(512, 8) a, float(8, 512, 512) b) -> (y) {\n"
      "  y(i, j, k) +=! a(i, r) * b(r, j, k) where i in 0:512, j in 0:512, k in 0:512, r in "
      "0:8\n}");
  const Program program = default_schedule(graph, CpuMachine{.cores = 2, .vector_bits = 512});
  for (const Kernel& kernel : program.kernels)
    EXPECT_TRUE(kernel.root.attached.empty()) << print(program);
}

}  // namespace
}  // namespace adjit::sched
