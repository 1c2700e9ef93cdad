// autosched/program/part_of_program.cpp -- some stages of a program as one of their own.
#include "autosched/program/part_of_program.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

class Copier {
 public:
  explicit Copier(const Program& program)
      : source_(program),
        rebuild_(program.graph.pool, part_.graph.pool,
                 [this](ExprId leaf, std::span<const ExprId> rebuilt) {
                   return this->leaf(leaf, rebuilt);
                 }) {}

  Program operator()(std::span<const size_t> stages) {
    const LoweredGraph& from = source_.graph;
    LoweredGraph& graph = part_.graph;
    graph.name = from.name;
    part_.target = source_.target;
    part_.calls = source_.calls;
    for (const size_t s : stages)
      for (TensorId id : tensors_read(from, from.stages[s])) {
        const bool made = std::ranges::any_of(stages, [&](size_t other) {
          return std::ranges::find(from.stages[other].results, id) !=
                 from.stages[other].results.end();
        });
        if (!made && !renamed_.contains(id.value)) graph.inputs.push_back(keep(id));
      }
    part_.scopes.assign(graph.tensors.size(), Scope::Argument);
    for (const size_t s : stages) add(s, stages);
    index_readers(part_);
    return std::move(part_);
  }

 private:
  TensorId keep(TensorId id) {
    part_.graph.tensors.push_back(source_.graph.info(id));
    const TensorId now{static_cast<uint32_t>(part_.graph.tensors.size() - 1)};
    renamed_[id.value] = now;
    const auto gap = source_.graph.row_gaps.find(id);
    if (gap != source_.graph.row_gaps.end()) part_.graph.row_gaps[now] = gap->second;
    return now;
  }

  void add(size_t s, std::span<const size_t> stages) {
    Stage stage = source_.graph.stages[s];
    for (TensorId& id : stage.results) {
      const std::vector<size_t>& readers = source_.readers[id.value];
      const std::vector<TensorId>& outputs = source_.graph.outputs;
      const bool wanted = std::ranges::find(outputs, id) != outputs.end() ||
                          std::ranges::any_of(readers, [&](size_t reader) {
                            return std::ranges::find(stages, reader) == stages.end();
                          });
      id = keep(id);
      part_.scopes.push_back(wanted ? Scope::Argument : Scope::Workspace);
      if (wanted) part_.graph.outputs.push_back(id);
    }
    for (auto* list :
         {&stage.bodies, &stage.target, &stage.combiner.combine, &stage.combiner.identity})
      for (ExprId& id : *list) id = rebuild_(id);
    part_.graph.stages.push_back(std::move(stage));
    Kernel kernel;
    kernel.root = plain_nest(part_.graph, part_.graph.stages.size() - 1, kernel.variable_count);
    part_.kernels.push_back(std::move(kernel));
  }

  ExprId leaf(ExprId id, std::span<const ExprId> rebuilt) {
    const ExprPool& pool = source_.graph.pool;
    if (!pool.is(id, Op::Read)) return {};
    const bool guarded = pool.read_predicate(id).valid();
    return part_.graph.pool.read(renamed_.at(pool.read_tensor(id).value), pool.dtype(id),
                                 rebuilt.first(rebuilt.size() - (guarded ? 1 : 0)),
                                 guarded ? rebuilt.back() : ExprId{});
  }

  const Program& source_;
  Program part_;
  std::unordered_map<uint32_t, TensorId> renamed_;
  Rebuilder rebuild_;
};

}  // namespace

Program part_of(const Program& program, std::span<const size_t> stages) {
  return Copier(program)(stages);
}

}  // namespace adjit::sched
