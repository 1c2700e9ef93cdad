// autosched/gpu/fuse_columns.cpp -- rows computed in the pass that adds up their columns.
#include "autosched/gpu/fuse_columns.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autosched/gpu/columns/column_kernel.hpp"
#include "autosched/gpu/columns/column_plan.hpp"
#include "autosched/gpu/columns/column_results.hpp"
#include "autosched/gpu/columns/companions.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/fuse_rows.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostStages = 32;  // that are looked at for a sum: a layer norm has ten

// Of a program of rows and columns.
double microseconds_of(Program part, const GpuMachine& machine, bool from_memory) {
  return microseconds_of_part(fuse_rows(std::move(part), machine), machine, from_memory);
}

// A sum with its companions, what they need and what reads the sum: a small program on which plans
// are tried.
class Candidate {
 public:
  // `sum` is alone in its kernel.
  Candidate(const Program& program, size_t sum, const GpuMachine& machine)
      : program_(program), machine_(machine), producers_(defining_stages(program.graph)) {
    const std::vector<size_t> companions = companions_of(program, sum);
    all_.sum = program.graph.stages[sum].results.front();
    for (const size_t c : companions)
      all_.companions.push_back(program.graph.stages[c].results.front());
    if (companions.empty()) return;
    taken_.insert(companions.begin(), companions.end());
    taken_.insert(sum);
    add_producers();
    for (TensorId id : program.graph.stages[sum].results)
      for (const size_t reader : program.readers[id.value])
        if (may_take(reader)) taken_.insert(reader);
    make_part();
  }

  bool empty() const { return all_.companions.empty(); }
  const ColumnStages& stages() const { return all_; }
  const Program& part() const { return part_; }
  const ColumnStages& stages_of_part() const { return own_; }

 private:
  bool may_take(size_t stage) const {
    return is_alone(program_, stage) &&
           may_be_computed_by_rows(program_, program_.graph.stages[stage], machine_) &&
           !is_epilogue(program_, producers_, stage);
  }

  // The nearest.
  void add_producers() {
    std::vector<size_t> open(taken_.begin(), taken_.end());
    for (size_t at = 0; at < open.size(); ++at)
      for (TensorId id : tensors_read(program_.graph, program_.graph.stages[open[at]])) {
        const size_t p = producers_[id.value];
        if (p == SIZE_MAX || taken_.size() >= kMostStages || !may_take(p)) continue;
        if (taken_.insert(p).second) open.push_back(p);
      }
  }

  void make_part() {
    const std::vector<size_t> stages(taken_.begin(), taken_.end());
    part_ = part_of(program_, stages);
    all_.may_attach.resize(program_.graph.tensors.size(), false);
    own_.may_attach.resize(part_.graph.tensors.size(), false);
    for (size_t k = 0; k < stages.size(); ++k) {
      const TensorId id = program_.graph.stages[stages[k]].results.front();
      const TensorId own = part_.graph.stages[k].results.front();
      all_.may_attach[id.value] = own_.may_attach[own.value] = true;
      if (id == all_.sum) own_.sum = own;
      if (std::ranges::find(all_.companions, id) != all_.companions.end())
        own_.companions.push_back(own);
    }
  }

  const Program& program_;
  const GpuMachine& machine_;
  std::vector<size_t> producers_;  // per tensor
  std::set<size_t> taken_;
  Program part_;
  ColumnStages all_, own_;  // of the program, of its part
};

class ColumnFuser {
 public:
  ColumnFuser(Program program, const GpuMachine& machine, Choices& choices)
      : program_(std::move(program)), machine_(machine), choices_(choices) {}

  Program operator()() {
    std::vector<TensorId> sums;
    for (const Stage& stage : program_.graph.stages)
      if (may_add_up_columns(program_.graph, stage)) sums.push_back(stage.results.front());
    // Before anything is attached: what is computed of several sums is one stage.
    if (nothing_is_attached())
      for (const TensorId sum : sums)
        if (may_fuse(sum)) {
          const size_t s = stage_of(sum);
          program_ = join_readers(std::move(program_), s);
        }
    for (const TensorId sum : sums) {
      check_cancelled();
      fuse(sum);
    }
    return std::move(program_);
  }

 private:
  size_t stage_of(TensorId id) const { return defining_stages(program_.graph)[id.value]; }

  bool nothing_is_attached() const {
    return std::ranges::all_of(program_.kernels,
                               [](const Kernel& kernel) { return kernel.root.attached.empty(); });
  }

  bool may_fuse(TensorId sum) const {
    const size_t s = stage_of(sum);
    return is_alone(program_, s) &&
           !column_plans(program_.graph, program_.graph.stages[s], machine_).empty() &&
           !companions_of(program_, s).empty();
  }

  // By the plan that is predicted to be the fastest, where one is faster than kernels apart.
  void fuse(TensorId sum) {
    const size_t s = stage_of(sum);
    if (!is_alone(program_, s)) return;
    const std::vector<ColumnPlan> plans =
        column_plans(program_.graph, program_.graph.stages[s], machine_);
    if (plans.empty()) return;
    const Candidate candidate(program_, s, machine_);
    if (candidate.empty()) return;
    const std::optional<ColumnPlan> plan = fastest(candidate, plans);
    if (!plan || !choices_.keeps(Decision::FuseSiblings, program_.graph, program_.graph.stages[s]))
      return;
    if (auto made = column_kernel(program_, candidate.stages(), *plan, machine_))
      program_ = *std::move(made);
  }

  std::optional<ColumnPlan> fastest(const Candidate& candidate,
                                    const std::vector<ColumnPlan>& plans) const {
    const bool from_memory = leaves_l2(program_, machine_);
    std::optional<ColumnPlan> best;
    double least = 0;
    const auto take_faster = [&](const ColumnPlan& plan) {
      auto made = column_kernel(candidate.part(), candidate.stages_of_part(), plan, machine_);
      if (!made) return;
      if (least == 0) least = microseconds_of(candidate.part(), machine_, from_memory);
      const double microseconds = microseconds_of(*std::move(made), machine_, from_memory);
      if (microseconds >= least) return;
      best = plan;
      least = microseconds;
    };
    // A second block computes while the first one waits for its threads: one alone is tried where
    // no plan with two is faster than kernels apart.
    for (const ColumnPlan& plan : plans)
      if (plan.strips > 1 || !best) take_faster(plan);
    if (!best || best->parts == 1) return best;
    ColumnPlan at_once = *best;
    at_once.at_once = true;
    take_faster(at_once);
    return best;
  }

  Program program_;
  const GpuMachine& machine_;
  Choices& choices_;
};

}  // namespace

Program fuse_columns(Program program, const GpuMachine& machine, Choices& choices) {
  return ColumnFuser(std::move(program), machine, choices)();
}

}  // namespace adjit::sched
