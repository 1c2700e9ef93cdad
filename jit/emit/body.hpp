// jit/emit/body.hpp -- the bodies of one stage as machine values, at one point (or vector of
// points) of its tile.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "autosched/program/program.hpp"
#include "jit/emit/body_shape.hpp"
#include "jit/emit/emitted.hpp"
#include "jit/emit/index.hpp"
#include "jit/emit/instance_number.hpp"
#include "jit/emit/lane_windows.hpp"
#include "jit/emit/math/vector_math.hpp"

namespace adjit::emit {

/// Evaluates expressions of one stage. Axes are affine forms over the kernel's variables.
class BodyEmitter {
 public:
  /// As BodyShape.
  BodyEmitter(const Graph& graph, const Stage& stage, std::vector<Affine> axes,
              std::vector<Interval> axis_ranges, std::vector<UnrolledVariable> unrolled,
              std::optional<size_t> lane_variable, const TensorPlaces& places,
              llvm::IRBuilder<>& builder, Scopes& scopes, IndexEmitter& index, VectorMath& math);

  const BodyShape& shape() const { return shape_; }
  bool reads_anywhere() const { return shape_.reads_anywhere; }
  size_t node_count() const { return shape_.node_count(); }
  double work() const { return shape_.work; }
  /// The value of a body expression: a scalar where it is equal in all lanes, else a vector. Bool
  /// is i1. Half types are held as float.
  Emitted operator()(ExprId root, const Point& point);
  /// A domain form (over the stage's axes and its domain's divisions) over the kernel's variables,
  /// resolved.
  Affine place(const Affine& domain_form);
  /// The resolved form of an Int64 expression that is affine over the stage's axes, else nothing.
  std::optional<Affine> placed_form(ExprId id);
  /// An index that is no affine form, for an address: Int64, or Int32 in lanes where that gives the
  /// same element (coordinates.cpp).
  Emitted coordinate(ExprId id, const Point& point);
  /// Element offsets of an address of these coordinates and their strides per lane, from where
  /// `form` is 0: <lanes x i32> for a tensor of so few elements, else <lanes x i64>.
  Emitted lane_offsets(TensorId tensor, const Affine& form,
                       std::vector<std::pair<Emitted, int64_t>> data);
  /// One of them as i64; `forwards`: none is negative.
  llvm::Value* lane_offset(llvm::Value* offsets, unsigned lane, bool forwards);
  /// Where lanes find their elements, and the scope from which on they do.
  struct LaneRows {
    std::vector<llvm::Value*> pointers;
    size_t depth;
  };
  /// Those of the first `live` lanes (`begin`: the first lane's, as far as loops decide it).
  LaneRows rows_of_lanes(TensorId tensor, const Affine& begin,
                         const std::vector<std::pair<Emitted, int64_t>>& data, unsigned live);
  /// Whether no element lies before the tensor's first.
  bool lies_forwards(TensorId tensor) const;
  /// How many trips of each copy variable the tile at hand has: reads that are contiguous over the
  /// copies but not over the lanes are then loaded for several copies at once.
  void set_copy_trips(std::vector<int64_t> trips) { copy_trips_ = std::move(trips); }
  /// Whether the domain's rows hold for all copies of the tile at hand, so that each may read what
  /// the others do.
  void set_rows_hold(bool hold) { rows_hold_ = hold; }
  /// What the next iteration of this loop reads where whole vectors are read now is fetched.
  void set_ahead(std::optional<size_t> variable) { ahead_ = variable; }
  /// Whether the innermost scope is one of several branches in a row: vectors that it could load
  /// before it are loaded in it, since no registers hold all those of all branches.
  void set_branched(bool branched) { branched_ = branched; }
  /// Drops what is remembered: to be called when a loop variable that is no copy variable becomes
  /// fixed or stops being so.
  void forget() {
    memo_.clear();
    uniform_.clear();
    spread_.clear();
    divisors_.clear();
    pairs_.clear();
    narrow_.clear();
    loaded_.clear();
  }

  /// Where a read lies at the point that the index emitter's variables name, in elements from its
  /// tensor's start; nothing where that depends on data or a predicate.
  std::optional<Affine> plain_address(ExprId read);
  /// Two neighbouring bfloat16 as one i32: those of a read and of what lies behind it, which is in
  /// bounds, too. In lanes where the address differs between lanes; `active` as in Point.
  Emitted bfloat16_pair(ExprId read, const Point& point);

  /// The pointer of a masked load, kept near its tensor where the load is off.
  llvm::Value* near_tensor(llvm::Value* pointer, TensorId tensor, const Affine& first,
                           const std::vector<Emitted>& conditions);
  /// A value in all lanes.
  llvm::Value* splat(Emitted value);

 private:
  struct Key {
    uint32_t expr;
    uint64_t copy;
    llvm::Value* active;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const;
  };
  struct Memo {
    Emitted emitted;
    uint64_t serial;
  };
  struct Address {
    Affine form;                                    // resolved, in elements
    std::vector<std::pair<Emitted, int64_t>> data;  // data-dependent coordinates and their strides
    bool safe = true;                               // in bounds wherever the axes are in range
  };

