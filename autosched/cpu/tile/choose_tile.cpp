// autosched/cpu/tile/choose_tile.cpp -- register tiles by steepest descent over a cycle count.
#include "autosched/cpu/tile/choose_tile.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/analysis/reads/select_axis.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/tile/loads.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::sched {
namespace {

TileChoice priced(const TileModel& model, size_t vector_axis, std::vector<int64_t> factors) {
  TileChoice tile;
  tile.vector_axis = vector_axis;
  tile.lanes = model.setting().lanes;
  tile.packed = model.setting().packed;
  tile.packing = model.setting().packing;
  tile.factors = std::move(factors);
  tile.cycles = model.total(tile.factors);
  return tile;
}

// Steepest descent over the factors of one axis at a time, from `start`.
TileChoice descend(const TileModel& model, size_t vector_axis, std::vector<int64_t> start) {
  TileChoice best = priced(model, vector_axis, std::move(start));
  for (int round = 0; round < 8; ++round) {
    std::vector<int64_t> next = best.factors;
    double cycles = best.cycles * (1 - thresholds().tile_gain);
    for (size_t k = 0; k < next.size(); ++k) {
      const size_t a = k == 0             ? vector_axis
                       : k <= vector_axis ? k - 1
                                          : k;  // the lanes' axis wins ties
      for (int64_t factor : model.choices(a)) {
        std::vector<int64_t> factors = best.factors;
        factors[a] = factor;
        if (!model.fits(factors)) continue;
        const double candidate = model.total(factors);
        if (candidate < cycles) {
          cycles = candidate;
          next = factors;
        }
      }
    }
    if (next == best.factors) break;
    best.factors = next;
    best.cycles = model.total(next);
  }
  return best;
}

// The best descent from one vector, from two (which share what they multiply), from all points of a
// short axis (the taps of a stencil, which share what they read), and from a window's.
TileChoice descend(const TileProblem& problem, size_t vector_axis) {
  // Their loads come from farther than the model knows, and 16 registers do not hold a window.
  const double sharing_gain = problem.machine.vector_bits >= 512 ? thresholds().window_gain
                                                                 : thresholds().narrow_window_gain;
  const TileModel model(problem, vector_axis);
  std::vector<int64_t> start(problem.spans.size(), 1);
  TileChoice best = descend(model, vector_axis, start);
  const auto try_from = [&](size_t axis, int64_t factor, double gain = thresholds().tile_gain) {
    start[axis] = factor;
    if (model.fits(start))
      if (TileChoice other = descend(model, vector_axis, start);
          other.cycles < best.cycles * (1 - gain))
        best = std::move(other);
    start[axis] = 1;
  };
  if (problem.spans[vector_axis] >= 2 * model.setting().lanes) try_from(vector_axis, 2);
  for (size_t a = problem.first_axis; a < problem.stage.domain.output_rank; ++a)
    if (a != vector_axis && problem.may_tile(a) && problem.spans[a] >= 2 &&
        problem.spans[a] <= thresholds().short_axis)
      try_from(a, problem.spans[a]);
  for (size_t a = problem.stage.domain.output_rank; a < problem.spans.size(); ++a)
    if (const std::optional<size_t> window = window_along(model.setting(), a)) {
      start[*window] = 2;
      if (const int64_t taps = model.choices(a).back(); taps > 1) try_from(a, taps, sharing_gain);
      start[*window] = 1;
    }
  return best;
}

// Axes worth trying as lanes: those along which something is contiguous, else the last output axis.
std::vector<size_t> candidates(const TileProblem& problem, bool reductions) {
  const size_t output_rank = problem.stage.domain.output_rank;
  std::vector<size_t> found;
  for (size_t a = problem.first_axis; a < problem.spans.size(); ++a) {
    if (problem.spans[a] < 2 || !problem.may_tile(a) || (a >= output_rank && !reductions)) continue;
    bool contiguous = a < output_rank && problem.accesses.result.contiguous(a);
    for (const MemoryAccess& access : problem.accesses.reads)
      contiguous |=
          access.contiguous(a) || (problem.may_pack && a < output_rank && problem.spans[a] >= 8);
    if (contiguous) found.push_back(a);
  }
  if (found.empty())
    for (size_t a = reductions ? problem.spans.size() : output_rank; a-- > problem.first_axis;)
      if (problem.spans[a] >= 2 && problem.may_tile(a)) return {a};
  return found;
}

// So many instances of a body, or one more or fewer, that tiles of them come out even: the code of
// a shorter last tile is slow, and counts where there are few.
int64_t whole_instances(int64_t instances, int64_t vectors) {
  if (vectors >= thresholds().many_tiles * instances) return instances;
  for (int64_t more = instances > 1 ? instances + 1 : 1; more > 1; --more)
    if (vectors % more == 0) return more;
  return 1;
}

// Cycles to store a vector whose lanes lie apart; in pieces of rows it takes a little more than
// loads of such pieces, so that copies gather.
double apart_cost(const TileProblem& problem, int64_t lanes) {
  const MemoryAccess& result = problem.accesses.result;
  const int64_t piece = row_piece(problem.graph, result.tensor);
  for (size_t a = 0; a < problem.stage.domain.output_rank; ++a)
    if (result.contiguous(a) && piece > 1 && lanes % piece == 0 && problem.spans[a] >= piece)
      return problem.machine.core.row_store_cycles * static_cast<double>(lanes) +
             problem.machine.core.piece_store_cost;
  return problem.machine.core.apart_store_cycles * static_cast<double>(lanes);
}

// The best tiles of a stage with a combiner, for each axis worth trying as lanes.
std::vector<TileChoice> reduction_tiles(const TileProblem& problem) {
  std::vector<TileChoice> found;
  for (size_t axis : candidates(problem, has_partial_results(problem.stage.combiner.kind)))
    found.push_back(descend(problem, axis));
  return found;
}

TileChoice best_of(const TileProblem& problem, const std::vector<TileChoice>& found) {
  TileChoice best;
  best.factors.assign(problem.spans.size(), 1);
  best.cycles = std::numeric_limits<double>::infinity();
  for (const TileChoice& choice : found)
    if (choice.cycles < best.cycles * (1 - thresholds().order_gain)) best = choice;
  if (!best.vector_axis) best.cycles = 4 * box_points(problem.stage.domain);
  return best;
}

// Whether an axis that decides between parts of the body may be in the tile as a whole, with lanes
// along another one; leaves `axes` those that may have them.
bool decided_in_copies(const TileProblem& problem, size_t axis, int64_t lanes,
                       std::vector<size_t>& axes) {
  if (!problem.may_tile(axis) || axis < problem.first_axis ||
      problem.spans[axis] != problem.stage.domain.extents[axis])
    return false;
  std::vector<size_t> others;
  for (size_t a = problem.first_axis; a < problem.stage.domain.output_rank; ++a)
    if (a != axis && problem.may_tile(a) && problem.spans[a] >= lanes) others.push_back(a);
  if (others.empty()) return false;
  axes = std::move(others);
  return true;
}

}  // namespace

