// jit/emit/tile/accumulators.cpp -- accumulators begin, are folded, and become results.
#include "jit/emit/tile/accumulators.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace adjit::emit {

using llvm::Value;

AccumulatorEmitter::AccumulatorEmitter(NestContext& nest)
    : nest_(nest),
      shape_(nest.shape),
      kernel_(nest.kernel),
      combiner_(nest.combiner),
      components_(nest.shape.stage->bodies.size()) {}

// Whether the reduction loops outside the accumulators are at their first iteration.
Value* AccumulatorEmitter::is_first_pass() {
  Affine done;
  for (size_t k = 0; k < shape_.reduction_begin; ++k)
    if (const Loop& loop = shape_.nest->loops[k]; shape_.is_reduction(loop))
      done += Affine::variable(loop.variable);
  return kernel_.index.equals_zero(kernel_.variables.resolve(done));
}

// Whether they leave no point to a later iteration.
Value* AccumulatorEmitter::is_last_pass() {
  Value* last = kernel_.builder.getTrue();
  const Domain& domain = shape_.stage->domain;
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis) {
    Affine behind(-shape_.nest->spans[axis]);
    int64_t step = shape_.nest->spans[axis];
    for (size_t k = 0; k < shape_.reduction_begin; ++k) {
      const Loop& loop = shape_.nest->loops[k];
      if (loop.axis != axis) continue;
      behind += Affine::variable(loop.variable);
      step = loop.step;
    }
    last = kernel_.builder.CreateAnd(
        last, kernel_.index.at_least_zero(kernel_.variables.resolve(behind + Affine(step))));
  }
  return last;
}

Carried AccumulatorEmitter::initial() {
  const std::vector<TileInstance> outputs = shape_.instances(nest_.limits, false);
  const size_t chains = shape_.chain_count(nest_.limits);
  Value* first = is_first_pass();
  const bool resumes = first != kernel_.builder.getTrue();
  if (resumes && nest_.carries_over_threads)
    throw Error(ErrorCode::Schedule,
                "stage '" + kernel_.program.graph.info(shape_.stage->results[0]).name +
                    "' goes on from partial results in memory around what a block's threads share");
  const Partial identities = combiner_.identities(shape_.lane_loop ? shape_.lanes : 0);
  Carried accumulators;
  for (const TileInstance& instance : outputs)
    for (size_t chain = 0; chain < chains; ++chain)
      for (size_t k = 0; k < components_; ++k) {
        Value* start = identities[k];
        if (resumes && chain == 0) {
          Value* stored = nest_.stores.load_result(k, instance);
          if (shape_.lanes_in_reduction())
            stored = kernel_.builder.CreateInsertElement(start, stored, uint64_t{0});
          start = kernel_.builder.CreateSelect(first, start, stored);
        }
        accumulators.push_back(start);
      }
  return accumulators;
}

void AccumulatorEmitter::store(const Carried& accumulators) {
  const std::vector<TileInstance> outputs = shape_.instances(nest_.limits, false);
  std::vector<Partial> partials = folded_chains(accumulators, outputs.size());
  if (shape_.lanes_in_reduction()) {
    store_folded_lanes(outputs, std::move(partials));
  } else {
    store_results(outputs, std::move(partials));
  }
}

std::vector<Partial> AccumulatorEmitter::folded(const Carried& accumulators) {
  std::vector<Partial> partials =
      folded_chains(accumulators, shape_.instances(nest_.limits, false).size());
  if (!shape_.lanes_in_reduction()) return partials;
  for (Partial& partial : partials) {
    partial = combiner_.fold_lanes({std::move(partial)});
    for (Value*& component : partial)
      component = kernel_.builder.CreateExtractElement(component, uint64_t{0});
  }
  return partials;
}

void AccumulatorEmitter::store_results(const std::vector<Partial>& partials) {
  store_results(shape_.instances(nest_.limits, false), partials);
}

