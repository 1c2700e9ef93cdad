// autosched/program/required_region.cpp -- region inference over the variables of one kernel.
#include "autosched/program/required_region.hpp"

#include <algorithm>
#include <map>

#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// One dimension's union while reads are added: base + [lo, hi].
struct Window {
  bool seen = false, whole = false;
  Affine base;  // without a constant
  int64_t lo = 0, hi = 0;
};

class RegionReader {
 public:
  // Of tensors of one shape; a nest of `producer` does not count as a reader.
  RegionReader(const Program& program, const NestPath& host, size_t depth,
               std::vector<TensorId> results, size_t producer)
      : program_(program),
        results_(std::move(results)),
        producer_(producer),
        shape_(program.graph.info(results_.front()).shape),
        windows_(shape_.size()) {
    const Nest& nest = nest_at(program, host);
    mark_enclosing(host, depth);
    add_ranges(nest, depth);
    add_reads(nest, depth);
    for (const Nest::Attached& attached : nest.attached)
      if (attached.depth >= depth)
        for_each_nest(attached.nest, [&](const Nest& below) {
          if (below.stage == producer_) return;
          add_ranges(below, 0);
        });
    for (const Nest::Attached& attached : nest.attached)
      if (attached.depth >= depth)
        for_each_nest(attached.nest, [&](const Nest& below) {
          if (below.stage != producer_) add_reads(below, 0);
        });
  }

  /// As if the host read them at these indices, too, forms over its axes.
  void add_pretended_read(const Nest& host, size_t depth, std::span<const Affine> indices) {
    std::vector<Affine> origins;
    std::vector<int64_t> widths;
    for (size_t axis = 0; axis < host.axis_base.size(); ++axis) {
      origins.push_back(origin_above(host, axis, depth));
      widths.push_back(width_below(host, axis, depth));
    }
    for (size_t d = 0; d < windows_.size(); ++d)
      add_index(windows_[d], indices[d], origins, widths);
  }

  Region region() const {
    Region result;
    for (size_t d = 0; d < windows_.size(); ++d) {
      const Window& w = windows_[d];
      Affine base = w.base + Affine(w.lo);
      int64_t span = w.seen ? w.hi - w.lo + 1 : 0;
      if (base.is_constant() && w.seen) {  // clamp to the tensor where that is possible
        const int64_t lo = std::max<int64_t>(w.lo, 0), hi = std::min(w.hi, shape_[d] - 1);
        base = Affine(lo);
        span = std::max<int64_t>(hi - lo + 1, 0);
      }
      if (w.whole || span >= shape_[d]) {
        base = Affine();
        span = shape_[d];
      }
      result.base.push_back(std::move(base));
      result.spans.push_back(span);
    }
    return result;
  }

 private:
  // Variables that are fixed during one iteration of the loops [0, depth) of the host.
  void mark_enclosing(const NestPath& host, size_t depth) {
    const Kernel& kernel = program_.kernels[host.kernel];
    enclosing_.assign(kernel.variable_count, false);
    range_.assign(kernel.variable_count, 0);
    const Nest* nest = &kernel.root;
    for (size_t step : host.steps) {
      const Nest::Attached& attached = nest->attached[step];
      for (size_t l = 0; l < attached.depth; ++l) enclosing_[nest->loops[l].variable] = true;
      nest = &attached.nest;
    }
    for (size_t l = 0; l < depth; ++l) enclosing_[nest->loops[l].variable] = true;
  }

  void add_ranges(const Nest& nest, size_t from) {
    for (size_t l = from; l < nest.loops.size(); ++l)
      range_[nest.loops[l].variable] = (nest.loops[l].trips - 1) * nest.loops[l].step;
  }

  void add_reads(const Nest& nest, size_t depth) {
    const Stage& stage = program_.graph.stages[nest.stage];
    std::vector<Affine> origins;
    std::vector<int64_t> widths;
    for (size_t axis = 0; axis < stage.domain.rank(); ++axis) {
      origins.push_back(origin_above(nest, axis, depth));
      widths.push_back(width_below(nest, axis, depth));
      if (widths.back() == 0) return;  // runs never
    }
    const ExprPool& pool = program_.graph.pool;
    for (ExprId read : reads_of(program_.graph, stage)) {
      if (std::ranges::find(results_, pool.read_tensor(read)) == results_.end()) continue;
      const IndexMap map = index_map(pool, pool.read_index(read), stage.domain);
      for (size_t d = 0; d < map.forms.size(); ++d)
        add_index(windows_[d], map.forms[d], origins, widths);
    }
  }

  // An index over the axes of a nest; axis k is origins[k] plus 0 .. widths[k] - 1.
  void add_index(Window& window, const std::optional<Affine>& index,
                 std::span<const Affine> origins, std::span<const int64_t> widths) const {
    if (!index || index->size() > origins.size()) {  // data, or a division
      window.seen = window.whole = true;
      return;
    }
    const Affine origin = substitute(*index, origins);
    Affine base;
    int64_t lo = origin.constant(), hi = lo;
    const auto widen = [&](int64_t scale, int64_t range) {
      (scale > 0 ? hi : lo) += scale * range;
    };
    for (size_t v = 0; v < origin.size(); ++v) {
      if (enclosing_[v]) {
        base += Affine::variable(v, origin.coefficient(v));
      } else {
        widen(origin.coefficient(v), range_[v]);
      }
    }
    for (size_t axis = 0; axis < index->size(); ++axis)
      widen(index->coefficient(axis), widths[axis] - 1);
    if (!window.seen) {
      window = {true, false, std::move(base), lo, hi};
      return;
    }
    if (window.base != base) window.whole = true;
    window.lo = std::min(window.lo, lo);
    window.hi = std::max(window.hi, hi);
  }

