// jit/engine/plan/verify_plan.cpp -- the plan run on names of values, then its threads.
#include "jit/engine/plan/verify_plan.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "autosched/analysis/task_footprint.hpp"
#include "autosched/program/nests.hpp"
#include "jit/engine/plan/arrangement.hpp"
#include "jit/engine/plan/plan_memory.hpp"
#include "runtime/graph/interpret/evaluator.hpp"

namespace adjit::engine {
namespace {

constexpr size_t kWorkspace = 0, kSlot = 1, kFirstArgument = 2;  // address spaces
constexpr Version kConstant = UINT64_MAX;

[[noreturn]] void fault(const std::string& what) {
  throw Error(ErrorCode::Internal, "illegal plan: " + what);
}

// A kernel of the plan: where it stands in which program.
struct PlacedKernel {
  const Program* program = nullptr;
  size_t kernel = 0;
  const Nest& root() const { return program->kernels[kernel].root; }
  const std::string& name() const {
    return stage_name(program->graph, program->graph.stages[root().stage]);
  }
};

// In the order of kernel_list.hpp; recursive over scans within scans.
void number_kernels(const Program& program, std::vector<PlacedKernel>& kernels) {
  for (size_t k = 0; k < program.kernels.size(); ++k)
    if (program.kernels[k].steps) {
      number_kernels(*program.kernels[k].steps, kernels);
    } else {
      kernels.push_back({&program, k});
    }
}

// What lies in place of a stage's result, checked by its meaning: element k of the result is
// element k of the tensor, for the first, the last and many between.
TensorId source_of(const Graph& graph, const Stage& stage) {
  const std::string& name = stage_name(graph, stage);
  const ExprPool& pool = graph.pool;
  if (stage.bodies.size() != 1 || !pool.is(stage.bodies[0], Op::Read) ||
      pool.read_predicate(stage.bodies[0]).valid())
    fault("'" + name + "' is in no kernel");
  const TensorId from = pool.read_tensor(stage.bodies[0]);
  const std::vector<ExprId> index(pool.read_index(stage.bodies[0]).begin(),
                                  pool.read_index(stage.bodies[0]).end());
  for (ExprId id : reachable(pool, index))
    if (pool.is(id, Op::Read)) fault("'" + name + "' lies in place by data");
  constexpr int64_t kMostPoints = 4096;
  const int64_t points = graph.info(stage.results[0]).element_count();
  const int64_t samples = std::min(points, kMostPoints);
  const std::vector<int64_t>& shape = graph.info(from).shape;
  PointEvaluator evaluator(graph, index, {});
  for (int64_t sample = 0; sample < samples; ++sample) {
    const int64_t point = samples < 2 ? 0
                                      : (points - 1) / (samples - 1) * sample +
                                            (points - 1) % (samples - 1) * sample / (samples - 1);
    std::vector<int64_t> at(stage.domain.rank());
    int64_t rest = point;
    for (size_t a = at.size(); a-- > 0; rest /= stage.domain.extents[a])
      at[a] = rest % stage.domain.extents[a];
    evaluator.move_to(at);
    int64_t element = 0;
    for (size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + evaluator.value(d).i;
    if (element != point)
      fault("element " + std::to_string(point) + " of '" + name + "' is element " +
            std::to_string(element) + " of '" + graph.info(from).name +
            "', in whose buffer it lies");
  }
  return from;
}

// Whether a scatter needs what it starts from for more than that.
bool reads_in_points(const Graph& graph, const Stage& stage) {
  std::vector<ExprId> roots = stage.bodies;
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  return std::ranges::any_of(reachable(graph.pool, roots), [&](ExprId id) {
    return graph.pool.is(id, Op::Read) && graph.pool.read_tensor(id) == stage.initial;
  });
}

// Every step of a short scan; of a long one the first four and the last, in the same buffers.
int64_t next_step(int64_t n, int64_t trips) {
  constexpr int64_t kFirst = 4;
  if (n + 1 < kFirst || trips <= 2 * kFirst) return n + 1;
  if (n + 1 > kFirst) return n + 1;
  return (trips - 1) % 2 == 0 ? trips - 1 : trips - 2;
}

class PlanRun {
 public:
  PlanRun(const ExecutionPlan& plan, const Program& program, std::span<const EmittedKernel> emitted)
      : plan_(plan), program_(program), emitted_(emitted), moving_(plan.buffers.size()) {
    number_kernels(program, kernels_);
    if (kernels_.size() != plan.kernels.size() || kernels_.size() != emitted.size())
      fault("it has another number of kernels than the program");
    runs_.assign(kernels_.size(), 0);
  }

  void operator()() {
    const LoweredGraph& graph = program_.graph;
    Values values(program_);
    for (size_t k = 0; k < graph.inputs.size(); ++k) {
      memory_.write(argument(Buffer::Kind::Input, k), values.now[graph.inputs[k].value] = made());
      names_[latest_] = "an input";
    }
    run(program_, plan_.steps, {}, values);
    const size_t results = plan_.outputs.size();
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      const PlanRange where =
          argument(k < results ? Buffer::Kind::Output : Buffer::Kind::Check,
                   k < results ? k : k - results, bytes_of(graph, graph.outputs[k]));
      expect(where, values.of(graph.outputs[k]), "the caller", graph, graph.outputs[k]);
    }
    for (size_t k = 0; k < runs_.size(); ++k)
      if (runs_[k] == 0 && !skipped_) fault("kernel of '" + kernels_[k].name() + "' never runs");
  }

 private:
  // The versions of a program's tensors. In place: those that lie in another's buffer.
  struct Values {
    explicit Values(const Program& program)
        : now(program.graph.tensors.size(), 0), source(program.graph.tensors.size()) {
      for (uint32_t t = 0; t < source.size(); ++t) source[t] = t;
      for (size_t s : stages_in_place(program)) {
        const Stage& stage = program.graph.stages[s];
        source[stage.results[0].value] = source_of(program.graph, stage).value;
      }
      for (const ConstantData& c : program.graph.constants) now[c.tensor.value] = kConstant;
    }
    Version of(TensorId id) const { return now[source[id.value]]; }
    std::vector<Version> now;
    std::vector<uint32_t> source;  // per tensor: the one with the same elements that is computed
  };

  // What a kernel of one step did: for the threads.
  struct Use {
    PlanRange range;
    Version version = 0;
    bool writes = false;
  };
  struct Step {
    size_t head = 0;  // the step that begins its chain
    std::vector<size_t> waits;
    std::vector<Use> uses;
  };

  Version made() { return ++latest_; }

  // Every argument has an address space: that of the first buffer that names it.
  PlanRange argument(Buffer::Kind kind, size_t number, int64_t bytes = 1) const {
    for (size_t b = 0; b < plan_.buffers.size(); ++b)
      if (plan_.buffers[b].kind == kind && plan_.buffers[b].at == static_cast<int64_t>(number))
        return {kFirstArgument + b, 0, bytes};
    fault("an argument has no buffer");
  }

  // Where a tensor lies that a kernel finds in this buffer. Of what nobody writes, and whose layout
  // is the caller's, one byte stands for all.
  PlanRange range_of(size_t buffer, int64_t bytes) const {
    const Buffer& b = plan_.buffers[buffer];
    switch (b.kind) {
      case Buffer::Kind::Workspace: return {kWorkspace, b.at, b.at + bytes};
      case Buffer::Kind::Slot: return {kSlot, b.at, b.at + b.slice};
      case Buffer::Kind::Output:
      case Buffer::Kind::Check:
        return {argument(b.kind, static_cast<size_t>(b.at)).space, 0, bytes};
      case Buffer::Kind::Step: {
        PlanRange range = moving_[buffer];
        if (is_fixed(range.space)) return range;
        return {range.space, range.begin, range.begin + bytes};
      }
      case Buffer::Kind::Input: return argument(b.kind, static_cast<size_t>(b.at));
      case Buffer::Kind::Constant: break;
    }
    return {kFirstArgument + buffer, 0, 1};
  }
  bool is_fixed(size_t space) const {
    if (space < kFirstArgument) return false;
    const Buffer::Kind kind = plan_.buffers[space - kFirstArgument].kind;
    return kind == Buffer::Kind::Input || kind == Buffer::Kind::Constant;
  }

  void expect(const PlanRange& where, Version version, const std::string& reader,
              const Graph& graph, TensorId tensor) const {
    if (version == kConstant && is_fixed(where.space)) return;
    if (version == 0)
      fault(reader + " reads '" + graph.info(tensor).name + "', which nobody has computed");
    if (const auto other = memory_.other_than(where, version))
      fault(reader + " reads '" + graph.info(tensor).name + "', but " +
            (*other == 0 ? std::string("part of it was never written there")
                         : (*other == kConstant ? std::string("a constant") : names_.at(*other)) +
                               " was written over it"));
  }

  // The buffer of a tensor in a kernel's table.
  size_t buffer_in(size_t number, TensorId tensor) const {
    const std::vector<TensorId>& tensors = emitted_[number].tensors;
    const auto found = std::ranges::find(tensors, tensor);
    if (found == tensors.end())
      fault("kernel of '" + kernels_[number].name() + "' has no address of '" +
            kernels_[number].program->graph.info(tensor).name + "'");
    return plan_.kernels[number].tensors[static_cast<size_t>(found - tensors.begin())];
  }

  void run_kernel(size_t number, Values& values, Step& step) {
    const PlacedKernel& placed = kernels_[number];
    const Program& program = *placed.program;
    const LoweredGraph& graph = program.graph;
    ++runs_[number];
    std::vector<TensorId> reads, writes, on_top;
    for_each_nest(placed.root(), [&](const Nest& nest) {
      const Stage& stage = graph.stages[nest.stage];
      for (TensorId id : tensors_read(graph, stage)) reads.push_back(id);
      for (TensorId id : stage.results)
        if (program.scopes[id.value] != Scope::Local) writes.push_back(id);
      if (stage.kind == StageKind::Scatter && stage.initial.valid() &&
          !reads_in_points(graph, stage))
        on_top.push_back(stage.initial);
    });
    const std::string name = "kernel of '" + placed.name() + "'";
    const auto use = [&](TensorId id, bool writing) {
      const size_t buffer = buffer_in(number, id);
      const PlanRange where = range_of(buffer, bytes_of(graph, id));
      if (writing && is_fixed(where.space)) fault(name + " writes what is not ours");
      step.uses.push_back({where, values.of(id), writing});
      return where;
    };
    std::vector<PlanRange> kept;  // must stay until the kernel is done
    std::ranges::sort(reads);
    reads.erase(std::ranges::unique(reads).begin(), reads.end());
    for (TensorId id : reads) {
      if (program.scopes[id.value] == Scope::Local || std::ranges::find(writes, id) != writes.end())
        continue;  // made by the kernel itself: verify() says that this is in order
      const PlanRange where = use(id, false);
      expect(where, values.of(id), name, graph, id);
      if (std::ranges::find(on_top, id) == on_top.end()) kept.push_back(where);
    }
    for (size_t w = 0; w < writes.size(); ++w) {
      const Version version = values.now[writes[w].value] = made();
      names_[version] = "'" + graph.info(writes[w]).name + "'";
      const PlanRange where = use(writes[w], true);
      for (const PlanRange& other : kept)
        if (where.meets(other))
          fault(name + " writes '" + graph.info(writes[w]).name + "' over what it reads");
      memory_.write(where, version);
      kept.push_back(where);
    }
  }

  // Steps of a program, all of them or those before a scan's loop.
  // `apart`: per kernel, whether it runs before the others; may be empty.
  void run(const Program& program, const std::vector<StepPlan>& steps,
           const std::vector<bool>& apart, Values& values) {
    std::vector<size_t> scans;
    for (size_t k = 0; k < program.kernels.size(); ++k)
      if (program.kernels[k].steps) scans.push_back(k);
    size_t next = 0;
    std::vector<Step> done;
    for (size_t s = 0; s < steps.size(); ++s) {
      Step& step = done.emplace_back();
      step.head = s;
      step.waits = steps[s].waits;
      if (steps[s].scan) {
        check_threads(done, steps, s);
        run_scan(program, scans.at(next++), plan_.scans.at(steps[s].number), values);
        continue;
      }
      const bool chained = plan_.kernels[steps[s].number].chained && s > 0 && !steps[s - 1].scan;
      if (chained) step.head = done[s - 1].head;
      if (!chained) memory_.forget(kSlot);  // another thread's, from here on
      run_kernel(steps[s].number, values, step);
      if (chained) check_tasks(program, steps[step.head].number, steps[s].number, apart);
    }
    check_threads(done, steps, steps.size());
  }

  // Tasks of a chain's kernel read of what those before it leave only what tasks of their own
  // number do.
  void check_tasks(const Program& program, size_t head, size_t number,
                   const std::vector<bool>& apart) {
    const size_t depth = parallel_depth(kernels_[head].root());
    const auto found = regions_.try_emplace(&program, program).first;
    if (plan_.kernels[head].tasks != plan_.kernels[number].tasks ||
        !found->second.follows(kernels_[head].kernel, kernels_[number].kernel, depth, apart))
      fault("tasks of '" + kernels_[number].name() + "' read what other tasks of the chain of '" +
            kernels_[head].name() + "' write");
  }

  // The kernels since the scan before step `end`: whoever meets another in memory waits for it.
  void check_threads(const std::vector<Step>& done, const std::vector<StepPlan>& steps,
                     size_t end) const {
    size_t first = end;
    while (first > 0 && !steps[first - 1].scan) --first;
    std::vector<std::vector<bool>> behind(end - first);  // per step: those that it waits for
    const auto name = [&](size_t s) { return "'" + kernels_[steps[s].number].name() + "'"; };
    for (size_t s = first; s < end; ++s) {
      std::vector<bool>& mine = behind[s - first];
      mine.assign(end - first, false);
      for (size_t w : done[s].waits) {
        if (w < first || w >= s || done[s].head != s)
          fault(name(s) + " waits for what is not before it");
        mine[w - first] = true;
        for (size_t k = 0; k < w - first; ++k)
          if (behind[w - first][k]) mine[k] = true;
      }
      const size_t head = done[s].head;
      for (size_t before = first; before < s; ++before) {
        const size_t other = done[before].head;
        const bool chain = other == head;
        if (!chain && behind[head - first][other - first]) continue;
        for (const Use& a : done[before].uses)
          for (const Use& b : done[s].uses) {
            if (!(a.writes || b.writes) || !a.range.meets(b.range)) continue;
            if (a.range.space == kSlot) continue;           // a thread's own
            if (chain && a.version == b.version) continue;  // what tasks pass to themselves
            fault("kernels of " + name(before) + " and " + name(s) +
                  " meet in memory, and neither waits for the other");
          }
      }
    }
  }

  void run_scan(const Program& outer, size_t kernel, const ScanPlan& scan, Values& values) {
    const Program& program = *outer.kernels[kernel].steps;
    const LoweredGraph& body = program.graph;
    const Stage& stage = outer.graph.stages[outer.kernels[kernel].root.stage];
    const Scan& what = *stage.scan;
    Values inside(program);
    for (size_t k = 0; k < body.inputs.size(); ++k)
      inside.now[body.inputs[k].value] = values.of(stage.operands[k]);
    std::vector<bool> apart(program.kernels.size(), false);
    for (const StepPlan& step : scan.before) apart[kernels_[step.number].kernel] = true;
    run(program, scan.before, {}, inside);
    std::vector<std::pair<PlanRange, Version>> stacked;  // slices that must stay
    std::vector<Version> carried(what.carries, 0);
    const int64_t trips = what.conditional ? 4 : what.trips;
    for (int64_t n = 0; n < trips; n = next_step(n, trips)) {
      place_step(scan, what, n, trips);
      for (size_t c = 0; c < what.carries; ++c)
        if (n > 0) inside.now[body.inputs[c].value] = carried[c];
      run(program, scan.steps, apart, inside);
      for (size_t c = 0; c < what.carries; ++c) carried[c] = inside.of(body.outputs[c]);
      for (size_t k = 0; k < what.stacked; ++k) {
        const TensorId id = body.outputs[what.carries + k];
        const ScanPlan::Slice& slice = scan.slices[what.scanned + k];
        const PlanRange where = range_of(slice.buffer, bytes_of(body, id));
        expect(where, inside.of(id), "a scan", body, id);
        stacked.emplace_back(where, inside.of(id));
      }
    }
    finish_scan(outer, stage, scan, carried, stacked, values);
  }

  void place_step(const ScanPlan& scan, const Scan& what, int64_t n, int64_t trips) {
    const int64_t t = what.reverse ? trips - 1 - n : n;
    for (const ScanPlan::Slice& slice : scan.slices) {
      PlanRange range = range_of(slice.of, 1);
      if (!is_fixed(range.space)) range.begin += t * slice.bytes;
      moving_[slice.buffer] = range;
    }
    for (const ScanPlan::Carry& carry : scan.carries) {
      const auto spare = [&](int64_t step) {
        const int64_t at = carry.spares[static_cast<size_t>(step % 2)];
        return PlanRange{kWorkspace, at, at + 1};
      };
      moving_[carry.in] = n == 0 ? range_of(carry.start, 1) : spare(n - 1);
      moving_[carry.out] =
          n + 1 == trips && !what.conditional ? range_of(carry.final, 1) : spare(n);
    }
  }

  // The scan's results are there, and what earlier steps stacked still is.
  void finish_scan(const Program& outer, const Stage& stage, const ScanPlan& scan,
                   const std::vector<Version>& carried,
                   const std::vector<std::pair<PlanRange, Version>>& stacked, Values& values) {
    const Scan& what = *stage.scan;
    const LoweredGraph& graph = outer.graph;
    for (size_t c = 0; c < what.carries; ++c) {
      const TensorId id = stage.results[c];
      const int64_t bytes = bytes_of(graph, id);
      expect(range_of(scan.carries[c].out, bytes), carried[c], "a scan", graph, id);
      values.now[id.value] = carried[c];
      if (!what.conditional) continue;  // else copied
      memory_.write(range_of(scan.carries[c].final, bytes), values.now[id.value] = made());
      names_[latest_] = "a scan's result";
    }
    for (const auto& [where, version] : stacked)
      if (memory_.other_than(where, version)) fault("a step writes over what another has stacked");
    for (size_t k = 0; k < what.stacked; ++k) {
      const TensorId id = stage.results[what.carries + k];
      const ScanPlan::Slice& slice = scan.slices[what.scanned + k];
      const int64_t bytes = bytes_of(graph, id);
      if (slice.bytes * what.trips != bytes) fault("slices do not make up what is stacked");
      memory_.write(range_of(slice.of, bytes), values.now[id.value] = made());
      names_[latest_] = "what a scan stacks";
    }
    skipped_ |= what.trips == 0;
  }

  const ExecutionPlan& plan_;
  const Program& program_;
  std::span<const EmittedKernel> emitted_;
  std::vector<PlacedKernel> kernels_;
  std::vector<int> runs_;          // per kernel
  bool skipped_ = false;           // a scan without steps
  std::vector<PlanRange> moving_;  // per Step buffer
  PlanMemory memory_;
  Version latest_ = 0;
  std::unordered_map<Version, std::string> names_;
  std::unordered_map<const Program*, TaskRegions> regions_;
};

}  // namespace

void verify_plan(const ExecutionPlan& plan, const Program& program,
                 std::span<const EmittedKernel> kernels) {
  PlanRun(plan, program, kernels)();
}

}  // namespace adjit::engine
