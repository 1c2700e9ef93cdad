// jit/emit/nest.cpp -- what is inside the loops of a nest: attached nests, and its tile.
#include "jit/emit/nest.hpp"

#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"
#include "jit/emit/shape/tile_versions.hpp"
#include "jit/emit/tile/pointwise.hpp"
#include "jit/emit/tile/running.hpp"
#include "jit/emit/tile/scatter.hpp"
#include "jit/emit/tile/thread_prefix.hpp"
#include "jit/emit/tile/thread_tree.hpp"

namespace adjit::emit {

using llvm::Value;

NestEmitter::NestEmitter(KernelContext& context, const Nest& nest, bool by_block)
    : nest_(context, nest, by_block),
      threads_(nest_),
      loops_(
          nest_, threads_,
          [this](size_t depth, Carried carried) { return inside(depth, std::move(carried)); },
          [this](const Nest::Attached& ahead) { compute(ahead, true); }),
      accumulators_(nest_),
      reduction_(nest_, accumulators_) {}

void NestEmitter::emit(Value* task) {
  const NestShape& shape = nest_.shape;
  KernelVariables& variables = nest_.kernel.variables;
  for (size_t a = 0; a < shape.stage->domain.output_rank; ++a)
    if (shape.stage->domain.extents[a] == 0) return;
  if (shape.is_scatter() && shape.empty_reduction) return;
  if (shape.lane_loop)
    variables.bind_lanes(shape.nest->loops[*shape.lane_loop].variable, shape.lanes);
  if (nest_.by_block) threads_.bind_all();
  if (task) {
    loops_.emit_task(task);
  } else {
    inside(0, {});
  }
  for (const Loop& loop : shape.nest->loops) variables.unbind(loop.variable);
}

// Everything inside loops [0, depth).
Carried NestEmitter::inside(size_t depth, Carried carried) {
  size_t scopes = emit_attached(depth);
  const bool begins = depth == nest_.shape.reduction_begin && carried.empty();
  if (!nest_.by_block || depth != nest_.shape.thread_begin || nest_.shape.runs_together ||
      (begins && nest_.carries_over_threads)) {
    carried = behind_attached(depth, std::move(carried));
  } else {
    carried = threads_.of_threads(std::move(carried), [&](Carried inner) {
      return behind_attached(depth, std::move(inner));
    });
  }
  for (; scopes > 0; --scopes) nest_.kernel.scopes.pop();
  return carried;
}

Carried NestEmitter::behind_attached(size_t depth, Carried carried) {
  const NestShape& shape = nest_.shape;
  if (depth == shape.reduction_begin && carried.empty()) {
    emit_points();
    return carried;
  }
  if (shape.runs_together && depth == shape.together_begin) return run_on(carried);
  return depth == shape.tile_begin ? emit_tile(std::move(carried))
                                   : loops_.emit(depth, std::move(carried));
}

// The nests attached there, and how many scopes they opened: their results may be read inside.
size_t NestEmitter::emit_attached(size_t depth) {
  const NestShape& shape = nest_.shape;
  KernelContext& kernel = nest_.kernel;
  const bool by_block = nest_.by_block && depth <= shape.thread_begin;
  size_t scopes = 0;
  std::vector<TensorId> stored;
  for (const Nest::Attached& a : shape.nest->attached) {
    if (a.depth != depth || a.nest.buffers > 1) continue;  // those the loop around computes
    const Stage& stage = kernel.program.graph.stages[a.nest.stage];
    const std::set<uint32_t> waited_for = by_block ? wait_for_reads(a.nest) : std::set<uint32_t>();
    compute(a, by_block);
    // Barriers inside it may be in loops without an iteration: they are none for what was stored.
    if (by_block) kernel.block->still_stored(waited_for);
    if (by_block) kernel.block->stored(stage.results);
    kernel.scopes.push_here();  // for the next one, too
    ++scopes;
    // What a block stores is seen behind a barrier, which may come behind further nests.
    if (!by_block) stored.clear();
    stored.insert(stored.end(), stage.results.begin(), stage.results.end());
    for (TensorId result : stored) kernel.places.at(result).depth = kernel.scopes.depth();
  }
  if (scopes > 0 && by_block) kernel.block->before_reading_all();
  return scopes;
}

void NestEmitter::compute(const Nest::Attached& attached, bool by_block) {
  KernelContext& kernel = nest_.kernel;
  const size_t around = kernel.origins.size();
  add_origins(attached.depth);
  NestEmitter(kernel, attached.nest, by_block).emit();
  kernel.origins.resize(around);
  if (const NestShape& shape = nest_.shape; shape.lane_loop)
    kernel.variables.bind_lanes(shape.nest->loops[*shape.lane_loop].variable, shape.lanes);
}

// A barrier before a nest that reads, or in which a nest reads, what was stored since the last one;
// the buffers for which there was none.
std::set<uint32_t> NestEmitter::wait_for_reads(const Nest& nest) {
  ThreadBlock& block = *nest_.kernel.block;
  const Graph& graph = nest_.kernel.program.graph;
  for_each_nest(nest, [&](const Nest& inner) {
    block.before_reading(tensors_read(graph, graph.stages[inner.stage]));
  });
  return block.stored();
}

// For what is attached to the first loops of a nest over a whole domain: these end where an axis
// does.
void NestEmitter::add_origins(size_t depth) {
  const Nest& nest = *nest_.shape.nest;
  const Domain& domain = nest_.shape.stage->domain;
  for (size_t a = 0; a < domain.rank(); ++a)
    if (nest.axis_base[a] == Affine() && nest.spans[a] == domain.extents[a])
      nest_.kernel.origins.emplace_back(origin_above(nest, a, depth), nest.spans[a] - 1);
}

// The reduction loops that carry accumulators and the tile, or the tile alone.
void NestEmitter::emit_points() {
  const NestShape& shape = nest_.shape;
  if (shape.is_scatter()) {
    reduce(nest_.masks.all_of(nest_.constraints.outer), {});
    return;
  }
  if (shape.stage->combiner.kind == CombinerKind::None) {
    emit_pointwise(nest_);
    return;
  }
  if (shape.runs_together) {
    reduce({}, nest_.combiner.identities());
    return;
  }
  const Emitted any =
      nest_.masks.at_least_zero(may_have_results(shape, nest_.constraints, nest_.kernel.variables));
  const Emitted enter = nest_.masks.conjunction(nest_.masks.all_of(nest_.constraints.outer), any);
  if (nest_.carries_over_threads) {
    // All threads go on to the end, where the block waits for each: what is outside the reduction
    // is the same for all.
    store_combined(reduce(nest_.masks.all_of(nest_.constraints.outer), accumulators_.initial()));
    return;
  }
  const Carried accumulators = reduce(enter, accumulators_.initial());
  if (!shape.running) accumulators_.store(accumulators);
}

// The first of the threads that share results stores them.
void NestEmitter::store_combined(const Carried& accumulators) {
  KernelContext& kernel = nest_.kernel;
  threads_.bind_all();
  ThreadTree tree(nest_, threads_.trips());
  const std::vector<Partial> partials = tree.combined(accumulators_.folded(accumulators));
  Value* stores = kernel.builder.CreateAnd(threads_.has_results(), tree.is_first());
  emit_if(kernel.builder, kernel.scopes, stores, {}, [&](Carried none) {
    threads_.bind_all();
    store_tile(partials);
    return none;
  });
  threads_.bind_all();
}

// A second version serves tiles of which all points have a place.
void NestEmitter::store_tile(const std::vector<Partial>& partials) {
  std::vector<Affine> all;
  for (const AffineConstraint& constraint : nest_.constraints.has_place)
    all.push_back(nest_.kernel.variables.resolve(
        extreme_in_tile(nest_.shape, constraint.form, Extreme::Smallest)));
  const auto store = [&](bool everywhere) {
    return [&, everywhere](Carried none) {
      nest_.stores.suppose_places(everywhere);
      accumulators_.store_results(partials);
      nest_.stores.suppose_places(false);
      return none;
    };
  };
  emit_either(nest_.kernel.builder, nest_.kernel.scopes, nest_.masks.at_least_zero_here(all), {},
              store(true), store(false));
}

// All steps of the reduction, where a condition holds.
Carried NestEmitter::reduce(const Emitted& condition, Carried accumulators) {
  const NestShape& shape = nest_.shape;
  const auto steps = [&](Carried carried) {
    if (shape.empty_reduction) return carried;
    const auto loops = [&](Carried inner) {
      if (shape.runs_together && shape.reduction_begin == shape.together_begin)
        return run_on(inner);
      return shape.reduction_begin == shape.tile_begin
                 ? emit_tile(std::move(inner))
                 : loops_.emit(shape.reduction_begin, std::move(inner));
    };
    return nest_.carries_over_threads && shape.reduction_begin == shape.thread_begin
               ? threads_.of_threads(std::move(carried), loops)
               : loops(std::move(carried));
  };
  return condition.value ? emit_if(nest_.kernel.builder, nest_.kernel.scopes, condition.value,
                                   std::move(accumulators), steps)
                         : steps(std::move(accumulators));
}

// The points that are combined at once: each thread's own, those of the threads before it, and all
// that came before.
Carried NestEmitter::run_on(const Carried& before) {
  llvm::IRBuilder<>& builder = nest_.kernel.builder;
  Scopes& scopes = nest_.kernel.scopes;
  CombinerEmitter& combiner = nest_.combiner;
  RunningTile tile(nest_);
  const auto of_threads = [&](Carried carried, const std::function<Carried(bool)>& inside) {
    Value* part = nest_.by_block ? threads_.has_results() : builder.getTrue();
    carried = emit_if(builder, scopes, part, std::move(carried), [&](Carried inner) {
      if (nest_.by_block) threads_.bind_all();
      return emit_either(
          builder, scopes, tile.is_inside(), std::move(inner),
          [&](const Carried&) { return inside(true); },
          [&](const Carried&) { return inside(false); });
    });
    if (nest_.by_block) threads_.bind_all();
    return carried;
  };
  const Carried own = of_threads(tile.nothing(), [&](bool all) { return tile.own(all); });
  const ThreadPrefixes prefixes =
      prefixes_of(nest_, tile.last(own), threads_together(*nest_.shape.running, *nest_.shape.nest));
  const Partial in_front = combiner.combine(before, prefixes.before);
  of_threads({}, [&](bool all) {
    tile.store(own, in_front, all);
    return Carried{};
  });
  return combiner.combine(before, prefixes.all);
}

Carried NestEmitter::emit_tile(Carried accumulators) {
  if (!nest_.shape.is_scatter()) return reduction_.accumulate(std::move(accumulators));
  return emit_scatter(nest_, std::move(accumulators));
}

}  // namespace adjit::emit