  const Program& program_;
  std::vector<TensorId> results_;
  size_t producer_;
  std::vector<int64_t> shape_;
  std::vector<Window> windows_;
  std::vector<bool> enclosing_;  // per variable of the kernel
  std::vector<int64_t> range_;   // largest value of the others
};

bool covers(const Region& placed, const Region& needed) {
  if (std::ranges::find(needed.spans, 0) != needed.spans.end()) return true;
  for (size_t d = 0; d < placed.base.size(); ++d) {
    const Affine shift = needed.base[d] - placed.base[d];
    if (!shift.is_constant()) return false;
    if (shift.constant() < 0 || shift.constant() + needed.spans[d] > placed.spans[d]) return false;
  }
  return true;
}

}  // namespace

Region read_region(const Program& program, const NestPath& host, size_t depth, size_t producer) {
  return RegionReader(program, host, depth, program.graph.stages[producer].results, producer)
      .region();
}

Region read_region(const Program& program, const NestPath& host, size_t depth, TensorId tensor) {
  return RegionReader(program, host, depth, {tensor}, SIZE_MAX).region();
}

Region region_at(const Program& program, const NestPath& host, size_t depth, size_t stage,
                 std::span<const Affine> indices) {
  RegionReader reader(program, host, depth, program.graph.stages[stage].results, stage);
  reader.add_pretended_read(nest_at(program, host), depth, indices);
  return reader.region();
}

std::vector<ExprId> reads_of(const Graph& graph, const Stage& stage) {
  std::vector<ExprId> roots = stage.bodies;
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  std::vector<ExprId> reads = reachable(graph.pool, roots);
  std::erase_if(reads, [&](ExprId id) { return !graph.pool.is(id, Op::Read); });
  return reads;
}

Nest placed_nest(const LoweredGraph& graph, size_t stage, const Region& region,
                 uint32_t& variable_count) {
  Nest nest = plain_nest(graph, stage, variable_count);
  std::ranges::copy(region.base, nest.axis_base.begin());
  std::ranges::copy(region.spans, nest.spans.begin());
  std::erase_if(nest.loops, [&](const Loop& loop) { return nest.spans[loop.axis] == 1; });
  for (Loop& loop : nest.loops) loop.trips = nest.spans[loop.axis];
  return nest;
}

Region placed_region(const Program& program, const Nest& nest) {
  const size_t rank = program.graph.stages[nest.stage].domain.output_rank;
  const auto end = static_cast<std::ptrdiff_t>(rank);
  return {{nest.axis_base.begin(), nest.axis_base.begin() + end},
          {nest.spans.begin(), nest.spans.begin() + end}};
}

bool regions_cover_reads(const Program& program, size_t kernel, std::string* which) {
  std::vector<NestPath> open{{kernel, {}}};
  while (!open.empty()) {
    const NestPath path = std::move(open.back());
    open.pop_back();
    const Nest& host = nest_at(program, path);
    for (size_t k = 0; k < host.attached.size(); ++k) {
      const Nest::Attached& attached = host.attached[k];
      const Region needed = read_region(program, path, attached.depth, attached.nest.stage);
      if (!covers(placed_region(program, attached.nest), needed)) {
        if (which) *which = stage_name(program.graph, program.graph.stages[attached.nest.stage]);
        return false;
      }
      open.push_back(path);
      open.back().steps.push_back(k);
    }
  }
  return true;
}

bool locals_stay_inside(const Program& program, std::string* which) {
  bool inside = true;
  const auto check = [&](const Nest& host, const Nest::Attached& attached) {
    std::vector<size_t> within{host.stage};
    for (const Nest::Attached& other : host.attached)
      if (other.depth >= attached.depth)
        for_each_nest(other.nest, [&](const Nest& nest) { within.push_back(nest.stage); });
    for (TensorId id : program.graph.stages[attached.nest.stage].results) {
      if (program.scopes[id.value] != Scope::Local) continue;
      for (size_t reader : program.readers[id.value]) {
        if (std::ranges::find(within, reader) != within.end()) continue;
        inside = false;
        if (which) *which = program.graph.info(id).name;
      }
    }
  };
  for (const Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [&](const Nest& host) {
      for (const Nest::Attached& attached : host.attached) check(host, attached);
    });
  return inside;
}

int64_t tasks_sharing(const Program& program, const Nest& root, size_t depth) {
  if (!std::holds_alternative<GpuMachine>(program.target)) return 1;
  const Stage& stage = program.graph.stages[root.stage];
  int64_t tasks = 1;
  for (size_t l = 0; l < parallel_depth(root); ++l) {
    if (!is_independent(program.graph, stage, root.loops[l].axis)) break;
    if (l >= depth) tasks *= root.loops[l].trips;
  }
  return tasks;
}

}  // namespace adjit::sched
