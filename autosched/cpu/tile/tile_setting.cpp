// autosched/cpu/tile/tile_setting.cpp -- lanes, packed operands and constraints of a tile problem.
#include "autosched/cpu/tile/tile_setting.hpp"

#include <bit>
#include <cstdlib>

#include "autosched/analysis/work.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {

int64_t lanes_for(int64_t extent, int64_t full) {
  return std::min(full, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))));
}

TileSetting::TileSetting(const TileProblem& problem, size_t vector_axis)
    : p(problem),
      core(problem.machine.core),
      v(vector_axis),
      lanes(lanes_for(problem.spans[vector_axis],
                      full_lanes(problem.graph, problem.stage, problem.machine.vector_bits))),
      output_rank(problem.stage.domain.output_rank),
      in_reduction(vector_axis >= output_rank),
      registers(problem.machine.vector_bits >= 512 ? 32 : 16) {
  for (const MemoryAccess& access : p.accesses.reads) {
    const double elements = elements_touched(access, p.stage.domain);
    passing += elements * static_cast<double>(size_of(p.graph.info(access.tensor).dtype));
    if (2 * elements > box_points(p.stage.domain)) continue;
    passing = 0;
    break;
  }
  contiguous.resize(p.accesses.reads.size());
  for (size_t r = 0; r < contiguous.size(); ++r) {
    const MemoryAccess& access = p.accesses.reads[r];
    contiguous[r] = access.contiguous(v);
    if (access.depends_on(v) && !contiguous[r] && packable(access)) {
      contiguous[r] = true;
      packed.push_back(r);
      packing += (core.packing_cycles +
                  core.packed_element_cycles * elements_touched(access, p.stage.domain)) /
                 access.repeats;
    }
  }
  const Domain& domain = p.stage.domain;
  const auto add = [&](const Affine& row) {
    std::vector<bool> axes(p.spans.size(), false);
    domain.mark_axes(row, axes);
    rows.push_back(std::move(axes));
  };
  for (const Affine& row : domain.inequalities) {
    add(row);
    if (row.size() <= domain.rank()) plain_rows.push_back(&row);
  }
  for (const Affine& row : domain.equalities) add(row);
}

bool TileSetting::shares_lines(const MemoryAccess& access, size_t axis) const {
  const auto size = static_cast<int64_t>(size_of(p.graph.info(access.tensor).dtype));
  return !access.irregular[axis] && std::abs(access.strides[axis]) * size <= kLineBytes / 4;
}

bool TileSetting::lies_apart(const MemoryAccess& access) const {
  return access.by_data[v] || (p.in_pieces && !access.irregular[v] &&
                               std::abs(access.strides[v]) > std::max<int64_t>(2, lanes / 4));
}

bool TileSetting::stays_in_order(size_t axis) const {
  if (is_commutative(p.stage.combiner.kind)) return true;
  const auto inner = p.spans.begin() + static_cast<std::ptrdiff_t>(axis + 1);
  return std::all_of(inner, p.spans.end(), [](int64_t span) { return span == 1; });
}

bool TileSetting::is_masked(size_t axis) const {
  return std::ranges::any_of(rows, [&](const std::vector<bool>& row) { return row[axis]; });
}

bool TileSetting::packable(const MemoryAccess& access) const {
  if (!p.may_pack || access.irregular[v] || access.guarded) return false;
  const std::span<const ExprId> index = p.graph.pool.read_index(access.read);
  const bool alone = std::ranges::any_of(index, [&](ExprId id) {
    return p.graph.pool.is(id, Op::Axis) && p.graph.pool.axis_number(id) == v;
  });
  return alone && box_points(p.stage.domain) * access.repeats >=
                      24 * elements_touched(access, p.stage.domain);
}

}  // namespace adjit::sched
