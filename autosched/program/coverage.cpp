// autosched/program/coverage.cpp -- regions of a host's iterations as digits of a mixed radix.
//
// A dimension is covered once where the origin of the region is a sum of axes times strides, and
// each stride is the one before it times the trips along that one's axis, the first the region's
// own width.
#include "autosched/program/coverage.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// What the loops [0, depth) of a host do with one of its axes.
struct OuterAxis {
  Affine origin;      // of an iteration, over the variables of loops with several trips
  int64_t width = 1;  // points of the axis in an iteration
  int64_t trips = 1;  // of all these loops together
  bool whole = true;  // each iteration has `width` points
};

// An axis of the host in the origin of a region.
struct Digit {
  size_t axis = 0;
  int64_t stride = 0;  // from one iteration to the next
};

class Coverage {
 public:
  Coverage(const Nest& host, size_t depth) : host_(host), depth_(depth) {
    for (size_t axis = 0; axis < host.axis_base.size(); ++axis) {
      const int64_t width = std::max<int64_t>(width_below(host, axis, depth), 1);
      const int64_t span = host.spans[axis];
      axes_.push_back({without_fixed(origin_above(host, axis, depth)), width, ceil_div(span, width),
                       span % width == 0});
    }
    followed_.assign(axes_.size(), false);
  }

  // To be asked for each dimension: an axis that moves two of them covers neither.
  bool covers(const Affine& base, int64_t span, int64_t extent) {
    const Affine moving = without_fixed(base);
    if (moving == Affine() && span == extent) return true;
    std::optional<std::vector<Digit>> digits = digits_of(moving);
    if (!digits || digits->empty()) return false;
    std::ranges::sort(*digits, {}, &Digit::stride);
    int64_t next = span;  // the first point that the digits so far do not reach
    for (size_t k = 0; k < digits->size(); ++k) {
      const auto& [axis, stride] = (*digits)[k];
      const OuterAxis& outer = axes_[axis];
      if (stride != next || followed_[axis] || (k + 1 < digits->size() && !outer.whole))
        return false;
      followed_[axis] = true;
      next = checked_mul(stride, outer.trips);
    }
    return next >= extent;
  }

  // Whether iterations that differ compute different points.
  bool follows_all() const {
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (!followed_[axis] && axes_[axis].trips != 1) return false;
    return true;
  }

 private:
  Affine without_fixed(Affine form) const {
    for (size_t l = 0; l < depth_; ++l)
      if (host_.loops[l].trips == 1) form.set_coefficient(host_.loops[l].variable, 0);
    return form;
  }

  // nullopt: the form is another one.
  std::optional<std::vector<Digit>> digits_of(Affine form) const {
    std::vector<Digit> digits;
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      const OuterAxis& outer = axes_[axis];
      int64_t scale = 0;
      for (size_t l = 0; l < depth_ && scale == 0; ++l)
        if (host_.loops[l].axis == axis) scale = form.coefficient(host_.loops[l].variable);
      if (scale == 0) continue;
      form -= outer.origin * scale;
      digits.push_back({axis, checked_mul(scale, outer.width)});
    }
    return form == Affine() ? std::optional(std::move(digits)) : std::nullopt;
  }

  const Nest& host_;
  const size_t depth_;
  std::vector<OuterAxis> axes_;
  std::vector<bool> followed_;
};

// The largest value of a form over a stage's axes in one iteration of the host's loops [0, depth);
// less where an axis' last iteration may be shorter: code may leave that one earlier.
Affine largest_inside(const Nest& host, size_t depth, const Affine& form) {
  Affine largest(form.constant());
  for (size_t axis = 0; axis < form.size(); ++axis) {
    const int64_t scale = form.coefficient(axis);
    if (scale == 0) continue;
    largest += origin_above(host, axis, depth) * scale;
    const int64_t width = width_below(host, axis, depth);
    if (scale > 0 && host.spans[axis] % width == 0) largest += (width - 1) * scale;
  }
  return largest;
}

bool is_constant_from_zero(const Affine& form) {
  return form.is_constant() && form.constant() >= 0;
}

}  // namespace

bool covers_exactly_once(const Program& program, const Nest& host, size_t depth, size_t stage,
                         const Region& region) {
  const std::vector<int64_t>& shape =
      program.graph.info(program.graph.stages[stage].results.front()).shape;
  // A host without points runs none of its loops, nor what is attached to them.
  const size_t host_outputs = program.graph.stages[host.stage].domain.output_rank;
  for (size_t axis = 0; axis < host_outputs; ++axis)
    if (host.spans[axis] == 0) return false;
  Coverage coverage(host, depth);
  for (size_t d = 0; d < shape.size(); ++d)
    if (!coverage.covers(region.base[d], region.spans[d], shape[d])) return false;
  return coverage.follows_all();
}

// Rows of the host's domain may say no more than where the results end.
bool comes_to_all_points(const Program& program, const Nest& host, size_t depth, size_t stage,
                         const Region& region) {
  const std::vector<int64_t>& shape =
      program.graph.info(program.graph.stages[stage].results.front()).shape;
  const Domain& domain = program.graph.stages[host.stage].domain;
  const bool in_reduction =
      std::any_of(host.loops.begin(), host.loops.begin() + static_cast<long>(depth),
                  [&](const Loop& loop) { return loop.axis >= domain.output_rank; });
  if (!in_reduction || domain.is_box()) return true;
  if (!domain.equalities.empty()) return false;
  return std::ranges::all_of(domain.inequalities, [&](const Affine& row) {
    if (row.size() > domain.rank()) return false;  // it divides
    const Affine largest = largest_inside(host, depth, row);
    if (is_constant_from_zero(largest)) return true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Affine& first = region.base[d];
      if (is_constant_from_zero(largest - (Affine(shape[d] - 1) - first)) ||
          is_constant_from_zero(largest - (first + Affine(region.spans[d] - 1))))
        return true;
    }
    return false;
  });
}

bool unread_results_are_whole(const Program& program, const Kernel& kernel, std::string* which) {
  std::vector<size_t> inside;
  for_each_nest(kernel.root, [&](const Nest& nest) { inside.push_back(nest.stage); });
  const auto is_read = [&](TensorId id) {
    return std::ranges::any_of(program.readers[id.value], [&](size_t reader) {
      return std::ranges::find(inside, reader) != inside.end();
    });
  };
  for (const auto& [depth, nest] : kernel.root.attached) {
    const Stage& stage = program.graph.stages[nest.stage];
    if (program.scopes[stage.results.front().value] == Scope::Local ||
        std::ranges::any_of(stage.results, is_read))
      continue;
    const Region region = placed_region(program, nest);
    if (covers_exactly_once(program, kernel.root, depth, nest.stage, region) &&
        comes_to_all_points(program, kernel.root, depth, nest.stage, region))
      continue;
    if (which) *which = stage_name(program.graph, stage);
    return false;
  }
  return true;
}

}  // namespace adjit::sched
