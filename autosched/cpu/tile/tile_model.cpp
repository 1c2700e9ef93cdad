// autosched/cpu/tile/tile_model.cpp -- cycles, registers and choices of register tiles.
#include "autosched/cpu/tile/tile_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include "autosched/analysis/gather_access.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
int64_t full_lanes(const Graph& graph, const Stage& stage, int vector_bits) {
  size_t widest = 4;
  for (ExprId id : reachable(graph.pool, stage.bodies))
    if (graph.pool.dtype(id) == DType::Float64) widest = 8;
  for (TensorId id : stage.results) widest = std::max(widest, size_of(graph.info(id).dtype));
  return vector_bits / 8 / static_cast<int64_t>(widest);
}

int64_t lanes_for(int64_t extent, int64_t full) {
  return std::min(full, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

double gather_cost(const MemoryAccess& access, size_t axis, int64_t lanes, const CoreCosts& core) {
  const int64_t stride = access.strides[axis] < 0 ? -access.strides[axis] : access.strides[axis];
  if (!access.irregular[axis] && stride <= std::max<int64_t>(2, lanes / 4))
    return static_cast<double>(stride);
  return core.gather_lane_cycles * static_cast<double>(lanes) + core.gather_cycles;
}

TileModel::TileModel(const TileProblem& problem, size_t vector_axis)
    : p_(problem),
      core_(problem.target.core),
      v_(vector_axis),
      lanes_(lanes_for(problem.spans[vector_axis],
                       full_lanes(problem.graph, problem.stage, problem.target.vector_bits))),
      output_rank_(problem.stage.domain.output_rank),
      in_reduction_(vector_axis >= output_rank_),
      registers_(problem.target.vector_bits >= 512 ? 32 : 16) {
  count_operations();
  reuses_ = std::ranges::all_of(p_.accesses.reads, [&](const MemoryAccess& access) {
    return box_points(p_.stage.domain) >= 4 * elements_touched(access, p_.stage.domain);
  });
  for (const MemoryAccess& access : p_.accesses.reads) {
    const double elements = elements_touched(access, p_.stage.domain);
    passing_ += elements * static_cast<double>(size_of(p_.graph.info(access.tensor).dtype));
    if (2 * elements > box_points(p_.stage.domain)) continue;
    passing_ = 0;
    break;
  }
  lane_load_ = in_reduction_ && problem.spans[v_] >= core_.long_row_bytes / 4
                   ? core_.far_load_cycles
                   : core_.port_cycles;
  contiguous_.resize(p_.accesses.reads.size());
  for (size_t r = 0; r < contiguous_.size(); ++r) {
    const MemoryAccess& access = p_.accesses.reads[r];
    contiguous_[r] = access.contiguous(v_);
    if (access.depends_on(v_) && !contiguous_[r] && packable(access)) {
      contiguous_[r] = true;
      packed.push_back(r);
      packing += (core_.packing_cycles +
                  core_.packed_element_cycles * elements_touched(access, p_.stage.domain)) /
                 access.repeats;
    }
  }
  const Domain& domain = p_.stage.domain;
  runs_ = p_.calls;  // a nest in another's loops runs with some points of its domain at a time
  for (size_t a = 0; a < domain.rank(); ++a)
    runs_ *= static_cast<double>(std::max<int64_t>(domain.extents[a], 1)) /
             static_cast<double>(std::max<int64_t>(p_.spans[a], 1));
  const auto add = [&](const Affine& row) {
    std::vector<bool> axes(p_.spans.size(), false);
    domain.mark_axes(row, axes);
    rows_.push_back(std::move(axes));
  };
  for (const Affine& row : domain.inequalities) {
    add(row);
    if (row.size() <= domain.rank()) plain_rows_.push_back(&row);
  }
  for (const Affine& row : domain.equalities) add(row);
}

bool TileModel::fits(const std::vector<int64_t>& factors) const {
  int64_t instances = 1;
  for (size_t a = 0; a < factors.size(); ++a) {
    instances *= factors[a];
    if (factors[a] > 1 && !p_.may_tile(a)) return false;
  }
  if (instances == 1) return true;
  const MemoryAccess* shared = shared_read(factors);
  for (size_t a = output_rank_; a < factors.size() && !shared; ++a)
    if (a != v_ && factors[a] > 1 && !takes_rows(a, factors[a]) &&
        !(takes_taps(a) && factors[a] == p_.spans[a]))
      return false;
  return accumulators(factors) + working_registers() + thresholds().spare_registers <= registers_ &&
         (arithmetic_ > thresholds().heavy_body || spilled(factors) == 0) &&
         instances <= (shared ? thresholds().sharing_instances : thresholds().tile_instances) &&
         static_cast<double>(instances) * arithmetic_ <= 600;
}

int64_t TileModel::accumulators(const std::vector<int64_t>& factors) const {
  auto count = static_cast<int64_t>(p_.stage.bodies.size());
  for (size_t a = 0; a < factors.size(); ++a)
    if (a < output_rank_ || (in_reduction_ && a == v_)) count *= factors[a];
  return count;
}

int64_t TileModel::spilled(const std::vector<int64_t>& factors) const {
  int64_t live = accumulators(factors) + working_registers();
  for (const MemoryAccess& access : p_.accesses.reads) live += live_values(access, factors);
  return std::max<int64_t>(0, live - registers_);
}

int64_t TileModel::live_values(const MemoryAccess& access,
                               const std::vector<int64_t>& factors) const {
  if (const MemoryAccess* shared = shared_read(factors)) {
    if (&access == shared) return access.depends_on(v_) ? factors[v_] : 1;
    int64_t instances = 1;
    for (const int64_t factor : factors) instances *= factor;
    const auto kept = static_cast<int64_t>(distinct(access, factors));
    return kept < instances ? kept : 1;
  }
  int64_t live = 0;
  const auto visit = [&](size_t a) {
    if (factors[a] < 2) return;
    if (!access.depends_on(a)) {
      live = std::max<int64_t>(live, 1);
    } else if (live > 0) {
      live *= factors[a];
    }
  };
  for (size_t a = 0; a < output_rank_; ++a)
    if (a != v_) visit(a);
  visit(v_);
  return std::max<int64_t>(live, access.depends_on(v_) ? 1 : 0);
}

double TileModel::step(const std::vector<int64_t>& factors) const {
  const auto [known, fresh] = steps_.try_emplace(factors);
  if (fresh) known->second = step_of(factors);
  return known->second;
}

double TileModel::step_of(const std::vector<int64_t>& factors) const {
  double reduction = 1;
  bool steps = false;  // of the reduction, outside the tile
  for (size_t a = output_rank_; a < factors.size(); ++a) {
    if (!in_reduction_ || a != v_) reduction *= static_cast<double>(factors[a]);
    steps |= p_.spans[a] > factors[a] * (a == v_ ? lanes_ : 1);
  }
  double loads = 0, masks = 0, scattered = 0, far = 0;
  for (size_t r = 0; r < p_.accesses.reads.size(); ++r) {
    const MemoryAccess& access = p_.accesses.reads[r];
    const double read = distinct(access, factors);
    bool near = access.depends_on(v_);  // instances of a scalar load are in one cache line
    for (size_t a = 0; a < factors.size(); ++a)
      near |= access.depends_on(a) && factors[a] > 1 && shares_lines(access, a);
    loads += load_cost(r, factors);
    if (!near) scattered += read;
    if (fetches_far(access)) {
      const size_t size = size_of(p_.graph.info(access.tensor).dtype);
      far += std::ceil(read * static_cast<double>(size) / 64);
    }
    loads += distance(access, factors) * read;
    if (access.guarded) masks += core_.guard_cost * read;
  }
  loads += static_cast<double>(spilled(factors)) * core_.port_cycles *
           std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
  double asking = 0;  // whether a tile is at the border
  const RowMasks rows = row_masks(factors);
  if (rows.all > 0) {
    const Border border = this->border(factors);
    masks = border.any * (masks + rows.all) + border.lanes * (masks + rows.lanes);
    if (border.any < 1) asking = core_.border_cycles;
  }
  const double work = operations(factors) * core_.port_cycles + masks * core_.port_cycles;
  double latency = core_.accumulation_cycles * reduction;
  // Whole windows do not wait for each other, as far as they are in sight.
  if (!steps && shared_read(factors))
    latency *= std::min(1.0, (work + loads) / core_.port_cycles / core_.look_ahead);
  const double others = std::max({work, loads, latency});
  return std::max(others, second_cache(factors, others)) + core_.load_pressure * loads +
         core_.scattered_pressure * scattered + core_.far_line_cycles * far + asking +
         window_waits(factors) + core_.streamed_line_cycles * streamed_lines(factors) +
         core_.step_cycles;
}

double TileModel::load_cost(size_t read, const std::vector<int64_t>& factors) const {
  const MemoryAccess& access = p_.accesses.reads[read];
  const double vectors = distinct(access, factors);
  if (!access.depends_on(v_)) return vectors * core_.port_cycles;
  if (contiguous_[read]) return vectors * lane_load_ * (1 + crossing(read));
  const std::optional<size_t> rows = rows_along(access, factors);
  if (!rows)
    return vectors * (access.by_data[v_]
                          ? core_.indexed_element_cycles * static_cast<double>(lanes_)
                          : gather_cost(access, v_, lanes_, core_) + far_lanes(access, factors));
  const int64_t piece = row_piece(p_.graph, access.tensor);
  const auto pieces = static_cast<double>(ceil_div(factors[*rows], piece));
  return vectors / static_cast<double>(factors[*rows]) * pieces *
         row_load_cost(lanes_, piece, core_);
}

double TileModel::far_lanes(const MemoryAccess& access, const std::vector<int64_t>& factors) const {
  const auto size = static_cast<int64_t>(size_of(p_.graph.info(access.tensor).dtype));
  const int64_t stride = std::abs(access.strides[v_]) * size;
  if (access.irregular[v_] || stride < kLineBytes) return 0;
  bool read_again = false;  // by the next steps
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!access.depends_on(a) || !shares_lines(access, a)) continue;
    if (factors[a] > 1) return 0;
    read_again |= a >= output_rank_ && p_.spans[a] > 1;
  }
  if (!read_again || lines_stay(lanes_ * factors[v_], stride, p_.target.l1_bytes)) return 0;
  return core_.far_element_cycles * static_cast<double>(lanes_);
}

