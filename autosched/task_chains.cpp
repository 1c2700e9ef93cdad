// autosched/task_chains.cpp -- regions of tasks compared.
#include "autosched/task_chains.hpp"

#include <algorithm>
#include <utility>

#include "autosched/nests.hpp"
#include "autosched/region.hpp"

namespace adjit {
namespace {

// What kernels write and read in one iteration of their first loops, which count as tasks.
class TaskRegions {
 public:
  explicit TaskRegions(const Program& program)
      : program_(program), producers_(defining_stages(program.graph)) {
    kernel_of_.assign(program.graph.stages.size(), SIZE_MAX);
    for (size_t k = 0; k < program.kernels.size(); ++k)
      for_each_nest(program.kernels[k].root, [&](const Nest& nest) { kernel_of_[nest.stage] = k; });
  }

  // Whether each task of kernel k, when the first `depth` loops make the tasks, reads of what the
  // kernels [first, k) write no more than their tasks of the same number write.
  bool follows(size_t first, size_t k, size_t depth) const {
    if (!same_loops(first, k, depth)) return false;
    bool all = true;
    for_each_nest(program_.kernels[k].root, [&](const Nest& nest) {
      for (TensorId id : tensors_read(program_.graph, program_.graph.stages[nest.stage])) {
        const size_t producer = producers_[id.value];
        if (!all || producer == SIZE_MAX) continue;
        const size_t writer = kernel_of_[producer];
        if (writer != SIZE_MAX && writer >= first && writer < k)
          all = covered(writer, k, producer, depth);
      }
    });
    return all;
  }

  // Elements of a result of kernel k that one task writes, if the tasks' parts follow each other;
  // else 0.
  int64_t slice(size_t k, TensorId id) const {
    const Nest& root = program_.kernels[k].root;
    const std::vector<int64_t>& shape = program_.graph.info(id).shape;
    const size_t depth = parallel_depth(root);
    const Region region = written_region(k, producers_[id.value], depth);
    int64_t elements = 1;
    size_t loop = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      if (loop == depth) {
        if (region.base[d] != Affine() || region.spans[d] < shape[d]) return 0;
        elements *= shape[d];
        continue;
      }
      const Loop& task = root.loops[loop++];
      if (region.base[d] != Affine::variable(task.variable) || region.spans[d] != task.step)
        return 0;
      // A longer part ends a row of tasks only where it ends the dimension.
      if (task.step > 1 && (loop < depth || (depth > 1 && shape[d] % task.step != 0))) return 0;
      elements *= task.step;
    }
    return loop == depth ? elements : 0;
  }

  // From the first of the kernels [first, end) that one of them reads from, to behind the last that
  // reads from one: the others pass nothing on, and would only keep buffers alive.
  std::pair<size_t, size_t> connected(size_t first, size_t end) const {
    size_t begin = end, behind = end;
    for (size_t k = first; k < end; ++k)
      for_each_nest(program_.kernels[k].root, [&](const Nest& nest) {
        for (TensorId id : tensors_read(program_.graph, program_.graph.stages[nest.stage]))
          if (const size_t writer = writer_of(id); writer >= first && writer < k) {
            begin = std::min(begin, writer);
            behind = k + 1;
          }
      });
    return {begin, behind};
  }

  // Of the kernel that has a stage.
  size_t kernel_of(size_t stage) const { return kernel_of_[stage]; }

  // Of the kernel that defines a tensor; SIZE_MAX: none.
  size_t writer_of(TensorId id) const {
    return producers_[id.value] == SIZE_MAX ? SIZE_MAX : kernel_of_[producers_[id.value]];
  }

 private:
  // The same trips, whatever axes they are over.
  bool same_loops(size_t a, size_t b, size_t depth) const {
    const Nest &left = program_.kernels[a].root, &right = program_.kernels[b].root;
    if (depth > left.loops.size() || depth > right.loops.size()) return false;
    for (size_t l = 0; l < depth; ++l)
      if (left.loops[l].trips != right.loops[l].trips || left.loops[l].step != right.loops[l].step)
        return false;
    return true;
  }

