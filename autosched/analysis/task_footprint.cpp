// autosched/analysis/task_footprint.cpp -- regions of tasks compared.
#include "autosched/analysis/task_footprint.hpp"

#include <algorithm>

#include "autosched/program/nests.hpp"

namespace adjit::sched {

TaskRegions::TaskRegions(const Program& program)
    : program_(program), producers_(defining_stages(program.graph)) {
  kernel_of_.assign(program.graph.stages.size(), SIZE_MAX);
  for (size_t k = 0; k < program.kernels.size(); ++k)
    for_each_nest(program.kernels[k].root, [&](const Nest& nest) { kernel_of_[nest.stage] = k; });
  for (size_t s : stages_in_place(program)) {
    const TensorId from = program.graph.pool.read_tensor(program.graph.stages[s].bodies[0]);
    kernel_of_[s] = kernel_of_[producers_[from.value]];
    in_place_.push_back(s);
  }
}

bool TaskRegions::follows(size_t first, size_t k, size_t depth,
                          const std::vector<bool>& apart) const {
  if (!same_loops(first, k, depth)) return false;
  bool all = true;
  for_each_nest(program_.kernels[k].root, [&](const Nest& nest) {
    for (TensorId id : tensors_read(program_.graph, program_.graph.stages[nest.stage])) {
      const size_t writer = writer_of(id);
      if (!all || writer == SIZE_MAX || writer < first || writer >= k) continue;
      if (!apart.empty() && apart[writer]) continue;
      const size_t producer = producers_[id.value];
      all = covers(writer, producer, k, read_region(program_, {k, {}}, depth, producer), depth);
    }
  });
  return all;
}

bool TaskRegions::covered(size_t reader, TensorId tensor, TensorId written, size_t depth) const {
  return covers(writer_of(written), producers_[written.value], reader,
                read_region(program_, {reader, {}}, depth, tensor), depth);
}

int64_t TaskRegions::slice(size_t k, TensorId id) const {
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
    if (region.base[d] != Affine::variable(task.variable) || region.spans[d] != task.step) return 0;
    // A longer part ends a row of tasks only where it ends the dimension.
    if (task.step > 1 && (loop < depth || (depth > 1 && shape[d] % task.step != 0))) return 0;
    elements *= task.step;
  }
  if (loop < depth) return 0;
  const int64_t gap = row_gap(program_.graph, id);
  if (gap == 0) return elements;
  // A row is a part of one task.
  if (region.spans.back() < shape.back()) return 0;
  return elements / std::max<int64_t>(shape.back(), 1) * (shape.back() + gap);
}

std::pair<size_t, size_t> TaskRegions::connected(size_t first, size_t end) const {
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

bool TaskRegions::same_loops(size_t a, size_t b, size_t depth) const {
  const Nest &left = program_.kernels[a].root, &right = program_.kernels[b].root;
  if (depth > left.loops.size() || depth > right.loops.size()) return false;
  for (size_t l = 0; l < depth; ++l)
    if (left.loops[l].trips != right.loops[l].trips ||
        left.loops[l].step % right.loops[l].step != 0)
      return false;
  return true;
}

// Whether the writer's task of the same number writes all of a region that a task of `reader`
// reads.
bool TaskRegions::covers(size_t writer, size_t producer, size_t reader, const Region& read,
                         size_t depth) const {
  const Nest& root = program_.kernels[writer].root;
  if (root.loops.size() < depth) return false;  // of a scalar, or of an inner scan
  if (std::ranges::binary_search(in_place_, producer)) return false;  // of another shape
  for (size_t l = 0; l < depth; ++l)  // what a task leaves to the next one is not ready
    if (!is_independent(program_.graph, program_.graph.stages[root.stage], root.loops[l].axis))
      return false;
  const Region written = written_region(writer, producer, depth);
  // The writer's task number in terms of the reader's variables.
  std::vector<Affine> renamed(program_.kernels[writer].variable_count);
  for (size_t l = 0; l < depth; ++l) {
    const Loop& loop = program_.kernels[reader].root.loops[l];
    if (root.loops[l].step % loop.step != 0) return false;
    renamed[root.loops[l].variable] =
        Affine::variable(loop.variable, root.loops[l].step / loop.step);
  }
  const std::vector<int64_t>& shape =
      program_.graph.info(program_.graph.stages[producer].results.front()).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (read.spans[d] == 0) return true;  // nothing
    if (written.base[d] == Affine() && written.spans[d] >= shape[d]) continue;
    const Affine shift = read.base[d] - substitute(written.base[d], renamed);
    if (!shift.is_constant() || shift.constant() < 0 ||
        shift.constant() + read.spans[d] > written.spans[d])
      return false;
  }
  return true;
}

// What one task writes of a stage's results, over the variables of the first loops.
Region TaskRegions::written_region(size_t kernel, size_t producer, size_t depth) const {
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

}  // namespace adjit::sched