double TileModel::crossing(size_t read) const {
  const MemoryAccess& access = p_.accesses.reads[read];
  if (std::ranges::count(packed, read) > 0 || lanes_ < 2) return 0;
  const auto size = static_cast<int64_t>(size_of(p_.graph.info(access.tensor).dtype));
  bool anywhere = std::ranges::count(p_.graph.inputs, access.tensor) > 0;
  for (size_t a = 0; a < p_.spans.size(); ++a)
    anywhere |=
        a != v_ && p_.spans[a] > 1 && !access.irregular[a] && access.strides[a] % lanes_ != 0;
  if (!anywhere) return 0;
  const double share = static_cast<double>((lanes_ - 1) * size) / kLineBytes;
  return in_reduction_ ? core_.crossing_loads * share : share;
}

std::optional<size_t> TileModel::rows_along(const MemoryAccess& access,
                                            const std::vector<int64_t>& factors) const {
  const int64_t piece = row_piece(p_.graph, access.tensor);
  if (piece == 0 || lanes_ % piece != 0 || access.guarded || !lies_apart(access))
    return std::nullopt;
  for (size_t a = 0; a < factors.size(); ++a)
    if (a != v_ && factors[a] > 1 && access.strides[a] == 1 && !access.irregular[a] &&
        (factors[a] % piece == 0 || factors[a] == p_.spans[a]))
      return a;
  return std::nullopt;
}