  // Whether a task of `reader` reads of the producer's results no more than the writer's task of
  // the same number writes.
  bool covered(size_t writer, size_t reader, size_t producer, size_t depth) const {
    const Nest& root = program_.kernels[writer].root;
    const Region written = written_region(writer, producer, depth);
    const Region read = read_region(program_, {reader, {}}, depth, producer);
    // The writer's task number in terms of the reader's variables.
    std::vector<Affine> renamed(program_.kernels[writer].variable_count);
    for (size_t l = 0; l < depth; ++l)
      renamed[root.loops[l].variable] =
          Affine::variable(program_.kernels[reader].root.loops[l].variable);
    const std::vector<int64_t>& shape =
        program_.graph.info(program_.graph.stages[producer].results.front()).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (written.base[d] == Affine() && written.spans[d] >= shape[d]) continue;
      const Affine shift = read.base[d] - written.base[d].substitute(renamed);
      if (!shift.is_constant() || shift.constant() < 0 ||
          shift.constant() + read.spans[d] > written.spans[d])
        return false;
    }
    return true;
  }

  // What one task writes of a stage's results, over the variables of the first loops.
  Region written_region(size_t kernel, size_t producer, size_t depth) const {
    const NestPath path = *find_nest(program_, producer);
    const Nest& root = program_.kernels[kernel].root;
    const Nest& nest = nest_at(program_, path);
    const size_t rank = program_.graph.stages[producer].domain.output_rank;
    Region region;
    if (path.steps.empty()) {
      for (size_t axis = 0; axis < rank; ++axis) {
        region.base.push_back(origin_above(root, axis, depth));
        region.spans.push_back(width_below(root, axis, depth));
      }
      return region;
    }
    // Attached: the regions of a task's iterations lie next to each other.
    std::vector<int64_t> range(program_.kernels[kernel].variable_count, 0);
    for_each_nest(root, [&](const Nest& n) {
      for (const Loop& loop : n.loops) range[loop.variable] = (loop.trips - 1) * loop.step;
    });
    for (size_t l = 0; l < depth; ++l) range[root.loops[l].variable] = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      Affine base;
      int64_t span = nest.spans[axis];
      const Affine& from = nest.axis_base[axis];
      for (size_t v = 0; v < from.size(); ++v) {
        const int64_t coefficient = from.coefficient(v);
        if (coefficient == 0) continue;
        if (range[v] == 0) {
          base += Affine::variable(v, coefficient);
        } else {
          span = coefficient > 0 ? span + coefficient * range[v] : 0;
        }
      }
      region.base.push_back(base + Affine(from.constant()));
      region.spans.push_back(span);
    }
    return region;
  }

  const Program& program_;
  std::vector<size_t> producers_;  // per tensor
  std::vector<size_t> kernel_of_;  // per stage
};

// Scans, scatters and running reductions stand alone.
bool computes(const Program& program, const Kernel& kernel) {
  bool all = !kernel.steps;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = program.graph.stages[nest.stage];
    all &= stage.kind == StageKind::Compute && !stage.running;
  });
  return all;
}

class ChainPlanner {
 public:
  ChainPlanner(const Program& program, const Target& target, const ReductionPlans& plans)
      : program_(program), target_(target), plans_(plans), regions_(program) {
    for (const Kernel& kernel : program.kernels) depths_.push_back(largest_depth(kernel));
  }

  TaskLoops operator()() const {
    TaskLoops found;
    for (size_t first = 0; first < program_.kernels.size();) {
      size_t next = first + 1;
      for (size_t depth = depths_[first]; depth > 0 && next == first + 1; --depth) {
        const size_t end = end_of(first, depth);
        if (!pays(first, end, depth)) continue;
        for (size_t k = first; k < end; ++k)
          found[program_.graph.stages[program_.kernels[k].root.stage].results.front().value] =
              depth;
        next = end;
      }
      first = next;
    }
    return found;
  }

 private:
  static constexpr size_t kLongest = 32;  // kernels: bounds the planner's time

  // Leading loops that could be tasks: over output axes, in no register tile, outside what is
  // attached.
  size_t largest_depth(const Kernel& kernel) const {
    if (!computes(program_, kernel)) return 0;
    const Nest& root = kernel.root;
    const Stage& stage = program_.graph.stages[root.stage];
    const auto planned = plans_.find(stage.results.front().value);
    const ReductionPlan* plan = planned == plans_.end() ? nullptr : &planned->second;
    if (plan && (plan->reduction_outside || !plan->panels.empty())) return 0;
    size_t depth = 0;
    while (depth < root.loops.size()) {
      const size_t axis = root.loops[depth].axis;
      if (axis >= stage.domain.output_rank) break;
      if (plan && (plan->tile.vector_axis == axis || plan->tile.factors[axis] > 1)) break;
      ++depth;
    }
    // Something must be left for lanes.
    if (depth == root.loops.size() && depth > 0) --depth;
    for (const Nest::Attached& attached : root.attached) depth = std::min(depth, attached.depth);
    return depth;
  }

