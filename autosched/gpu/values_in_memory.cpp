// autosched/gpu/values_in_memory.cpp -- which values kernels should compute again, since storing
// and reading them takes longer.
#include "autosched/gpu/values_in_memory.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/gpu/products/contraction.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// Whether memory takes longer for so many bytes than a launch does.
bool is_worth_a_look(double bytes, const GpuMachine& machine) {
  return bytes >= 1e3 * machine.memory_gb * machine.launch_microseconds;
}

double bytes_of(const LoweredGraph& graph, TensorId id) {
  const TensorInfo& info = graph.info(id);
  return static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
}

// How often a stage computes each value of a tensor, at most, that it computes instead of reading
// it: blocks of a product, once for all results of a tile's row or column (operand_copy.hpp).
double evaluations_by(const LoweredGraph& graph, const Stage& user, TensorId id) {
  double reads = 0;
  for (const ExprId read : reads_of(graph, user)) reads += graph.pool.read_tensor(read) == id;
  const double all = reads * box_points(user.domain);
  const std::optional<Contraction> contraction = contraction_of(graph, user);
  if (reads != 1 || !contraction || !arrangement_of(graph, user, *contraction, true)) return all;
  const std::vector<diff::Factor> factors = factors_of(graph.pool, user.bodies.front()).factors;
  const bool first = std::ranges::any_of(contraction->first.factors, [&](size_t f) {
    return std::ranges::any_of(reachable(graph.pool, std::array{factors[f].expr}), [&](ExprId e) {
      return graph.pool.is(e, Op::Read) && graph.pool.read_tensor(e) == id;
    });
  });
  const double terms = terms_of_value(user.domain, *contraction, first);
  // Beside fewer, computing the values takes longer than their products (a guess).
  constexpr double kLeastTerms = 8;
  return terms < kLeastTerms ? all : all / terms;
}

// Whether those who read a result need each of its values once at most, and nobody else does.
bool is_read_once(const Program& program, TensorId id) {
  const LoweredGraph& graph = program.graph;
  if (program.scopes[id.value] != Scope::Workspace) return false;
  const auto points = static_cast<double>(graph.info(id).element_count());
  return std::ranges::all_of(program.readers[id.value], [&](size_t reader) {
    const Stage& user = graph.stages[reader];
    return user.kind == StageKind::Compute && !running_of(graph, user) &&
           evaluations_by(graph, user, id) <= points;
  });
}

// Bytes that a stage reads of each tensor.
std::map<uint32_t, double> bytes_read(const LoweredGraph& graph, const Stage& stage) {
  std::map<uint32_t, double> all;
  for (const MemoryAccess& read : accesses_of(graph, stage).reads) {
    const auto each = static_cast<double>(size_of(graph.info(read.tensor).dtype));
    double& bytes = all[read.tensor.value];
    bytes = std::max(bytes, each * elements_touched(read, stage.domain));
  }
  return all;
}

// Operations of all threads in the time that memory takes for a byte.
double operations_of_byte(const GpuMachine& machine) {
  return operations_of_microsecond(machine) / (1e3 * machine.memory_gb);
}

// Of all values of a stage: operations, bytes that are read for them, and nodes of its body, all of
// them with what is computed again for it.
struct Cost {
  double operations = 0, bytes = 0;
  size_t nodes = 0;
};

class Values {
 public:
  Values(const Program& program, const GpuMachine& machine)
      : program_(program),
        graph_(program.graph),
        machine_(machine),
        meter_(program.graph.pool),
        kernel_of_(program.graph.stages.size(), SIZE_MAX) {
    for (size_t k = 0; k < program.kernels.size(); ++k)
      for_each_nest(program.kernels[k].root, [&](const Nest& nest) { kernel_of_[nest.stage] = k; });
  }

  bool are_worth_recomputing(size_t s) {
    const Stage& stage = graph_.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
        stage.results.size() != 1 || kernel_of_[s] == SIZE_MAX ||
        !is_read_once(program_, stage.results[0]))
      return false;
    const double stored = bytes_of(graph_, stage.results[0]);
    const auto count = static_cast<double>(other_kernels(s));
    // With a kernel of its own, nobody else reads the operands for it; one that a single kernel
    // reads is left to inline_cheap.hpp.
    const double again = is_alone(program_, s) ? count - 1 : count;
    if (!is_worth_a_look(stored, machine_) || again < 1) return false;
    const Cost cost = cost_of(stage, stored);
    const double saved = stored * (1 + count) - cost.bytes * again;
    if (cost.nodes > kBodyLimit || again * cost.operations > saved * operations_of_byte(machine_))
      return false;
    recomputed_[stage.results[0].value] = cost;
    return true;
  }

 private:
  // Kernels beside the stage's own that read what it stores.
  size_t other_kernels(size_t s) const {
    std::set<size_t> others;
    for (const size_t reader : program_.readers[graph_.stages[s].results[0].value])
      if (kernel_of_[reader] != kernel_of_[s]) others.insert(kernel_of_[reader]);
    return others.size();
  }

  // With those of operands that are computed again, too. What is smaller stays in caches.
  Cost cost_of(const Stage& stage, double stored) {
    const Work work = meter_(stage.bodies);
    Cost cost{work.cost * box_points(stage.domain), 0, work.nodes};
    for (const auto& [tensor, bytes] : bytes_read(graph_, stage)) {
      if (const auto found = recomputed_.find(tensor); found != recomputed_.end()) {
        cost.operations += found->second.operations;
        cost.bytes += found->second.bytes;
        cost.nodes += found->second.nodes;
      } else if (2 * bytes >= stored) {
        cost.bytes += bytes;
      }
    }
    return cost;
  }

  const Program& program_;
  const LoweredGraph& graph_;
  const GpuMachine& machine_;
  WorkMeter meter_;
  std::vector<size_t> kernel_of_;        // by stage; SIZE_MAX: in place
  std::map<uint32_t, Cost> recomputed_;  // by tensor
};