// One partial result for each instance: a fixed tree over the chains.
std::vector<Partial> AccumulatorEmitter::folded_chains(const Carried& accumulators,
                                                       size_t outputs) {
  const size_t chains = accumulators.size() / components_ / outputs;
  std::vector<Partial> partials;
  for (size_t o = 0; o < outputs; ++o) {
    std::vector<Partial> tree;
    for (size_t chain = 0; chain < chains; ++chain) {
      const auto begin =
          accumulators.begin() + static_cast<long>((o * chains + chain) * components_);
      tree.emplace_back(begin, begin + static_cast<long>(components_));
    }
    for (size_t stride = 1; stride < chains; stride *= 2)
      for (size_t chain = 0; chain + stride < chains; chain += 2 * stride)
        tree[chain] = combiner_.combine(tree[chain], tree[chain + stride]);
    partials.push_back(std::move(tree[0]));
  }
  return partials;
}

// Lanes are folded by a fixed tree, too. Those of results that lie one behind the other are folded
// and stored together.
void AccumulatorEmitter::store_folded_lanes(const std::vector<TileInstance>& outputs,
                                            std::vector<Partial> partials) {
  std::vector<TileInstance> apart;
  std::vector<Partial> scalars;
  for (size_t begin = 0; begin < outputs.size();) {
    const size_t count = std::bit_floor(std::min<size_t>(outputs.size() - begin, shape_.lanes));
    const auto from = partials.begin() + static_cast<long>(begin);
    const Partial folded = combiner_.fold_lanes({from, from + static_cast<long>(count)});
    const std::span<const TileInstance> together(outputs.data() + begin, count);
    begin += count;
    if (!combiner_.marks_empty() &&
        nest_.stores.store_folded(together, folded, nest_.constraints.results))
      continue;
    for (size_t o = 0; o < count; ++o) {
      Partial scalar;
      for (Value* component : folded)
        scalar.push_back(kernel_.builder.CreateExtractElement(component, uint64_t{o}));
      apart.push_back(together[o]);
      scalars.push_back(std::move(scalar));
    }
  }
  if (!apart.empty()) store_results(apart, std::move(scalars));
}

void AccumulatorEmitter::store_results(const std::vector<TileInstance>& outputs,
                                       std::vector<Partial> partials) {
  std::vector<Carried> results(components_);
  for (size_t o = 0; o < outputs.size(); ++o) {
    nest_.masks.select(outputs[o]);
    if (const Emitted there = nest_.masks.all_of(nest_.constraints.results); there.value)
      for (size_t k = 0; k < components_; ++k)
        partials[o][k] = or_identity(there, partials[o][k], k);
    if (combiner_.marks_empty()) partials[o][1] = without_mark(partials[o][1]);
    for (size_t k = 0; k < components_; ++k) results[k].push_back(partials[o][k]);
  }
  for (size_t k = 0; k < components_; ++k) nest_.stores.store_results(k, outputs, results[k]);
}

// The value where the mask holds, else what a reduction over nothing gives.
Value* AccumulatorEmitter::or_identity(const Emitted& mask, Value* value, size_t component) {
  Value* identity = combiner_.identity(component);
  Value* condition = mask.value;
  if (value->getType()->isVectorTy()) {
    identity = kernel_.builder.CreateVectorSplat(shape_.lanes, identity);
    condition = nest_.splats(mask);
  }
  return kernel_.builder.CreateSelect(condition, value, identity);
}

// A payload that no point has given is 0, but only once no point can come any more.
Value* AccumulatorEmitter::without_mark(Value* payload) {
  Value* none = kernel_.builder.CreateICmpEQ(payload, no_payload(payload->getType()));
  Value* replaced =
      kernel_.builder.CreateSelect(none, llvm::Constant::getNullValue(payload->getType()), payload);
  return kernel_.builder.CreateSelect(is_last_pass(), replaced, payload);
}

}  // namespace adjit::emit
