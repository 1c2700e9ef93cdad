// jit/emit/tile/running.cpp -- a tile of a running reduction: its own points, then what is before.
#include "jit/emit/tile/running.hpp"

#include <algorithm>

namespace adjit::emit {

using llvm::Value;

RunningTile::RunningTile(NestContext& nest)
    : nest_(nest),
      components_(nest.shape.stage->bodies.size()),
      instances_(nest.shape.instances(nest.limits, true)) {
  const unsigned lanes = nest.shape.lane_loop ? nest.shape.lanes : 1;
  for (unsigned lane = 0; lane < lanes; ++lane) lanes_.push_back(lane);
  // Lanes go up in memory, whichever way the reduction goes.
  if (nest.shape.running->reverse) std::ranges::reverse(lanes_);
}

Carried RunningTile::nothing() const {
  const Partial identities = nest_.combiner.identities();
  Carried values;
  for (size_t point = 0; point < instances_.size() * lanes_.size(); ++point)
    values.insert(values.end(), identities.begin(), identities.end());
  return values;
}

Partial RunningTile::at(const Carried& own, size_t point) const {
  const auto first = own.begin() + static_cast<std::ptrdiff_t>(point * components_);
  return {first, first + static_cast<std::ptrdiff_t>(components_)};
}

Partial RunningTile::last(const Carried& own) const {
  return at(own, own.size() / components_ - 1);
}

Value* RunningTile::is_inside() {
  if (nest_.constraints.has_place.empty()) return nest_.kernel.builder.getTrue();
  const NestShape& shape = nest_.shape;
  const size_t axis = shape.running->axis;
  int64_t tile = 1;
  Affine left(shape.nest->spans[axis]);
  for (size_t l = 0; l < shape.nest->loops.size(); ++l) {
    const Loop& loop = shape.nest->loops[l];
    if (loop.axis != axis) continue;
    if (l < shape.tile_begin)
      left -= Affine::variable(loop.variable);
    else
      tile = std::max(tile, loop.step * loop.trips);
  }
  left -= Affine(tile);
  return nest_.masks.at_least_zero_here({nest_.kernel.variables.resolve(left)});
}

// The values of an instance, which add nothing in lanes outside the axis.
Partial RunningTile::values_at(const TileInstance& instance, bool all_inside) {
  count_instance(nest_);
  nest_.masks.select(instance);
  const Emitted inside = all_inside ? Emitted{} : nest_.masks.all_of(nest_.constraints.has_place);
  const Point point{instance.number, inside};
  const unsigned lanes = nest_.shape.lane_loop ? nest_.shape.lanes : 0;
  Partial values;
  for (size_t k = 0; k < components_; ++k) {
    const Emitted value = nest_.body(nest_.shape.bodies[k], point);
    values.push_back(lanes > 0 ? nest_.splats(value) : value.value);
  }
  if (!inside.value) return values;
  Value* mask = lanes > 0 ? nest_.splats(inside) : inside.value;
  return nest_.combiner.selected(mask, values, nest_.combiner.identities(lanes));
}

Carried RunningTile::own(bool all_inside) {
  Carried own;
  Partial sum;
  for (const TileInstance& instance : instances_) {
    const Partial values = values_at(instance, all_inside);
    for (const unsigned lane : lanes_) {
      Partial here = values;
      if (nest_.shape.lane_loop)
        for (Value*& value : here)
          value = nest_.kernel.builder.CreateExtractElement(value, uint64_t{lane});
      sum = sum.empty() ? here : nest_.combiner.combine(sum, here);
      own.insert(own.end(), sum.begin(), sum.end());
    }
  }
  return own;
}

void RunningTile::store(const Carried& own, const Partial& before, bool all_inside) {
  const bool exclusive = nest_.shape.running->exclusive;
  nest_.stores.suppose_places(all_inside);
  for (size_t i = 0, point = 0; i < instances_.size(); ++i) {
    Partial results(components_);
    for (const unsigned lane : lanes_) {
      Partial result = before;
      if (!exclusive) {
        result = nest_.combiner.combine(before, at(own, point));
      } else if (point > 0) {
        result = nest_.combiner.combine(before, at(own, point - 1));
      }
      ++point;
      for (size_t k = 0; k < components_; ++k) {
        if (!nest_.shape.lane_loop) {
          results[k] = result[k];
          continue;
        }
        Value* whole = results[k] ? results[k]
                                  : llvm::PoisonValue::get(llvm::FixedVectorType::get(
                                        result[k]->getType(), nest_.shape.lanes));
        results[k] = nest_.kernel.builder.CreateInsertElement(whole, result[k], uint64_t{lane});
      }
    }
    for (size_t k = 0; k < components_; ++k)
      nest_.stores.store_result(k, results[k], instances_[i]);
  }
  nest_.stores.suppose_places(false);
}

}  // namespace adjit::emit