bool asks_in_tile(const Domain& domain, const TileChoice& tile) {
  const auto asks = [&](const Affine& row) {
    std::vector<bool> axes(domain.rank(), false);
    domain.mark_axes(row, axes);
    for (size_t a = 0; a < axes.size(); ++a)
      if (axes[a] && (tile.factors[a] > 1 || tile.vector_axis == a)) return true;
    return false;
  };
  return std::ranges::any_of(domain.inequalities, asks) ||
         std::ranges::any_of(domain.equalities, asks);
}

TileChoice choose_reduction_tile(const TileProblem& problem) {
  return best_of(problem, reduction_tiles(problem));
}

TileChoice choose_pointwise_tile(const TileProblem& problem) {
  TileChoice best;
  best.factors.assign(problem.spans.size(), 1);
  best.cycles = std::numeric_limits<double>::infinity();
  const int64_t full = full_lanes(problem.graph, problem.stage, problem.machine.vector_bits);
  WorkMeter meter(problem.graph.pool);
  const Work work = meter(problem.stage.bodies);
  double points = 1;
  for (int64_t span : problem.spans) points *= static_cast<double>(std::max<int64_t>(span, 1));
  std::optional<DecidingAxis> decides = deciding_axis(problem.graph, problem.stage);
  std::vector<size_t> axes = candidates(problem, false);
  if (decides && !decided_in_copies(problem, decides->axis, full, axes)) decides.reset();
  const double cost =
      decides ? decides->cost / static_cast<double>(problem.spans[decides->axis]) : work.cost;
  for (size_t axis : axes) {
    const int64_t extent = problem.spans[axis], lanes = lanes_for(extent, full);
    double cycles = cost * problem.machine.core.port_cycles;
    for (const MemoryAccess& access : problem.accesses.reads) {
      if (!access.depends_on(axis)) {
        cycles += problem.machine.core.broadcast_load;
      } else {
        cycles +=
            access.contiguous(axis) ? 1 : gather_cost(access, axis, lanes, problem.machine.core);
      }
    }
    const bool contiguous = problem.accesses.result.contiguous(axis);
    cycles += static_cast<double>(problem.stage.results.size()) *
              (contiguous ? 1 : apart_cost(problem, lanes));
    const int64_t vectors = ceil_div(extent, lanes);
    cycles *= points / static_cast<double>(extent) * static_cast<double>(vectors);
    if (cycles > best.cycles) continue;  // later axes are closer to the store: they win ties
    best.vector_axis = axis;
    best.lanes = lanes;
    best.cycles = cycles;
    best.factors.assign(problem.spans.size(), 1);
    if (decides)
      best.factors[decides->axis] = problem.spans[decides->axis];
    else
      best.factors[axis] = whole_instances(work.nodes <= thresholds().small_body    ? 4
                                           : work.nodes <= thresholds().middle_body ? 2
                                                                                    : 1,
                                           vectors);
  }
  if (!best.vector_axis) best.cycles = points * (work.cost + 2);
  return best;
}

