// autosched/gpu/values_in_memory.cpp -- which values kernels should compute again, since storing
// and reading them takes longer.
#include "autosched/gpu/values_in_memory.hpp"

#include <algorithm>
#include <set>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

class Values {
 public:
  Values(const Program& program, const GpuMachine& machine)
      : program_(program),
        graph_(program.graph),
        meter_(program.graph.pool),
        kernel_of_(program.graph.stages.size(), SIZE_MAX) {
    for (size_t k = 0; k < program.kernels.size(); ++k)
      for_each_nest(program.kernels[k].root, [&](const Nest& nest) { kernel_of_[nest.stage] = k; });
    const double operations =
        1e9 * machine.ghz * machine.multiprocessors * kWarpSchedulers * kWarpThreads;
    operations_of_byte_ = operations / (1e9 * machine.memory_gb);
    least_bytes_ = 1e3 * machine.memory_gb * machine.launch_microseconds;
  }

  bool are_worth_recomputing(size_t s) {
    const Stage& stage = graph_.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
        stage.results.size() != 1 || kernel_of_[s] == SIZE_MAX ||
        program_.scopes[stage.results[0].value] != Scope::Workspace)
      return false;
    const double stored = bytes_of(stage.results[0]);
    if (stored < least_bytes_) return false;
    const std::optional<std::set<size_t>> others = other_kernels(s);
    if (!others || others->empty()) return false;
    const auto count = static_cast<double>(others->size());
    const bool alone = is_alone(program_, s);
    const double operands = bytes_of_operands(stage, stored);
    // With a kernel of its own, nobody else reads the operands for it.
    const double saved = stored * (1 + count) - operands * (alone ? count - 1 : count);
    const double points = box_points(stage.domain);
    const double more = (alone ? count - 1 : count) * meter_(stage.bodies).cost * points;
    return more <= saved * operations_of_byte_;
  }

 private:
  double bytes_of(TensorId id) const {
    const TensorInfo& info = graph_.info(id);
    return static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype));
  }

  // Kernels beside the stage's own that read what it stores; nullopt where a reader needs some of
  // it several times.
  std::optional<std::set<size_t>> other_kernels(size_t s) const {
    const TensorId id = graph_.stages[s].results[0];
    const auto points = static_cast<double>(graph_.info(id).element_count());
    std::set<size_t> others;
    for (const size_t reader : program_.readers[id.value]) {
      const Stage& user = graph_.stages[reader];
      double reads = 0;
      for (const ExprId read : reads_of(graph_, user)) reads += graph_.pool.read_tensor(read) == id;
      if (user.kind != StageKind::Compute || running_of(graph_, user) ||
          reads * box_points(user.domain) > points)
        return std::nullopt;
      if (kernel_of_[reader] != kernel_of_[s]) others.insert(kernel_of_[reader]);
    }
    return others;
  }

  // Of those that are about as large: what is smaller stays in caches.
  double bytes_of_operands(const Stage& stage, double stored) const {
    double bytes = 0;
    for (const TensorId id : tensors_read(graph_, stage))
      if (2 * bytes_of(id) >= stored) bytes += std::min(bytes_of(id), stored);
    return bytes;
  }

  const Program& program_;
  const LoweredGraph& graph_;
  WorkMeter meter_;
  std::vector<size_t> kernel_of_;  // by stage; SIZE_MAX: in place
  double operations_of_byte_ = 0;  // of all threads, in the time that memory takes for a byte
  double least_bytes_ = 0;         // that take as long as a launch
};

}  // namespace

std::vector<size_t> values_worth_recomputing(const Program& program, const GpuMachine& machine) {
  Values values(program, machine);
  std::vector<size_t> found;
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (values.are_worth_recomputing(s)) found.push_back(s);
  return found;
}

}  // namespace adjit::sched