double TileModel::cycles(const std::vector<int64_t>& factors) const {
  const double whole = step(factors);
  double tiles = 1;
  std::vector<int64_t> ragged = factors;
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t tile = factors[a] * (a == v_ ? lanes_ : 1);
    const int64_t rest = p_.spans[a] % tile;
    const int64_t whole_tiles = p_.spans[a] / tile;
    auto count = static_cast<double>(whole_tiles);
    if (rest > 0) {
      ragged[a] = a == v_ ? ceil_div(rest, lanes_) : rest;
      count += step(ragged) / whole;
      ragged[a] = factors[a];
    }
    tiles *= std::max(count, 1e-9);
  }
  tiles *= visited(factors);
  const double pass = tiles * whole + memory_waits(factors, tiles * whole) + storing(factors);
  return p_.passes * pass + packing;
}

double TileModel::total(const std::vector<int64_t>& factors) const {
  const auto [known, fresh] = totals_.try_emplace(factors);
  if (fresh)
    known->second = cycles(factors) + thresholds().instruction_cycles * code(factors) / runs_;
  return known->second;
}

double TileModel::code(const std::vector<int64_t>& factors) const {
  auto instructions = static_cast<double>(nodes_);
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t tile = factors[a] * (a == v_ ? lanes_ : 1);
    instructions *= static_cast<double>(factors[a]);
    if (p_.spans[a] > tile && p_.spans[a] % tile != 0) instructions *= 2;
  }
  return instructions;
}

