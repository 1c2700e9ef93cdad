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

namespace adjit::emit {

/// What all nests of a kernel share.
struct KernelContext {
  const Program& program;
  llvm::IRBuilder<>& builder;
  Scopes& scopes;
  IndexEmitter& index;
  VectorMath& math;
  TensorPlaces& places;
  size_t operations = 0;   // of the bodies emitted so far, copy by copy
  double copied_work = 0;  // vector instructions of the copies among them
  bool streams = false;    // what nests stream, they may (streaming.hpp)
  /// Where loops around the nest at hand are, over the kernel's variables, and the largest value:
  /// that of an axis, where two loops over it may add up to more.
  std::vector<std::pair<Affine, int64_t>> origins = {};
};

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
  struct Row {
    Affine form;  // over the stage's axes and its domain's divisions
    bool equality = false;
  };

  /// Where a point of a scatter writes.
  struct Written {
    Affine form;  // what the loops decide of the address, in elements
    std::vector<std::pair<Emitted, int64_t>> data;  // what data decides: coordinates, strides
    Emitted uniform, lanes;                         // conditions: for all lanes, for each
  };

  // nest.cpp: loops.
  void count_copy();
  void sort_rows();
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
  bool bounds_tiles(const Row& row, size_t loop) const;
  Affine extreme_in_tile(const Row& row, bool largest) const;
  bool is_plain(const Row& row) const;
  bool has_interior() const;
  enum class Border { None, Lanes, Any };  // at which a version of the tile may be
  bool differs_in_lanes(const Row& row) const;
  llvm::Value* is_interior(bool in_lanes);
  Emitted has_results();
  std::vector<const Row*> asked_rows(Border border) const;
  struct LeftOut {
    int64_t vector;    // its first point, from the tile's
    Affine condition;  // negative where no point of the vector has a term
  };
  Affine extreme_in_vector(const Row& row, int64_t vector, bool largest) const;
  std::vector<LeftOut> vectors_left_out() const;
  std::vector<const Row*> rows_of_vector(std::vector<const Row*> rows, int64_t vector,
                                         const Affine& not_negative) const;

  // scatter.cpp: what has no accumulators.
  void emit_scatter();
  void scatter_copies();
  Written written_by(const Point& point);
  llvm::Value* combined(llvm::Value* before, llvm::Value* now);
  std::optional<llvm::Value*> with_product(const Point& point, llvm::Value* before);
  void combine_at(const Point& point, const Written& written);
  std::optional<size_t> copies_in_rows();
  int64_t elements_in_piece(size_t component) const;
  std::vector<const TileInstance*> piece_with(const std::vector<TileInstance>& all,
                                              const TileInstance& copy, size_t along,
                                              int64_t elements) const;
  void combine_rows(const std::vector<const TileInstance*>& piece, const Point& first,
                    const Written& written);
  void combine_in_turn(const Written& written, const std::vector<llvm::Value*>& values);

  // stores.cpp: results to memory.
  void store_result(size_t component, llvm::Value* value, const TileInstance& copy);
  void store_results(size_t component, const std::vector<TileInstance>& copies,
                     const Carried& values);
  bool store_folded(std::span<const TileInstance> copies, const Partial& folded);
  bool store_by_lanes(size_t component, const std::vector<TileInstance>& copies,
                      const Carried& values);
  std::optional<size_t> results_in_rows(size_t component);
  void store_rows(size_t component, const TileInstance& first, std::vector<llvm::Value*> vectors);
  std::vector<llvm::Value*> pieces_of_rows(const std::vector<llvm::Value*>& transposed);
  llvm::Value* lane_address(size_t component, const Affine& form, unsigned lane);
  bool is_vector_aligned(const Affine& form) const;
  void store_lanes(llvm::Value* value, llvm::Value* pointer, llvm::Align align, llvm::Value* mask);

  // tile.cpp: accumulators, copies.
  void emit_points();
  void emit_reduction();
  void emit_plain();
  void emit_plain_copies(const std::vector<const Row*>& asked);
  void store_zeros();
  void select_copy(const TileInstance& copy);
  Emitted rows_mask(const std::vector<const Row*>& rows);
  Emitted stored_mask(const TileInstance& copy);
  Emitted tail_mask(unsigned live_lanes);
  Emitted both(Emitted a, Emitted b);
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
  Carried accumulate_copies(Carried accumulators, const std::vector<const Row*>& asked,
                            const std::vector<LeftOut>& left_out, size_t count);
  Carried accumulate_vectors(Carried accumulators, const std::vector<const Row*>& asked,
                             const std::vector<LeftOut>& left_out, size_t count);
  void add_contribution(const TileInstance& output, const TileInstance& reduction,
                        const std::vector<const Row*>& asked, Carried::iterator accumulator);
  Partial contribution(const Point& point, const Partial& accumulator, const Emitted& keep);
  std::vector<Group> groups_of(const std::vector<Contribution>& order,
                               const std::vector<TileInstance>& outputs,
                               const std::vector<TileInstance>& reductions,
                               const std::vector<const Row*>& asked);
  std::vector<Contribution> contribution_order(const std::vector<TileInstance>& outputs,
                                               const std::vector<TileInstance>& reductions);
  // bfloat16_pairs.cpp: two points of a reduction at once.
  void find_pair_loop();
  bool in_pairs(const TileInstance& first);
  bool asks_of_pair(const TileInstance& copy, const std::vector<const Row*>& asked);
  llvm::Value* add_pair(const Point& point, llvm::Value* sum);
  void finish(const std::vector<TileInstance>& outputs, const Carried& accumulators);
  void finish(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);
  void finish_folded(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);
  Affine result_form(size_t component) const;
  llvm::Value* load_result(size_t component, const TileInstance& copy);

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
  std::vector<Row> rows_;
  std::vector<Row> store_rows_;         // of points that have a place in memory
  std::vector<const Row*> outer_rows_;  // known before the inner reduction loops
  std::vector<std::vector<const Row*>>
      loop_rows_;                        // per inner reduction loop: its bounds and guards
  std::vector<const Row*> tile_rows_;    // differ between copies or lanes
  std::vector<const Row*> result_rows_;  // of those, what only says which results are empty
  std::optional<size_t>
      pair_loop_;  // into the unrolled loops: its two copies may be a pair of bfloat16
  std::map<std::pair<llvm::Value*, llvm::Value*>, std::pair<Emitted, uint64_t>>
      conjunctions_;  // of masks, and the serials of their scopes
  std::optional<BodyEmitter> body_;
};

}  // namespace adjit::emit
