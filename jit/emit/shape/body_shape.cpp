// jit/emit/shape/body_shape.cpp -- finding what the nodes of a stage's expressions depend on, and
// how their values are made.
#include "jit/emit/shape/body_shape.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "autosched/analysis/work.hpp"
#include "jit/emit/shape/instance_number.hpp"
#include "jit/emit/shape/narrow_coordinates.hpp"

namespace adjit::emit {
namespace {

class BodyAnalysis {
 public:
  BodyAnalysis(BodyShape& shape, const TensorPlaces& places, IndexForms& forms,
               std::unordered_map<uint32_t, BodyNode>& nodes, bool gpu)
      : shape_(shape),
        pool_(shape.graph->pool),
        places_(places),
        forms_(forms),
        nodes_(nodes),
        gpu_(gpu) {}

  void find_dependences() {
    for (ExprId id : reachable(pool_, expressions_of(*shape_.nest->stage))) {
      BodyNode node;
      for (ExprId operand : pool_.operands(id)) {
        const Dependence& d = nodes_.at(operand.value).dependence;
        node.dependence.trips |= d.trips;
        node.dependence.masked |= d.masked;
        node.dependence.lanes |= d.lanes;
      }
      if (pool_.is(id, Op::Axis)) {
        const NestShape& nest = *shape_.nest;
        const Affine& axis = nest.axes[pool_.axis_number(id)];
        for (size_t k = 0; k < nest.unrolled_loops.size(); ++k)
          if (axis.coefficient(shape_.unrolled(k).variable) != 0)
            node.dependence.trips |= trip_bits(k);
        node.dependence.lanes =
            nest.lane_loop && axis.coefficient(nest.nest->loops[*nest.lane_loop].variable) != 0;
      }
      if (pool_.is(id, Op::Read)) find_bounds(id, node);
      if (pool_.dtype(id) != DType::Int64) shape_.work += operation_cost(pool_, id);
      nodes_.emplace(id.value, std::move(node));
    }
  }

  // Of the nodes whose values are needed: not of what only forms are made of.
  void find_makings() {
    std::vector<ExprId> open(shape_.nest->bodies.rbegin(), shape_.nest->bodies.rend());
    std::vector<ExprId> inputs;
    for (ExprId coordinate : shape_.nest->target) add_inputs_of_coordinate(coordinate, inputs);
    if (const auto& segment = shape_.nest->segment_loop)
      inputs.insert(inputs.end(), {segment->begin, segment->end});
    open.insert(open.end(), inputs.rbegin(), inputs.rend());
    std::unordered_set<uint32_t> seen;
    while (!open.empty()) {
      const ExprId id = open.back();
      open.pop_back();
      if (!seen.insert(id.value).second) continue;
      find_making(id);
      const std::vector<ExprId>& needed = nodes_.at(id.value).inputs;
      open.insert(open.end(), needed.rbegin(), needed.rend());
    }
  }

 private:
  void find_bounds(ExprId read, BodyNode& node) {
    const TensorId tensor = pool_.read_tensor(read);
    for (ExprId coordinate : pool_.read_index(read)) forms_.form(coordinate);
    node.in_bounds = forms_.in_bounds(read, shape_.graph->info(tensor).shape);
    // A read in bounds that is equal in all lanes is loaded whatever lanes are active.
    node.dependence.masked |= !node.in_bounds || node.dependence.lanes;
    const TensorPlace& place = places_[tensor];
    node.in_shared_memory = is_in_shared_memory(read, place);
    shape_.reads_anywhere &= node.in_bounds && (place.origin.empty() || node.in_shared_memory);
  }

  // Whether a read finds an element of what a block shares wherever the nest's own loops are.
  bool is_in_shared_memory(ExprId read, const TensorPlace& place) {
    if (place.shared_elements == 0) return false;
    const NestShape& nest = *shape_.nest;
    const std::span<const ExprId> index = pool_.read_index(read);
    Affine element(0);
    for (size_t d = 0; d < index.size(); ++d) {
      const std::optional<Affine>& form = forms_.form(index[d]);
      if (!form || form->size() > nest.axes.size()) return false;  // it divides
      element += (substitute(*form, nest.axes) - place.origin[d]) * place.strides[d];
    }
    Interval range{element.constant(), element.constant()};
    for (const Loop& loop : nest.nest->loops) {
      const int64_t reach = element.coefficient(loop.variable) * loop.step * (loop.trips - 1);
      (reach < 0 ? range.lo : range.hi) += reach;
      element.set_coefficient(loop.variable, 0);
    }
    return element.is_constant() && range.lo >= 0 && range.hi < place.shared_elements;
  }

  void find_making(ExprId id) {
    BodyNode& node = nodes_.at(id.value);
    const Op op = pool_[id].op;
    const std::span<const ExprId> operands = pool_.operands(id);
    const auto is_form = [&](ExprId index) {
      return pool_.dtype(index) == DType::Int64 && forms_.form(index).has_value();
    };
    if (op == Op::Constant) {
      node.making = Making::Constant;
    } else if (op == Op::Read) {
      node.making = Making::Read;
      node.inputs = inputs_of_read(id);
    } else if (is_form(id)) {
      node.making = Making::Form;
    } else if (gpu_ && !node.dependence.lanes && pool_.dtype(id) == DType::Int64 &&
               (op == Op::Min || op == Op::Max) && is_narrow(forms_, id)) {
      node.making = Making::Narrow;
      node.narrow = true;
      node.inputs = narrow_inputs(forms_, id);
    } else if (info(op).rule == TypeRule::Comparison && is_form(operands[0]) &&
               is_form(operands[1])) {
      node.making = Making::ComparedForms;
    } else if (const std::optional<size_t> position = compared_position(id)) {
      node.making = Making::ComparedPosition;
      node.position = *position;
      node.inputs = {operands[1 - *position]};
    } else if (std::optional<Join> join = join_at(id)) {
      node.making = Making::Join;
      node.join = std::move(join);
    } else if (op == Op::Cast && is_form(operands[0])) {
      node.making = Making::CastForm;
    } else {
      node.inputs = {operands.begin(), operands.end()};
    }
  }