std::vector<int64_t> TileModel::choices(size_t axis) const {
  const int64_t extent = p_.spans[axis];
  std::vector<int64_t> found;
  if (!p_.may_tile(axis)) return {1};
  if (axis == v_) {
    const int64_t vectors = ceil_div(extent, lanes_);
    for (int64_t f : {1, 2, 3, 4, 6, 8})
      if (f <= vectors && (in_reduction_ ? f % 3 != 0 : f != 8)) found.push_back(f);
  } else if (axis < output_rank_) {
    if (is_picked(axis)) return {1};
    // What is read once streams through: a few accumulators hide the latency; eight fold best.
    const bool any = !in_reduction_ || reuses_, folds = p_.spans[v_] <= 8 * lanes_;
    for (int64_t f : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16})
      if (f <= extent && (f <= 4 || any || (folds && f == 8))) found.push_back(f);
  } else {
    found.push_back(1);
    if (takes_taps(axis)) found.push_back(extent);
    if (window_along(axis) && stays_in_order(axis)) {
      for (int64_t f : {2, 4})
        if (extent > thresholds().window_taps && f <= extent) found.push_back(f);
      if (extent > found.back() && extent <= thresholds().window_taps) found.push_back(extent);
    }
    for (const MemoryAccess& access : p_.accesses.reads)
      if (const int64_t piece = row_piece(p_.graph, access.tensor);
          piece > found.back() && takes_rows(axis, piece))
        found.push_back(piece);
  }
  return found;
}

// Taps: their masks are then computed outside the other reduction loops.
bool TileModel::takes_taps(size_t axis) const {
  return !in_reduction_ && p_.spans[axis] > 1 && p_.spans[axis] <= 4 && masked(axis) &&
         stays_in_order(axis);
}

// Whether what the lanes read is a row's for each of them.
bool TileModel::lies_apart(const MemoryAccess& access) const {
  return access.by_data[v_] || (p_.in_pieces && !access.irregular[v_] &&
                                std::abs(access.strides[v_]) > std::max<int64_t>(2, lanes_ / 4));
}