  Key key(ExprId id, const Point& point) const;
  const Emitted* find(ExprId id, const Point& point) const;
  Emitted evaluate(ExprId id, const Point& point);
  Emitted operation(ExprId id, std::span<const Emitted> operands);
  /// An operation on two loaded numbers that are equal in all lanes. In all lanes it is done again
  /// on these: a load spreads a number by itself, what was computed takes an instruction more.
  struct Uniform {
    llvm::Intrinsic::ID operation;
    Emitted left, right;
  };
  void note_uniform(ExprId id, llvm::Value* value, std::span<const Emitted> operands);
  llvm::Value* in_all_lanes(const Uniform& uniform, size_t depth);
  bool divides_often(ExprId id, std::span<const Emitted> operands) const;
  Emitted divided(const Emitted& x, const Emitted& by);
  Emitted comparison(Op op, const Affine& left, const Affine& right);
  Emitted form_cast(ExprId id, const Affine& form);
  Emitted index_value(const Affine& form);
  Emitted position_comparison(Op op, const Affine& form, const Emitted& number, size_t position);
  Emitted read(ExprId id, const Point& point);
  Emitted load(ExprId id, const Address& address, const std::vector<Emitted>& conditions,
               bool lanes);
  Emitted load_uniform(const Address& address, const TensorPlace& place, DType dtype,
                       const std::vector<Emitted>& conditions);
  Emitted load_lanes(const Address& address, TensorId tensor, DType dtype,
                     const std::vector<Emitted>& conditions);
  bool has_room_in_row(ExprId read, const TensorPlace& place);
  static bool differs_by_data(const Address& address);
  llvm::Value* moved_by_data(llvm::Value* pointer, llvm::Type* element, const Address& address);
  bool reads_whole_vectors(const Address& address) const;
  std::optional<Emitted> load_transposed(ExprId id, const Point& point, const Address& address,
                                         const TensorPlace& place);
  bool stays_inside(TensorId tensor, std::span<const ExprId> index, size_t copies, int64_t past);
  void fetch_next(const Address& address, const Affine& first, llvm::Value* pointer,
                  llvm::Type* element);
  llvm::Value* load_windows(const Address& address, const TensorPlace& place, llvm::Type* element,
                            const LaneWindows& windows, const Emitted& mask, size_t depth,
                            DType dtype);
  llvm::Value* window_mask(const LaneWindows::Window& window, const Emitted& mask);
  // load_joined.cpp
  llvm::Value* constant_table(const std::vector<int64_t>& numbers);
  llvm::Value* looked_up(llvm::Type* element, llvm::Value* array, llvm::Value* part);
  llvm::Value* of_part(const std::vector<int64_t>& numbers, llvm::Value* part);
  Emitted part_number(const Join& join);
  std::vector<Affine> part_addresses(const Join& join);
  Emitted load_joined(const Join& join, const Point& point);
  Emitted load_at(const Emitted& pointer, const Affine& form, DType dtype, size_t written,
                  const Point& point);
  // coordinates.cpp
  llvm::Value* truncate_narrow(llvm::Value* value);
  llvm::Type* index_type(unsigned bits) const;
  Emitted narrow(ExprId id, const Point& point);
  std::optional<Interval> reach(TensorId tensor) const;
  bool has_narrow_offsets(TensorId tensor) const;
  Affine shared_offset(TensorId tensor, const Affine& form) const;
  llvm::Value* gather(llvm::Type* element, llvm::Value* pointer, llvm::Value* offsets,
                      llvm::Value* mask, bool forwards);
  Emitted conjunction(const std::vector<Emitted>& conditions, bool in_lanes);
  const std::optional<Affine>& affine(ExprId id) const { return shape_.form(id); }

  const BodyShape shape_;
  const Graph& graph_;
  const ExprPool& pool_;
  const Stage& stage_;
  const TensorPlaces& places_;
  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  IndexEmitter& index_;
  VectorMath& math_;
  std::unordered_map<Key, Memo, KeyHash> memo_;
  std::unordered_map<llvm::Value*, Uniform> uniform_;
  std::unordered_map<llvm::Value*, Memo> spread_;  // a number -> it in all lanes
  struct ReadyDivisor {
    VectorMath::Divisor divisor;  // in lanes
    uint64_t serial;
  };
  std::unordered_map<llvm::Value*, ReadyDivisor> divisors_;
  std::optional<size_t> ahead_;  // loop variable whose next iteration's reads are fetched
  bool branched_ = false, rows_hold_ = false;
  std::vector<int64_t> copy_trips_;  // per copy variable; empty: not known
  std::unordered_map<Key, Memo, KeyHash> pairs_;
  struct Loaded {
    Affine form;
    Memo memo;
  };
  std::unordered_map<Key, Loaded, KeyHash> loaded_;  // by tensor, constant of the address, mask
  std::unordered_map<Key, Memo, KeyHash> narrow_;
  std::map<std::vector<int64_t>, llvm::Value*> tables_;
};

}  // namespace adjit::emit
