// jit/emit/tile/pointwise.cpp -- instances of a stage without reduction, and zeros where it has
// none.
#include "jit/emit/tile/pointwise.hpp"

#include <vector>

#include "jit/emit/ir/interleave.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/shape/tile_versions.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

void store_zeros(NestContext& nest) {
  const std::vector<TileInstance> all = nest.shape.instances(nest.limits, false);
  for (size_t k = 0; k < nest.shape.stage->bodies.size(); ++k) {
    const TensorId result = nest.shape.stage->results[k];
    llvm::Type* type =
        register_type(nest.kernel.builder, nest.kernel.program.graph.info(result).dtype);
    if (nest.shape.lane_loop) type = llvm::FixedVectorType::get(type, nest.shape.lanes);
    Value* zero = llvm::Constant::getNullValue(type);
    for (const TileInstance& instance : all) {
      nest.masks.select(instance);
      nest.stores.store_result(k, zero, instance);
    }
  }
}

/// The value of a body at a point of the selected instance, 0 outside the constraints.
Value* value_at(NestContext& nest, ExprId body, const Point& point, const Emitted& inside) {
  Emitted value = nest.body(body, point);
  if (nest.shape.lane_loop) value.value = nest.splats(value);
  if (!inside.value) return value.value;
  Value* keep = inside.value;
  if (nest.shape.lane_loop) keep = nest.splats(inside);
  return nest.kernel.builder.CreateSelect(keep, value.value,
                                          llvm::Constant::getNullValue(value.value->getType()));
}

/// The version that asks some of the constraints that differ between the tile's points.
void store_instances(NestContext& nest, const Constraints& asked) {
  const std::vector<ExprId>& bodies = nest.shape.stage->bodies;
  nest.body.tile() = {nest.shape.instance_trips(nest.limits), asked.empty()};
  const std::vector<TileInstance> all = nest.shape.instances(nest.limits, false);
  std::vector<bool> in_rows(bodies.size());
  for (size_t k = 0; k < in_rows.size(); ++k)
    in_rows[k] = nest.stores.results_in_rows(k).has_value();
  std::vector<Carried> kept(bodies.size());  // of results that go in rows
  InstanceSequence sequence(nest.kernel.builder);
  for (const TileInstance& instance : all) {
    sequence.mark();
    count_instance(nest);
    nest.masks.select(instance);
    const Emitted here = nest.masks.all_of(asked);
    const Emitted inside = nest.masks.conjunction(nest.masks.all_of(nest.constraints.outer), here);
    const Emitted tail = nest.masks.first_lanes(instance.live_lanes);
    const Point point{instance.number, nest.masks.conjunction(inside, tail)};
    for (size_t k = 0; k < bodies.size(); ++k) {
      Value* value = value_at(nest, bodies[k], point, inside);
      if (in_rows[k]) {
        kept[k].push_back(value);
      } else {
        nest.stores.store_result(k, value, instance);
      }
    }
  }
  sequence.mark();
  sequence.interleave();
  for (size_t k = 0; k < kept.size(); ++k)
    if (!kept[k].empty()) nest.stores.store_results(k, all, kept[k]);
}

}  // namespace

void emit_pointwise(NestContext& nest) {
  KernelContext& kernel = nest.kernel;
  const Constraints& tile = nest.constraints.tile;
  const auto version = [&](Border border) {
    return [&nest, border](Carried none) {
      store_instances(nest, asked_at(nest.shape, nest.constraints.tile, border));
      return none;
    };
  };
  const auto some = [&](Carried none) {
    if (!has_interior(nest.shape, tile, kernel.variables, nest.body_shape.node_count()))
      return version(Border::Any)(std::move(none));
    Value* in_lanes =
        nest.masks.at_least_zero_here(interior(nest.shape, tile, kernel.variables, true));
    Value* in_all =
        nest.masks.at_least_zero_here(interior(nest.shape, tile, kernel.variables, false));
    return emit_either(kernel.builder, kernel.scopes, kernel.builder.CreateAnd(in_all, in_lanes),
                       std::move(none), version(Border::None), version(Border::Any));
  };
  const Emitted any =
      nest.masks.at_least_zero(may_have_results(nest.shape, nest.constraints, kernel.variables));
  if (!any.value) {
    some({});
    return;
  }
  emit_either(kernel.builder, kernel.scopes, any.value, {}, some, [&](Carried none) {
    store_zeros(nest);
    return none;
  });
}

}  // namespace adjit::emit