// Such rows are loaded in pieces.
bool TileModel::takes_rows(size_t axis, int64_t factor) const {
  return !in_reduction_ && p_.spans[axis] % factor == 0 && stays_in_order(axis) &&
         std::ranges::any_of(p_.accesses.reads, [&](const MemoryAccess& access) {
           return lies_apart(access) && access.strides[axis] == 1 &&
                  row_piece(p_.graph, access.tensor) == factor;
         });
}

void TileModel::count_operations() {
  const ExprPool& pool = p_.graph.pool;
  std::unordered_map<uint32_t, uint64_t> axes;
  std::map<uint64_t, double> costs;
  arithmetic_ = 0;
  for (ExprId id : reachable(pool, p_.stage.bodies)) {
    uint64_t mask = 0;
    if (pool.is(id, Op::Axis)) mask = bit(pool.axis_number(id));
    for (ExprId operand : pool.operands(id)) mask |= axes.at(operand.value);
    axes[id.value] = mask;
    ++nodes_;
    if (pool.dtype(id) == DType::Int64) continue;
    const double cost = operation_cost(pool, id);
    costs[mask] += cost;
    arithmetic_ += cost;
  }
  for (ExprId body : p_.stage.bodies) {
    // Combined at every point; a product goes into a sum by fma.
    const bool product = p_.stage.combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul);
    const bool winner = p_.stage.combiner.kind == CombinerKind::ArgMax ||
                        p_.stage.combiner.kind == CombinerKind::ArgMin;
    const double cost = winner ? core_.winner_cost : operation_cost(Op::Mul, pool.dtype(body));
    if (product) costs[axes.at(body.value)] -= cost;
    costs[~uint64_t{0}] += cost;
    arithmetic_ += product ? 0 : cost;
  }
  arithmetic_ = std::max(1.0, arithmetic_);
  operations_.assign(costs.begin(), costs.end());
}

double TileModel::operations(const std::vector<int64_t>& factors) const {
  double sum = 0;
  for (const auto& [mask, cost] : operations_) {
    double instances = cost;
    for (size_t a = 0; a < factors.size(); ++a)
      if (mask & bit(a)) instances *= static_cast<double>(factors[a]);
    sum += instances;
  }
  return std::max(1.0, sum);
}

bool TileModel::stays_in_order(size_t axis) const {
  if (is_commutative(p_.stage.combiner.kind)) return true;
  const auto inner = p_.spans.begin() + static_cast<std::ptrdiff_t>(axis + 1);
  return std::all_of(inner, p_.spans.end(), [](int64_t span) { return span == 1; });
}

bool TileModel::is_picked(size_t axis) const {
  const Domain& domain = p_.stage.domain;
  return std::ranges::any_of(domain.equalities, [&](const Affine& row) {
    std::vector<bool> axes(domain.rank(), false);
    domain.mark_axes(row, axes);
    return axes[axis] && std::find(axes.begin() + static_cast<std::ptrdiff_t>(output_rank_),
                                   axes.end(), true) == axes.end();
  });
}

bool TileModel::packable(const MemoryAccess& access) const {
  if (!p_.may_pack || access.irregular[v_] || access.guarded) return false;
  const std::span<const ExprId> index = p_.graph.pool.read_index(access.read);
  const bool alone = std::ranges::any_of(index, [&](ExprId id) {
    return p_.graph.pool.is(id, Op::Axis) && p_.graph.pool.axis_number(id) == v_;
  });
  return alone && box_points(p_.stage.domain) * access.repeats >=
                      24 * elements_touched(access, p_.stage.domain);
}

double row_load_cost(int64_t lanes, int64_t piece, const CoreCosts& core) {
  const int64_t rounds = std::bit_width(static_cast<uint64_t>(piece)) - 1;
  return core.port_cycles * static_cast<double>(lanes + (lanes - piece) + piece * rounds);
}

}  // namespace adjit::sched