  size_t end_of(size_t first, size_t depth) const {
    size_t end = first + 1;
    while (end < program_.kernels.size() && end - first < kLongest && depths_[end] >= depth &&
           regions_.follows(first, end, depth))
      ++end;
    return end;
  }

  bool pays(size_t first, size_t end, size_t depth) const {
    if (end - first < 2) return false;
    double tasks = 1, bytes = 0;
    for (size_t l = 0; l < depth; ++l)
      tasks *= static_cast<double>(program_.kernels[first].root.loops[l].trips);
    std::vector<TensorId> passed;
    for (size_t k = first; k < end; ++k)
      for_each_nest(program_.kernels[k].root, [&](const Nest& nest) {
        for (TensorId id : tensors_read(program_.graph, program_.graph.stages[nest.stage]))
          if (const size_t writer = regions_.writer_of(id); writer >= first && writer < k)
            passed.push_back(id);
      });
    std::ranges::sort(passed);
    passed.erase(std::ranges::unique(passed).begin(), passed.end());
    for (TensorId id : passed) {
      const TensorInfo& info = program_.graph.info(id);
      bytes += static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
    }
    // Small tasks cost more in calls than they save.
    const auto cache = static_cast<double>(target_.l2_bytes);
    return tasks >= 4 * target_.cores && bytes >= cache * std::max(target_.cores, 2) &&
           bytes / tasks >= cache / 16 && bytes / tasks <= 1.5 * cache;
  }

  const Program& program_;
  const Target& target_;
  const ReductionPlans& plans_;
  TaskRegions regions_;
  std::vector<size_t> depths_;  // per kernel
};

}  // namespace

namespace {

// Which parts of a chain's tensors stay within a task.
void add_slices(const Program& program, const TaskRegions& regions, size_t first, size_t end,
                std::vector<int64_t>& slices) {
  for (size_t k = first; k < end; ++k)
    for_each_nest(program.kernels[k].root, [&](const Nest& nest) {
      for (TensorId id : program.graph.stages[nest.stage].results) {
        if (program.scopes[id.value] != Scope::Workspace) continue;
        const bool inside = std::ranges::all_of(program.readers[id.value], [&](size_t reader) {
          const size_t kernel = regions.kernel_of(reader);
          return kernel >= first && kernel < end;
        });
        if (inside) slices[id.value] = regions.slice(k, id);
      }
    });
}

}  // namespace

TaskChains task_chains(const Program& program) {
  const size_t count = program.kernels.size();
  TaskChains chains{std::vector<bool>(count, false),
                    std::vector<int64_t>(program.graph.tensors.size(), 0)};
  if (count < 2) return chains;
  const TaskRegions regions(program);
  const auto alone = [&](const Kernel& kernel) {
    // What is attached outside the last parallel loop is made again by every task around it.
    const size_t depth = parallel_depth(kernel.root);
    return task_count(kernel.root) < 2 || !computes(program, kernel) ||
           std::ranges::any_of(
               kernel.root.attached, [&](const Nest::Attached& a) { return a.depth < depth; });
  };
  size_t first = 0;  // of the chain
  for (size_t k = 1; k <= count; ++k) {
    if (k < count) {
      const Kernel &head = program.kernels[first], &kernel = program.kernels[k];
      const size_t depth = parallel_depth(head.root);
      chains.continues[k] = !alone(head) && !alone(kernel) &&
                            parallel_depth(kernel.root) == depth &&
                            regions.follows(first, k, depth);
      if (chains.continues[k]) continue;
    }
    const auto [begin, end] = regions.connected(first, k);
    std::fill(chains.continues.begin() + static_cast<std::ptrdiff_t>(first),
              chains.continues.begin() + static_cast<std::ptrdiff_t>(std::min(k, begin + 1)),
              false);
    std::fill(chains.continues.begin() + static_cast<std::ptrdiff_t>(end),
              chains.continues.begin() + static_cast<std::ptrdiff_t>(k), false);
    if (end - begin > 1) add_slices(program, regions, begin, end, chains.slices);
    first = k;
  }
  return chains;
}

TaskLoops plan_chains(const Program& program, const Target& target, const ReductionPlans& plans) {
  return ChainPlanner(program, target, plans)();
}

}  // namespace adjit
