// jit/emit/nest.hpp -- one loop nest of a program as IR.
//
// Loops outside the reduction: parallel and serial loops over output axes (and, blocked, over
// reduction axes). Then the *inner reduction loops*, which carry one accumulator per unrolled copy
// and lane. Then the tile: unrolled copies of the body over vectors of lanes. Ragged axes get a
// second version of what is inside the loop that steps over the tile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/emit/body.hpp"
#include "jit/emit/combine.hpp"
#include "jit/emit/loops.hpp"
#include "jit/emit/nest_shape.hpp"
#include "jit/emit/scatter.hpp"
#include "jit/emit/stores.hpp"

namespace adjit::emit {

class NestEmitter {
 public:
  NestEmitter(KernelContext& context, const Nest& nest);

  /// Emits the whole nest at the builder's position; enclosing variables are bound. `task` numbers
  /// the iteration of the parallel loops when the nest has any.
  void emit(llvm::Value* task = nullptr);

 private:
  Interval base_range(size_t axis) const;
  std::vector<Interval> axis_ranges() const;
  size_t add_origins(size_t depth);
  // nest.cpp: loops.
  void count_copy();
  std::vector<AffineConstraint> sort_rows();
  Affine left_after(size_t loop) const;
  void bind_tasks(llvm::Value* task);
  void bind_task(size_t loop);
  Carried inside(size_t loop, Carried carried);
  Carried emit_attached(size_t depth, Carried carried);
  Carried emit_loop_at(size_t loop, Carried carried);
  Carried emit_serial(size_t loop, Carried carried);
  Carried emit_versions(size_t loop, llvm::Value* points, Carried carried);
  Carried guarded(size_t loop, Carried carried);
  llvm::Value* trips_before(size_t loop, llvm::Value* points);
  std::pair<llvm::Value*, llvm::Value*> narrowed(size_t loop, llvm::Value* hi, bool* bounded);

  // tile_rows.cpp: rows that differ between the points of a tile.
  void defer_result_rows();
  bool bounds_tiles(const AffineConstraint& row, size_t loop) const;
  Affine extreme_in_tile(const AffineConstraint& row, bool largest) const;
  bool is_plain(const AffineConstraint& row) const;
  bool has_interior() const;
  enum class Border { None, Lanes, Any };  // at which a version of the tile may be
  bool differs_in_lanes(const AffineConstraint& row) const;
  llvm::Value* is_interior(bool in_lanes);
  Emitted has_results();
  Constraints asked_rows(Border border) const;
  struct LeftOut {
    int64_t vector;    // its first point, from the tile's
    Affine condition;  // negative where no point of the vector has a term
  };
  Affine extreme_in_vector(const AffineConstraint& row, int64_t vector, bool largest) const;
  std::vector<LeftOut> vectors_left_out() const;
  Constraints rows_of_vector(Constraints rows, int64_t vector, const Affine& not_negative) const;

  // tile.cpp: accumulators, copies.
  void emit_points();
  void emit_scatter();
  void emit_reduction();
  void emit_plain();
  void emit_plain_copies(const Constraints& asked);
  void store_zeros();
  llvm::Value* is_first_pass();
  llvm::Value* is_last_pass();
  llvm::Value* without_mark(llvm::Value* payload);
  llvm::Value* or_identity(const Emitted& mask, llvm::Value* value, size_t component);
  Carried initial_accumulators(const std::vector<TileInstance>& outputs);
  // contributions.cpp
  struct Contribution {
    size_t output, reduction;  // of the copies along results' and reductions' axes
  };
  struct Group {
    std::vector<Contribution> contributions;
    std::vector<Affine> conditions;  // all of them at least 0, or the group contributes nothing
  };
  Carried accumulate(Carried accumulators);
  Carried accumulate_copies(Carried accumulators, const Constraints& asked,
                            const std::vector<LeftOut>& left_out, size_t count);
  Carried accumulate_vectors(Carried accumulators, const Constraints& asked,
                             const std::vector<LeftOut>& left_out, size_t count);
  void add_contribution(const TileInstance& output, const TileInstance& reduction,
                        const Constraints& asked, Carried::iterator accumulator);
  Partial contribution(const Point& point, const Partial& accumulator, const Emitted& keep);
  std::vector<Group> groups_of(const std::vector<Contribution>& order,
                               const std::vector<TileInstance>& outputs,
                               const std::vector<TileInstance>& reductions,
                               const Constraints& asked);
  std::vector<Contribution> contribution_order(const std::vector<TileInstance>& outputs,
                                               const std::vector<TileInstance>& reductions);
  // bfloat16_pairs.cpp: two points of a reduction at once.
  void find_pair_loop();
  bool in_pairs(const TileInstance& first);
  bool asks_of_pair(const TileInstance& copy, const Constraints& asked);
  llvm::Value* add_pair(const Point& point, llvm::Value* sum);
  void finish(const std::vector<TileInstance>& outputs, const Carried& accumulators);
  void finish(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);
  void finish_folded(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);

  KernelContext& context_;
  const Program& program_;
  const Nest& nest_;
  const Stage& stage_;
  const NestShape shape_;
  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  IndexEmitter& index_;
  CombinerEmitter combiner_;
  std::vector<llvm::Value*> task_trips_;  // per parallel loop
  double copy_work_ = 0;                  // vector instructions of one of several copies
  std::vector<int64_t>
      tile_limit_;  // per axis: points of the tile inside the extent, in this version
  std::vector<AffineConstraint> rows_;
  Constraints outer_rows_;              // known before the inner reduction loops
  std::vector<Constraints> loop_rows_;  // per inner reduction loop: its bounds and guards
  Constraints tile_rows_;               // differ between copies or lanes
  Constraints result_rows_;             // of those, what only says which results are empty
  std::optional<size_t>
      pair_loop_;  // into the unrolled loops: its two copies may be a pair of bfloat16
  std::optional<BodyEmitter> body_;
  std::optional<Masks> masks_;
  std::optional<StoreEmitter> stores_;
  std::optional<ScatterEmitter> scatter_;
};

}  // namespace adjit::emit