bool may_be_product(const LoweredGraph& graph, const Stage& stage) {
  const std::optional<Contraction> contraction = contraction_of(graph, stage);
  return contraction && arrangement_of(graph, stage, *contraction, true);
}

// A stage whose results are a kernel's by itself, as are all that read them.
bool is_read_by_kernels_alone(const Program& program, size_t s) {
  const Stage& stage = program.graph.stages[s];
  const TensorId result = stage.results.front();
  const auto may_read = [&](size_t reader) {
    const Stage& user = program.graph.stages[reader];
    return is_alone(program, reader) && user.kind == StageKind::Compute &&
           !running_of(program.graph, user) && !may_be_product(program.graph, user);
  };
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
         stage.results.size() == 1 && is_alone(program, s) &&
         program.scopes[result.value] == Scope::Workspace &&
         !program.readers[result.value].empty() &&
         std::ranges::all_of(program.readers[result.value], may_read);
}

// Whether its readers compute a stage's values faster than they read them.
bool are_faster_recomputed(const Program& program, size_t s, const GpuMachine& machine) {
  constexpr double kClearly = 0.95;  // a guess
  std::vector<size_t> stages{s};
  const std::vector<size_t>& readers = program.readers[program.graph.stages[s].results[0].value];
  stages.insert(stages.end(), readers.begin(), readers.end());
  const Program part = part_of(program, stages);
  Program again = inline_stages(part, std::array{size_t{0}});
  for (const Stage& stage : again.graph.stages)
    if (WorkMeter(again.graph.pool)(stage.bodies).nodes > kBodyLimit) return false;
  const bool from_memory = leaves_l2(program, machine);
  return microseconds_of_part(std::move(again), machine, from_memory) <
         kClearly * microseconds_of_part(part, machine, from_memory);
}

// Whether memory has less to do with the operands of a stage than with its results, by more than
// computing these takes where they are read.
bool saves_memory(const Program& program, const Stage& stage, const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  double stored = 0, read = 0, evaluations = 0;  // of all results
  for (const TensorId id : stage.results) {
    stored += bytes_of(graph, id);
    for (const size_t reader : program.readers[id.value]) {
      const double bytes = bytes_read(graph, graph.stages[reader])[id.value];
      read += bytes;
      evaluations += bytes / bytes_of(graph, id);
    }
  }
  double operands = 0;
  for (const auto& [tensor, bytes] : bytes_read(graph, stage)) operands += bytes;
  const Work work = WorkMeter(graph.pool)(stage.bodies);
  const double saved = stored + read - (1 + evaluations) * operands;
  return work.nodes <= kBodyLimit && saved > 0 &&
         evaluations * work.cost * box_points(stage.domain) <= saved * operations_of_byte(machine);
}

}  // namespace

std::vector<size_t> values_of_fewer_operands(const Program& program, const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  std::vector<size_t> found;
  std::set<uint32_t> parts;  // results of those found: parts of these would be computed ever again
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
        stage.results.size() < 2 || !is_worth_a_look(bytes_of(graph, stage.results[0]), machine))
      continue;
    const bool read_once =
        std::ranges::all_of(stage.results, [&](TensorId id) { return is_read_once(program, id); });
    const bool of_parts = std::ranges::any_of(
        tensors_read(graph, stage), [&](TensorId id) { return parts.contains(id.value); });
    if (!read_once || of_parts || !saves_memory(program, stage, machine)) continue;
    found.push_back(s);
    for (const TensorId id : stage.results) parts.insert(id.value);
  }
  return found;
}

bool has_large_values(const Program& program, const GpuMachine& machine) {
  return std::ranges::any_of(program.graph.stages, [&](const Stage& stage) {
    return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
           !program.readers[stage.results[0].value].empty() &&
           is_worth_a_look(bytes_of(program.graph, stage.results[0]), machine);
  });
}

std::vector<size_t> values_faster_recomputed(const Program& program, const GpuMachine& machine) {
  std::vector<size_t> found;
  std::set<uint32_t> taken;  // what is computed again is not read of memory
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    const Stage& stage = program.graph.stages[s];
    const bool of_taken = std::ranges::any_of(
        tensors_read(program.graph, stage), [&](TensorId id) { return taken.contains(id.value); });
    if (of_taken || !is_read_by_kernels_alone(program, s) ||
        !is_worth_a_look(bytes_of(program.graph, stage.results[0]), machine))
      continue;
    check_cancelled();
    if (!are_faster_recomputed(program, s, machine)) continue;
    found.push_back(s);
    taken.insert(stage.results[0].value);
  }
  return found;
}

std::vector<size_t> values_worth_recomputing(const Program& program, const GpuMachine& machine) {
  Values values(program, machine);
  std::vector<size_t> found;
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (values.are_worth_recomputing(s)) found.push_back(s);
  return found;
}

}  // namespace adjit::sched
