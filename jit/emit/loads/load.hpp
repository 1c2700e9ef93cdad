// jit/emit/loads/load.hpp -- reads as loads: of a number, of lanes side by side, of lanes that few
// vectors hold, gathers; under masks.
#pragma once

#include <optional>
#include <vector>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/addresses/coordinates.hpp"
#include "jit/emit/addresses/point_memo.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"
#include "jit/emit/shape/lane_windows.hpp"
#include "jit/emit/shape/tile_at_hand.hpp"

namespace adjit::emit {

class LoadEmitter {
 public:
  /// `values`: of the nodes that reads need, and to which it adds what neighbouring instances read.
  /// What the next iteration of the loop of variable `ahead` reads where whole vectors are read now
  /// is fetched. All must outlive it.
  LoadEmitter(const BodyContext& context, PointMemo& values, Coordinates& coordinates,
              std::optional<size_t> ahead)
      : context_(context),
        values_(values),
        coordinates_(coordinates),
        ahead_(ahead),
        loaded_(context.scopes) {}

  /// What a read reads: its inputs are among the values.
  Emitted read(ExprId id, const Point& point);
  TileAtHand& tile() { return tile_; }
  void forget() { loaded_.forget(); }

 private:
  /// One load of a read.
  struct Access {
    ExprId read;
    const TensorPlace& place;
    Address address;
    std::vector<Emitted> conditions;
    bool lanes = false;  // differs between them
  };
  Access access_of(ExprId read, const Point& point) const;
  bool has_room_in_row(ExprId read, const TensorPlace& place) const;
  bool reads_whole_vectors(const Address& address) const;
  Emitted load(const Access& access);
  Emitted load_uniform(const Access& access);
  Emitted load_in_lanes(const Access& access);
  Emitted load_contiguous(const Access& access, const Emitted& mask, size_t depth, bool reversed);
  Emitted load_from_windows(const Access& access, const LaneWindows& windows, const Emitted& mask,
                            size_t depth);
  Emitted load_apart(const Access& access, const Emitted& mask, size_t depth);
  llvm::Value* near_tensor(llvm::Value* pointer, const Affine& first, const Access& access);

  struct Loaded {
    Affine form;
    Emitted emitted;
  };

  const BodyContext context_;
  PointMemo& values_;
  Coordinates& coordinates_;
  const std::optional<size_t> ahead_;
  TileAtHand tile_;
  /// By tensor and constant of the address: other instances, or other reads, load the same element,
  /// x(k + r) of k, r = 0, 1 and 1, 0.
  ScopedMemo<PointKey, Loaded, PointKeyHash> loaded_;
};

}  // namespace adjit::emit