  std::optional<size_t> compared_position(ExprId id) {
    if (info(pool_[id].op).rule != TypeRule::Comparison) return std::nullopt;
    const std::span<const ExprId> operands = pool_.operands(id);
    if (pool_.dtype(operands[0]) != DType::Int64) return std::nullopt;
    const auto in_lanes = [&](size_t k) { return nodes_.at(operands[k].value).dependence.lanes; };
    if (in_lanes(0) == in_lanes(1)) return std::nullopt;
    const size_t position = in_lanes(0) ? 0 : 1;
    const std::optional<Interval> range = forms_.range_of(operands[position]);
    if (!range || range->lo <= INT32_MIN || range->hi >= INT32_MAX) return std::nullopt;
    return position;
  }

  std::vector<ExprId> inputs_of_read(ExprId read) {
    std::vector<ExprId> inputs;
    for (ExprId coordinate : pool_.read_index(read)) add_inputs_of_coordinate(coordinate, inputs);
    if (const ExprId predicate = pool_.read_predicate(read); predicate.valid())
      inputs.push_back(predicate);
    return inputs;
  }

  void add_inputs_of_coordinate(ExprId coordinate, std::vector<ExprId>& inputs) {
    if (forms_.form(coordinate)) return;
    BodyNode& node = nodes_.at(coordinate.value);
    if (coordinates_.insert(coordinate.value).second)
      node.narrow = (node.dependence.lanes || gpu_) && is_narrow(forms_, coordinate);
    if (!node.narrow) return inputs.push_back(coordinate);
    for (ExprId input : narrow_inputs(forms_, coordinate)) inputs.push_back(input);
  }

  // The join that a node begins, if it is a select of tensors in memory.
  std::optional<Join> join_at(ExprId select) {
    if (!pool_.is(select, Op::Select) || !chained_.insert(select.value).second) return std::nullopt;
    if (const std::optional<JoinChain> chain = join_chain(pool_, select))
      if (std::optional<Join> join = join_of(*shape_.graph, *chain, forms_);
          join && std::ranges::all_of(join->reads, [&](ExprId read) {
            const TensorPlace& place = places_[pool_.read_tensor(read)];
            return place.slot && place.origin.empty();
          }))
        return join;
    // The rest of a chain that is no join is none either: each is looked at once.
    for (ExprId rest = pool_.operand(select, 2); pool_.is(rest, Op::Select);
         rest = pool_.operand(rest, 2))
      if (!chained_.insert(rest.value).second) break;
    return std::nullopt;
  }

  BodyShape& shape_;
  const ExprPool& pool_;
  const TensorPlaces& places_;
  IndexForms& forms_;
  std::unordered_map<uint32_t, BodyNode>& nodes_;
  const bool gpu_;
  std::unordered_set<uint32_t> coordinates_;  // of which it is known whether they are narrow
  std::unordered_set<uint32_t> chained_;      // selects that were looked at as joins
};

}  // namespace

BodyShape::BodyShape(const LoweredGraph& graph, const NestShape& nest,
                     std::vector<Interval> axis_ranges, const TensorPlaces& places, bool gpu)
    : graph(&graph), nest(&nest), forms_(graph.pool, nest.stage->domain, std::move(axis_ranges)) {
  const size_t loops = nest.unrolled_loops.size();
  if (loops > kMaxUnrolledLoops)
    throw Error(ErrorCode::Schedule, "stage '" + graph.info(nest.stage->results[0]).name +
                                         "' has " + std::to_string(loops) +
                                         " unrolled loops; at most " +
                                         std::to_string(kMaxUnrolledLoops) + " fit one nest");
  BodyAnalysis analysis(*this, places, forms_, nodes_, gpu);
  analysis.find_dependences();
  analysis.find_makings();
}

int64_t BodyShape::moved_by(const Affine& form, size_t loop) const {
  int64_t moves = 0;
  for (size_t axis = 0; axis < form.size(); ++axis)
    moves += form.coefficient(axis) * nest->axes[axis].coefficient(unrolled(loop).variable);
  return moves;
}

std::optional<size_t> BodyShape::contiguous_loop(std::span<const ExprId> index,
                                                 const TensorPlace& place) const {
  for (size_t k = 0; k < nest->unrolled_loops.size(); ++k) {
    int64_t moves = 0;
    bool known = true;
    for (size_t d = 0; d < index.size() && known; ++d) {
      if (!place.origin.empty() && place.origin[d].coefficient(unrolled(k).variable) != 0)
        return std::nullopt;
      const std::optional<Affine>& form = this->form(index[d]);
      if (!form) {
        known = ((*this)[index[d]].dependence.trips & trip_bits(k)) == 0;
        continue;
      }
      if (form->size() > nest->stage->domain.rank()) return std::nullopt;
      moves += place.strides[d] * moved_by(*form, k);
    }
    if (known && moves == 1) return k;
  }
  return std::nullopt;
}

}  // namespace adjit::emit