namespace {

constexpr size_t kTiles = 8;  // that are offered

// Tiles that differ from `best` by one step of one axis' factor.
std::vector<TileChoice> neighbours(const TileProblem& problem, const TileChoice& best) {
  const bool reduction = problem.stage.combiner.kind != CombinerKind::None;
  const TileModel model(problem, *best.vector_axis);
  std::vector<TileChoice> found;
  for (size_t a = 0; a < best.factors.size(); ++a) {
    const std::vector<int64_t> factors = model.choices(a);
    const auto [less, more] = std::ranges::equal_range(factors, best.factors[a]);
    for (const bool down : {true, false}) {
      if (down ? less == factors.begin() : more == factors.end()) continue;
      if (!reduction && a != *best.vector_axis) continue;
      TileChoice other = best;
      other.factors[a] = down ? *(less - 1) : *more;
      if (!model.fits(other.factors)) continue;
      if (reduction) other.cycles = model.total(other.factors);
      found.push_back(std::move(other));
    }
  }
  return found;
}

std::vector<TileChoice> with_others(const TileProblem& problem, const TileChoice& best,
                                    const std::vector<TileChoice>& other_lanes) {
  if (!best.vector_axis) return {best};
  std::vector<TileChoice> others = neighbours(problem, best);
  for (const TileChoice& choice : other_lanes)
    if (choice.vector_axis != best.vector_axis) others.push_back(choice);
  std::ranges::stable_sort(others, {}, &TileChoice::cycles);
  if (others.size() > kTiles) others.resize(kTiles);
  others.insert(others.begin(), best);
  return others;
}

// Such as "12 i x 2x16 j": instances of each axis, vectors and lanes of the vector axis.
std::string text_of(const TileProblem& problem, const TileChoice& tile) {
  std::string text;
  for (size_t a = 0; a < tile.factors.size(); ++a) {
    const bool lanes = tile.vector_axis == a;
    if (!lanes && tile.factors[a] < 2) continue;
    text += (text.empty() ? "" : " x ") + std::to_string(tile.factors[a]) +
            (lanes ? "x" + std::to_string(tile.lanes) : "") + " " + axis_names(problem.stage)[a];
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace

namespace {

void append(std::vector<int64_t>& key, const Affine& form) {
  for (size_t v = 0; v < form.size(); ++v) key.push_back(form.coefficient(v));
  key.push_back(form.constant());
}

void append(std::vector<int64_t>& key, const MemoryAccess& access, const Graph& graph) {
  key.insert(key.end(), access.strides.begin(), access.strides.end());
  for (size_t a = 0; a < access.strides.size(); ++a)
    key.push_back(2 * access.irregular[a] + access.by_data[a]);
  key.insert(key.end(), {access.guarded, static_cast<int64_t>(access.elements),
                         static_cast<int64_t>(access.repeats),
                         static_cast<int64_t>(graph.info(access.tensor).dtype),
                         std::ranges::count(graph.inputs, access.tensor)});
}

// Everything of a problem that a tile depends on, beside the machine's caches and costs:
// expressions by their operations and operands, the domain's rows, what the accesses move by.
std::vector<int64_t> key_of(const TileProblem& problem) {
  const Stage& stage = problem.stage;
  const ExprPool& pool = problem.graph.pool;
  std::vector<int64_t> key{problem.machine.vector_bits,
                           static_cast<int64_t>(problem.first_axis),
                           2 * problem.may_pack + problem.in_pieces,
                           static_cast<int64_t>(problem.calls),
                           static_cast<int64_t>(problem.passes),
                           static_cast<int64_t>(stage.combiner.kind),
                           static_cast<int64_t>(stage.domain.output_rank)};
  key.push_back(static_cast<int64_t>(problem.task_axes.size()));
  key.insert(key.end(), problem.task_axes.begin(), problem.task_axes.end());
  key.insert(key.end(), problem.spans.begin(), problem.spans.end());
  key.insert(key.end(), stage.domain.extents.begin(), stage.domain.extents.end());
  std::unordered_map<uint32_t, int64_t> numbers;
  for (ExprId id : reachable(pool, stage.bodies)) {
    key.insert(key.end(),
               {static_cast<int64_t>(pool[id].op), static_cast<int64_t>(pool.dtype(id)),
                pool.is(id, Op::Axis) ? static_cast<int64_t>(pool.axis_number(id)) : -1});
    for (ExprId operand : pool.operands(id)) key.push_back(numbers.at(operand.value));
    numbers.emplace(id.value, static_cast<int64_t>(numbers.size()));
  }
  for (ExprId body : stage.bodies) key.push_back(numbers.at(body.value));
  for (const MemoryAccess& access : problem.accesses.reads) append(key, access, problem.graph);
  append(key, problem.accesses.result, problem.graph);
  for (TensorId id : stage.results)
    key.push_back(static_cast<int64_t>(problem.graph.info(id).dtype));
  for (const Division& division : stage.domain.divisions) {
    append(key, division.numerator);
    key.push_back(division.divisor);
  }
  for (const auto* rows : {&stage.domain.inequalities, &stage.domain.equalities}) {
    key.push_back(static_cast<int64_t>(rows->size()));
    for (const Affine& row : *rows) append(key, row);
  }
  return key;
}

}  // namespace

TileMemory::Known& TileMemory::known(const TileProblem& problem) {
  std::vector<int64_t> key = key_of(problem);
  if (const auto before = known_.find(key); before != known_.end()) return before->second;
  Known known;
  if (problem.stage.combiner.kind == CombinerKind::None) {
    known.best = choose_pointwise_tile(problem);
  } else {
    known.by_lanes = reduction_tiles(problem);
    known.best = best_of(problem, known.by_lanes);
  }
  return known_.emplace(std::move(key), std::move(known)).first->second;
}

const TileChoice& TileMemory::best(const TileProblem& problem) { return known(problem).best; }

const std::vector<TileChoice>& TileMemory::offered(const TileProblem& problem) {
  Known& known = this->known(problem);
  if (known.offered.empty()) known.offered = with_others(problem, known.best, known.by_lanes);
  return known.offered;
}

namespace {

TileMemory& memory_of(Choices& choices) {
  if (!choices.tiles()) choices.remember_tiles(std::make_shared<TileMemory>());
  return *choices.tiles();
}

}  // namespace

TileChoice best_tile(const TileProblem& problem, Choices& choices) {
  return memory_of(choices).best(problem);
}

std::optional<TileChoice> tile_with(const TileProblem& problem, const TileChoice& tile) {
  const size_t lanes = *tile.vector_axis;
  const TileModel model(problem, lanes);
  if (!problem.may_tile(lanes) || model.setting().lanes != tile.lanes || !model.fits(tile.factors))
    return std::nullopt;
  for (size_t a = 0; a < tile.factors.size(); ++a) {
    const std::vector<int64_t> choices = model.choices(a);
    if (tile.factors[a] > 1 && std::ranges::find(choices, tile.factors[a]) == choices.end())
      return std::nullopt;
  }
  return priced(model, lanes, tile.factors);
}

TileChoice choose_tile(const TileProblem& problem, Choices& choices, Decision decision,
                       const std::optional<TileChoice>& first) {
  if (!choices.recording()) return first ? *first : best_tile(problem, choices);
  std::vector<TileChoice> all = memory_of(choices).offered(problem);
  if (first) {
    std::erase_if(all, [&](const TileChoice& tile) {
      return tile.vector_axis == first->vector_axis && tile.factors == first->factors;
    });
    all.insert(all.begin(), *first);
  }
  const size_t taken = choices.pick(decision, problem.graph, problem.stage, [&] {
    std::vector<std::string> texts;
    for (const TileChoice& tile : all) texts.push_back(text_of(problem, tile));
    return texts;
  });
  return all[taken];
}

}  // namespace adjit::sched
