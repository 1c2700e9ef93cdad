// autosched/analysis/verify.cpp -- every invariant of program.hpp, checked.
#include <algorithm>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/program/coverage.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::sched {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), kernel_of_(program.graph.stages.size(), SIZE_MAX) {}

  void operator()() {
    if (program_.scopes.size() != program_.graph.tensors.size())
      fail("there must be one scope for each tensor");
    if (const std::string fault = fault_in_tables(program_.graph); !fault.empty()) fail(fault);
    for (size_t k = 0; k < program_.kernels.size(); ++k) check_kernel(k);
    std::string outside;
    if (!locals_stay_inside(program_, &outside))
      fail("'" + outside + "' is read outside the loops it is local to");
    for (size_t s = 0; s < kernel_of_.size(); ++s)
      if (kernel_of_[s] == SIZE_MAX) kernel_of_[s] = kernel_in_place(s);
    check_buffers();
    for (size_t k = 0; k < program_.kernels.size(); ++k)
      for_each_nest(program_.kernels[k].root, [&](const Nest& nest) { check_order(nest, k); });
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::Schedule, "illegal program: " + what);
  }
  const std::string& name(size_t stage) const {
    return stage_name(program_.graph, program_.graph.stages[stage]);
  }
  [[noreturn]] void fail(const Nest& nest, const std::string& what) const {
    fail("nest of '" + name(nest.stage) + "': " + what);
  }

  void check_kernel(size_t k) {
    const Kernel& kernel = program_.kernels[k];
    if (k > 0 && program_.kernels[k - 1].root.stage >= kernel.root.stage)
      fail("kernels are not ordered by the stage of their root");
    const bool scans = kernel.root.stage < kernel_of_.size() &&
                       program_.graph.stages[kernel.root.stage].kind == StageKind::Scan;
    if (scans != (kernel.steps != nullptr))
      fail(kernel.root, "a scan, and nothing else, has a program of its steps");
    if (scans) verify(*kernel.steps);
    variable_used_.assign(kernel.variable_count, false);
    check_nest(kernel.root, k, true);
    if (const auto fault = fault_in_threads(program_, kernel))
      fail("nest of '" + name(fault->stage) + "': " + fault->what);
    std::string uncovered;
    if (!regions_cover_reads(program_, k, &uncovered))
      fail("the region computed of '" + uncovered + "' does not cover what is read of it");
    if (!unread_results_are_whole(program_, kernel, &uncovered))
      fail("the regions computed of '" + uncovered + "' are not each of its points once");
  }

  // Of a stage in no nest: that which makes what it gives another shape.
  size_t kernel_in_place(size_t s) const {
    const Stage& stage = program_.graph.stages[s];
    const ExprPool& pool = program_.graph.pool;
    const bool reads = stage.bodies.size() == 1 && pool.is(stage.bodies[0], Op::Read);
    const size_t producer = reads ? producer_of(pool.read_tensor(stage.bodies[0])) : SIZE_MAX;
    if (producer == SIZE_MAX || kernel_of_[producer] == SIZE_MAX)
      fail("stage '" + name(s) + "' is in no kernel");
    return kernel_of_[producer];
  }

  // Whoever lies in another's buffer may.
  void check_buffers() const {
    const std::vector<size_t> in_place = stages_in_place(program_);
    const BufferSharing sharing(program_.graph, in_place);
    const auto check = [&](size_t s, TensorId from) {
      if (const char* why = sharing.refusal(s, from))
        fail("'" + name(s) + "' lies in the buffer of '" + program_.graph.info(from).name +
             "': " + why);
    };
    for (size_t s : in_place)
      check(s, program_.graph.pool.read_tensor(program_.graph.stages[s].bodies[0]));
    for (size_t s = 0; s < program_.graph.stages.size(); ++s) {
      const Stage& stage = program_.graph.stages[s];
      if (stage.kind != StageKind::Scatter) continue;
      if (stage.initial.valid()) {
        check(s, stage.initial);
      } else if (!program_.graph.distinct.contains(stage_key(stage)) ||
                 stage.combiner.kind != CombinerKind::None) {
        fail("'" + name(s) + "' starts from nothing, and does not write each element once");
      }
    }
  }

  void check_nest(const Nest& nest, size_t kernel, bool root) {
    if (nest.stage >= kernel_of_.size()) fail("a nest of a stage that does not exist");
    if (kernel_of_[nest.stage] != SIZE_MAX) fail(nest, "the stage is in two nests");
    kernel_of_[nest.stage] = kernel;
    const Domain& domain = program_.graph.stages[nest.stage].domain;
    if (nest.axis_base.size() != domain.rank() || nest.spans.size() != domain.rank())
      fail(nest, "bases and spans must be given for every axis");
    check_scope(nest, root);
    if (root) check_ahead(nest, {});
    check_kinds(nest, domain, root);
    for (size_t axis = 0; axis < domain.rank(); ++axis) check_axis(nest, domain, axis, root);
    const Stage& stage = program_.graph.stages[nest.stage];
    if (!order_is_legal(program_.graph, stage, nest))
      fail(nest, "its combiner takes the reduction in order");
    for (size_t a = 0; a < nest.attached.size(); ++a) {
      const Nest::Attached& attached = nest.attached[a];
      if (attached.depth < 1 || attached.depth > tile_begin(nest))
        fail(nest, "a nest is attached at depth " + std::to_string(attached.depth));
      if (a > 0 && std::pair(nest.attached[a - 1].depth, nest.attached[a - 1].nest.stage) >=
                       std::pair(attached.depth, attached.nest.stage))
        fail(nest, "attached nests are not in the order of depths and stages");
      check_ahead(attached.nest, std::span(nest.loops).first(attached.depth));
      check_nest(attached.nest, kernel, false);
      const TensorId result = program_.graph.stages[attached.nest.stage].results.front();
      if (program_.scopes[result.value] != Scope::Local &&
          tasks_sharing(program_, nest, attached.depth) > 1)
        fail(attached.nest, "several tasks store its result");
    }
  }

  // `around`: loops of the nest's host.
  void check_ahead(const Nest& nest, std::span<const Loop> around) const {
    const auto steps = [&](const Loop& loop) {
      return loop.variable == nest.ahead && loop.kind == LoopKind::Serial;
    };
    if (nest.ahead && std::ranges::none_of(nest.loops, steps) &&
        std::ranges::none_of(around, steps))
      fail(nest, "it fetches what a loop reads next that is not around it");
  }

  void check_scope(const Nest& nest, bool root) const {
    for (TensorId id : program_.graph.stages[nest.stage].results) {
      const Scope scope = program_.scopes[id.value];
      if (scope == Scope::None || ((root || nest.streamed) && scope == Scope::Local))
        fail(nest, "its result has the scope " + std::string(name_of(scope)));
    }
    for (TensorId id : program_.graph.outputs)
      if (program_.scopes[id.value] != Scope::Argument) fail("an output is not an argument");
  }

  void check_kinds(const Nest& nest, const Domain& domain, bool root) {
    static constexpr int kRank[] = {1, 0, 2, 3, 1};  // by LoopKind
    for (size_t l = 0; l < nest.loops.size(); ++l) {
      const Loop& loop = nest.loops[l];
      if (loop.axis >= domain.rank()) fail(nest, "a loop over an axis that does not exist");
      if (loop.step < 1 || loop.trips < 0) fail(nest, "a loop without a positive step");
      if (loop.variable >= variable_used_.size() || variable_used_[loop.variable])
        fail(nest, "two loops share a variable, or it is out of range");
      variable_used_[loop.variable] = true;
      const Stage& stage = program_.graph.stages[nest.stage];
      const bool tasks = is_independent(program_.graph, stage, loop.axis) ||
                         goes_on_in_memory(program_.graph, stage, loop.axis);
      if (loop.kind == LoopKind::Parallel && (!root || !tasks))
        fail(nest, "only a kernel's root runs in parallel, over output axes and partial results");
      if (l == 0) continue;
      const Loop& before = nest.loops[l - 1];
      const int rank = kRank[static_cast<size_t>(loop.kind)];
      const int rank_before = kRank[static_cast<size_t>(before.kind)];
      if (rank < rank_before || (rank == 3 && rank_before == 3))
        fail(nest,
             "loops must be parallel, then serial or of threads, then unrolled, then one vector "
             "loop");
    }
  }

  void check_axis(const Nest& nest, const Domain& domain, size_t axis, bool root) const {
    const std::string what = "axis " + axis_names(program_.graph.stages[nest.stage]).at(axis);
    if (root ? nest.spans[axis] != domain.extents[axis] : nest.spans[axis] > domain.extents[axis])
      fail(nest, what + " has the wrong span");
    if ((root || axis >= domain.output_rank) &&
        (nest.axis_base[axis] != Affine() || nest.spans[axis] != domain.extents[axis]))
      fail(nest, what + " must be covered whole");
    const std::vector<size_t> loops = loops_over(nest, axis);
    if (loops.empty()) {
      if (nest.spans[axis] != 1) fail(nest, what + " has no loop");
      return;
    }
    for (size_t k = 0; k < loops.size(); ++k) {
      const Loop& loop = nest.loops[loops[k]];
      const int64_t inner_step = k + 1 < loops.size() ? nest.loops[loops[k + 1]].step : 1;
      if (k + 1 == loops.size() && loop.step != 1) fail(nest, what + " has no loop of step 1");
      if (k > 0 && loop.step * loop.trips != nest.loops[loops[k - 1]].step)
        fail(nest, what + ": steps and trips do not multiply up");
      if (loop.step % inner_step != 0) fail(nest, what + ": a step is no multiple of the next");
    }
    const Loop& first = nest.loops[loops[0]];
    const bool spare_lanes = first.kind == LoopKind::Vector && loops.size() == 1;
    const bool spare_copies = loops.size() > 1 || first.trips == nest.spans[axis];
    if (spare_lanes ? first.trips < nest.spans[axis]
                    : (first.trips != ceil_div(nest.spans[axis], first.step) || !spare_copies))
      fail(nest, what + ": the loops do not cover it");
  }

  // What a nest reads is an argument, comes from an earlier kernel, or from an earlier stage of
  // this one.
  void check_order(const Nest& nest, size_t kernel) const {
    for (TensorId tensor : tensors_read(program_.graph, program_.graph.stages[nest.stage])) {
      const std::string& what = program_.graph.info(tensor).name;
      if (program_.scopes[tensor.value] == Scope::None)
        fail(nest, "it reads '" + what + "', which is inlined away");
      const size_t producer = producer_of(tensor);
      if (producer == SIZE_MAX) continue;
      const bool local = program_.scopes[tensor.value] == Scope::Local;
      const size_t at = kernel_of_[producer];
      if (at > kernel || (at == kernel && producer >= nest.stage) || (local && at != kernel))
        fail(nest, "it reads '" + what + "' before that is computed");
    }
  }

  size_t producer_of(TensorId tensor) const {
    if (producers_.empty()) producers_ = defining_stages(program_.graph);
    return producers_[tensor.value];
  }

  const Program& program_;
  std::vector<size_t> kernel_of_;  // per stage
  std::vector<bool> variable_used_;
  mutable std::vector<size_t> producers_;
};

}  // namespace

void verify(const Program& program) {
  Verifier verifier(program);
  verifier();
}

}  // namespace adjit::sched
