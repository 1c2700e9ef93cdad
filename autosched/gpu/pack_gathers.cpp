// autosched/gpu/pack_gathers.cpp -- layouts in which neighbouring threads read what data names from
// one line.
#include "autosched/gpu/pack_gathers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/fuse_rows.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kLeastInnermost = 4;  // elements that lie side by side: 16 bytes of floats
// A copy is a kernel, and so is what puts results where they were.
constexpr double kLeastLaunches = 4;  // that a kernel takes as long as, for copies to be tried
constexpr size_t kMostCopies = 4;     // for one stage: a warp's gradient has two
constexpr size_t kMostReaders = 4;    // of results that are looked at with a stage

// An operand with one of its dimensions innermost.
struct Layout {
  TensorId operand;
  size_t innermost = 0;
  auto operator<=>(const Layout&) const = default;
};

// What one stage reads and how its results lie.
struct Plan {
  std::set<Layout> copies;
  std::optional<size_t> axis;  // of its results that becomes innermost
  auto operator<=>(const Plan&) const = default;
};

Packing packing_of(const LoweredGraph& graph, const Layout& layout) {
  Packing packing;
  for (size_t d = 0; d < graph.info(layout.operand).shape.size(); ++d)
    if (d != layout.innermost) packing.dimensions.push_back({d, 1, 0});
  packing.dimensions.push_back({layout.innermost, 1, 0});
  return packing;
}

size_t stage_of(const Program& program, TensorId result) {
  return defining_stages(program.graph)[result.value];
}

Program with_plan(Program program, TensorId result, const Plan& plan) {
  for (const Layout& copy : plan.copies) {
    const size_t stage = stage_of(program, result);
    const Packing packing = packing_of(program.graph, copy);
    program = pack(std::move(program), stage, copy.operand, packing);
  }
  if (!plan.axis) return program;
  const size_t stage = stage_of(program, result);
  return transpose_output(std::move(program), stage, *plan.axis);
}

// The axis of a stage that alone, step by step, moves this dimension in all reads of an operand.
std::optional<size_t> axis_of(const LoweredGraph& graph, const Stage& stage, const Layout& layout) {
  const ExprPool& pool = graph.pool;
  std::optional<size_t> axis;
  for (const ExprId read : reads_of(graph, stage)) {
    if (pool.read_tensor(read) != layout.operand) continue;
    const ExprId index = pool.read_index(read)[layout.innermost];
    if (!pool.is(index, Op::Axis)) return std::nullopt;
    if (axis && *axis != pool.axis_number(index)) return std::nullopt;
    axis = pool.axis_number(index);
  }
  return axis;
}

// All operands that an axis moves, so that it moves their innermost dimension.
std::set<Layout> copies_along(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  std::set<Layout> copies;
  for (const TensorId id : tensors_read(graph, stage)) {
    const size_t rank = graph.info(id).shape.size();
    for (size_t d = 0; d + 1 < rank; ++d)
      if (axis_of(graph, stage, {id, d}) == axis) {
        copies.insert({id, d});
        break;
      }
  }
  return copies;
}

std::vector<Plan> plans_of(const LoweredGraph& graph, const Stage& stage, const Layout& layout) {
  std::vector<Plan> plans{{.copies = {layout}, .axis = std::nullopt}};
  const std::optional<size_t> axis = axis_of(graph, stage, layout);
  if (!axis || stage.domain.extents[*axis] < kLeastInnermost) return plans;
  Plan along{.copies = copies_along(graph, stage, *axis), .axis = std::nullopt};
  if (*axis + 1 < stage.domain.output_rank) along.axis = axis;
  if (along != plans.front() && along.copies.size() <= kMostCopies)
    plans.push_back(std::move(along));
  return plans;
}

class GatherPacker {
 public:
  GatherPacker(Program program, const GpuMachine& machine, Choices& choices)
      : program_(std::move(program)),
        machine_(machine),
        choices_(choices),
        from_memory_(leaves_l2(program_, machine)) {}

  Program operator()() {
    for (const TensorId operand : gathered_operands()) {
      check_cancelled();
      pack_operand(operand);
    }
    return std::move(program_);
  }

 private:
  // The fastest plans of an operand's readers, and what they save.
  struct Saving {
    std::vector<std::pair<TensorId, Plan>> plans;  // by a result of each reader
    double microseconds = 0;
  };

  bool may_change(size_t s) const {
    const Stage& stage = program_.graph.stages[s];
    return stage.kind == StageKind::Compute && stage.domain.output_rank > 0 &&
           is_alone(program_, s) && !running_of(program_.graph, stage);
  }

  // What data chooses a place of for neighbouring results.
  std::set<TensorId> gathered_by(size_t s) const {
    std::set<TensorId> found;
    if (!may_change(s)) return found;
    const Stage& stage = program_.graph.stages[s];
    for (const MemoryAccess& read : accesses_of(program_.graph, stage).reads)
      if (read.by_data[stage.domain.output_rank - 1]) found.insert(read.tensor);
    // A search for each of many would take long.
    return found.size() > kMostCopies ? std::set<TensorId>() : found;
  }

  std::vector<TensorId> gathered_operands() const {
    std::vector<TensorId> found;
    for (size_t s = 0; s < program_.graph.stages.size(); ++s)
      for (const TensorId id : gathered_by(s))
        if (std::ranges::find(found, id) == found.end()) found.push_back(id);
    return found;
  }

