// tests/autosched/cpu/passes/tile_fusion/cost_test.cpp -- what blocks of rows cost and save.
#include "autosched/cpu/passes/tile_fusion/cost.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"

#include <gtest/gtest.h>

#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/rows.hpp"

namespace adjit::sched {
namespace {

struct Rows {
  explicit Rows(int64_t heads, int64_t rows, int64_t columns, CpuMachine aim = small_caches())
      : program(plain(attention(heads, rows, columns, 4))), machine(aim) {}
  Rows(const Rows&) = delete;

  // The scores, over all rows of all heads.
  RowGroup group() const {
    RowGroup made;
    const TensorInfo& info = program.graph.info(tensor_named(program, "s"));
    made.batches = info.shape[0];
    made.rows = info.shape[1];
    made.stored = {tensor_named(program, "s")};
    return made;
  }

  const Program program;
  const CpuMachine machine;
  const RowReads reads{program, machine};
  const RowCosts costs{reads};
};

TEST(RowCosts, BlocksAreOfEqualLengthWhereTheRowsAllowIt) {
  for (const int64_t rows : {256, 512, 640, 1000}) {
    const Rows r(2, rows, 48);
    RowGroup group = r.group();
    r.costs.choose_blocks(group);
    EXPECT_GE(group.block, thresholds().block_rows * 2 / 3) << rows;
    EXPECT_EQ(group.rows % (group.parts * group.block), 0) << rows;
    EXPECT_EQ(group.parts, 1) << "nothing sums over rows";
  }
}

TEST(RowCosts, FewBatchesWithSumsAreTakenInParts) {
  const Rows few(1, 4096, 48), many(9, 4096, 48);
  RowGroup one = few.group(), nine = many.group();
  one.sums = nine.sums = {0};
  few.costs.choose_blocks(one);
  many.costs.choose_blocks(nine);
  EXPECT_GT(one.parts, 1) << "tasks in turn occupy no other core";
  EXPECT_EQ(nine.parts, 1);
}

TEST(RowCosts, TheRightSizeIsMoreThanTheSecondCacheInBlocksNearACore) {
  const Rows r(2, 512, 48);
  RowGroup group = r.group();
  r.costs.choose_blocks(group);
  EXPECT_TRUE(r.costs.is_right_size(group));
  RowGroup one_block = group;
  one_block.block = group.rows;
  EXPECT_FALSE(r.costs.is_right_size(one_block)) << "two blocks at least";
  const Rows held(2, 512, 48, CpuMachine{2, 512});
  RowGroup fits = held.group();
  held.costs.choose_blocks(fits);
  EXPECT_FALSE(held.costs.is_right_size(fits)) << "fits the caches as it is";
}

TEST(RowCosts, BytesFromMemoryTakeLongerThanFromTheThirdCache) {
  const Rows r(2, 512, 48);
  EXPECT_GT(r.costs.cycles_of(1e6, true), r.costs.cycles_of(1e6, false));
  EXPECT_EQ(r.costs.bytes_of({tensor_named(r.program, "s"), tensor_named(r.program, "m")}),
            4.0 * (2 * 512 * 48 + 2 * 512));
}

TEST(RowCosts, WholesCostMoreWhereMoreReadersTakeThem) {
  const Rows r(2, 512, 48);
  const TensorId s = tensor_named(r.program, "s"), o = tensor_named(r.program, "o");
  const double scores = r.costs.cycles_as_wholes({s}, {}),
               both = r.costs.cycles_as_wholes({s, o}, {});
  EXPECT_GT(scores, 0);
  EXPECT_GT(both, scores);
  size_t contraction = SIZE_MAX;
  const TensorId p = tensor_named(r.program, "p");
  for (size_t reader : r.program.readers[p.value])
    if (r.reads.is_contraction(reader)) contraction = reader;
  ASSERT_NE(contraction, SIZE_MAX);
  EXPECT_GT(r.costs.cycles_as_wholes({p}, {contraction}), r.costs.cycles_as_wholes({p}, {}))
      << "a sum over rows takes a copy of it";
}

TEST(RowCosts, ArithmeticIsOfThePeakForProductsAndOfWorkForOthers) {
  const Rows r(2, 512, 48);
  const size_t s = stage_of(r.program, "s"), e = stage_of(r.program, "e");
  const double lanes = lanes_per_cycle(r.machine, 4);
  EXPECT_EQ(r.costs.arithmetic_of(s), 2.0 * 512 * 48 * 4 / lanes);
  EXPECT_GT(r.costs.arithmetic_of(e), 2.0 * 512 * 48 / lanes) << "an exponential is more than one";
  EXPECT_GT(r.costs.cycles_again(s), r.costs.arithmetic_of(s)) << "below the peak";
  EXPECT_EQ(r.costs.cycles_again(e), r.costs.arithmetic_of(e));
}

TEST(RowCosts, MoreThanMayBeKeptIsNeverKept) {
  CpuMachine machine = small_caches();
  machine.kept_bytes = 4 * 2 * 512 * 48;
  const Rows r(2, 512, 48, machine);
  RowStages common;
  common.rows = 512;
  common.batches = 2;
  const TensorId s = tensor_named(r.program, "s"), m = tensor_named(r.program, "m");
  EXPECT_LT(r.costs.cost_of_keeping(common, s, {}), RowCosts::kNever);
  EXPECT_EQ(r.costs.cost_of_keeping(common, s, {m}), RowCosts::kNever);
}

TEST(RowCosts, SumsThatGoOnCostTheirBlocksAndParts) {
  const Rows r(2, 512, 48);
  RowGroup group = r.group();
  group.block = 64;
  EXPECT_EQ(r.costs.added_by_sums(group), 0);
  group.sums = {stage_of(r.program, "m")};
  const double once = r.costs.added_by_sums(group);
  EXPECT_GT(once, 0);
  group.block = 32;
  EXPECT_EQ(r.costs.added_by_sums(group), 2 * once) << "twice the blocks";
  group.parts = 2;
  EXPECT_GT(r.costs.added_by_sums(group), 2 * once);
}

}  // namespace
}  // namespace adjit::sched