  // A stage, and some that read what it gives: they may be one kernel with it.
  std::vector<size_t> with_readers(size_t s) const {
    const LoweredGraph& graph = program_.graph;
    std::set<size_t> stages{s};
    for (std::vector<size_t> open{s}; !open.empty();) {
      const size_t at = open.back();
      open.pop_back();
      for (const TensorId id : graph.stages[at].results)
        for (const size_t reader : program_.readers[id.value]) {
          const Stage& stage = graph.stages[reader];
          if (stages.size() > kMostReaders || stage.kind != StageKind::Compute ||
              running_of(graph, stage) || !is_alone(program_, reader))
            continue;
          if (stages.insert(reader).second) open.push_back(reader);
        }
    }
    return {stages.begin(), stages.end()};
  }

  double microseconds_of(Program part) const {
    return microseconds_of_part(fuse_rows(std::move(part), machine_), machine_, from_memory_);
  }

  double microseconds_without(size_t s) {
    const auto [found, is_new] = without_.try_emplace(program_.graph.stages[s].results.front(), 0);
    if (is_new) found->second = microseconds_of(part_of(program_, with_readers(s)));
    return found->second;
  }

  // Of the stage and its readers, its copies left out.
  double microseconds_with(size_t s, const Plan& plan) {
    const std::vector<TensorId> operands = tensors_read(program_.graph, program_.graph.stages[s]);
    Program part = part_of(program_, with_readers(s));
    const TensorId result = part.graph.stages.front().results.front();
    // The part's first inputs are the stage's operands, in their order.
    Plan own{.copies = {}, .axis = plan.axis};
    for (const Layout& copy : plan.copies) {
      const auto place = std::ranges::find(operands, copy.operand) - operands.begin();
      const Layout mine{part.graph.inputs[static_cast<size_t>(place)], copy.innermost};
      own.copies.insert(mine);
      if (!copies_.contains(copy)) {
        const Program packed = pack(part, 0, mine.operand, packing_of(part.graph, mine));
        copies_[copy] = microseconds_of(part_of(packed, std::array{size_t{0}}));
      }
    }
    double microseconds = microseconds_of(with_plan(std::move(part), result, own));
    for (const Layout& copy : plan.copies) microseconds -= copies_.at(copy);
    return microseconds;
  }

  // The readers that have plans with this layout which save more than they cost.
  Saving saving_of(const Layout& layout, const std::vector<size_t>& readers) {
    Saving saving;
    std::set<Layout> copies;
    for (const size_t s : readers) {
      const double before = microseconds_without(s);
      std::optional<Plan> best;
      double most = 0;
      for (Plan& plan : plans_of(program_.graph, program_.graph.stages[s], layout)) {
        double saved = before - microseconds_with(s, plan);
        // What this layout costs is shared.
        for (const Layout& copy : plan.copies)
          if (copy != layout && !copies.contains(copy)) saved -= copies_.at(copy);
        if (saved <= most) continue;
        most = saved;
        best = std::move(plan);
      }
      if (!best) continue;
      saving.microseconds += most;
      copies.insert(best->copies.begin(), best->copies.end());
      saving.plans.emplace_back(program_.graph.stages[s].results.front(), *std::move(best));
    }
    if (!saving.plans.empty()) saving.microseconds -= copies_.at(layout);
    return saving;
  }

  void pack_operand(TensorId operand) {
    std::vector<size_t> readers;
    for (const size_t s : program_.readers[operand.value])
      if (gathered_by(s).contains(operand) &&
          microseconds_without(s) >= kLeastLaunches * machine_.launch_microseconds)
        readers.push_back(s);
    if (readers.empty()) return;
    const std::vector<int64_t>& shape = program_.graph.info(operand).shape;
    Saving best;
    for (size_t d = 0; d + 1 < shape.size(); ++d) {
      if (shape[d] < kLeastInnermost) continue;
      Saving saving = saving_of({operand, d}, readers);
      if (saving.microseconds > best.microseconds) best = std::move(saving);
    }
    if (best.plans.empty() || !is_faster(best)) return;
    for (const auto& [result, plan] : best.plans) {
      const size_t s = stage_of(program_, result);
      if (!choices_.keeps(Decision::Pack, program_.graph, program_.graph.stages[s])) continue;
      without_.erase(result);
      program_ = with_plan(std::move(program_), result, plan);
    }
  }

  // Whether all of these together are, for the stages and what reads their results: each has been
  // looked at by itself. Copies may also be what no longer fits into L2.
  bool is_faster(const Saving& saving) const {
    std::set<size_t> before;
    Program made = program_;
    for (const auto& [result, plan] : saving.plans) {
      const std::vector<size_t> stages = with_readers(stage_of(program_, result));
      before.insert(stages.begin(), stages.end());
      made = with_plan(std::move(made), result, plan);
    }
    const std::vector<size_t> stages(before.begin(), before.end());
    std::vector<size_t> after;
    for (size_t s = 0; s < made.graph.stages.size(); ++s) {
      const TensorId result = made.graph.stages[s].results.front();
      const bool is_new = result.value >= program_.graph.tensors.size();
      if (is_new || std::ranges::any_of(stages, [&](size_t old) {
            return program_.graph.stages[old].results.front() == result;
          }))
        after.push_back(s);
    }
    const auto microseconds = [&](const Program& program, const std::vector<size_t>& of) {
      return microseconds_of_part(fuse_rows(part_of(program, of), machine_), machine_,
                                  leaves_l2(program, machine_));
    };
    return microseconds(made, after) < microseconds(program_, stages);
  }

  Program program_;
  const GpuMachine& machine_;
  Choices& choices_;
  const bool from_memory_;
  std::map<Layout, double> copies_;     // microseconds of what has been looked at
  std::map<TensorId, double> without_;  // of stages as they were, by their first results
};

}  // namespace

Program pack_gathers(Program program, const GpuMachine& machine, Choices& choices) {
  if (choices.requests(Decision::EagerOutputs)) return program;  // memory is short
  return GatherPacker(std::move(program), machine, choices)();
}

}  // namespace adjit::sched
