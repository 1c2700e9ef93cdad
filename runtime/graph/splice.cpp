// runtime/graph/splice.cpp -- a whole graph copied into another one.
#include "runtime/graph/splice.hpp"

#include <utility>

namespace adjit::graph {
namespace {

// Copies the stages of `callee` into `target`, tensors renamed.
class Splicer {
 public:
  Splicer(const Graph& callee, Graph& target, const std::vector<SourceLine>& lines,
          const std::function<void(Stage&)>& on_stage)
      : callee_(callee),
        target_(target),
        lines_(lines),
        on_stage_(on_stage),
        renamed_(callee.tensors.size()),
        rebuild_(callee.pool, target.pool, [this](ExprId leaf, std::span<const ExprId> operands) {
          return this->leaf(leaf, operands);
        }) {}

  void bind(TensorId inside, TensorId outside) { renamed_[inside.value] = outside; }
  TensorId renamed(TensorId inside) const { return renamed_[inside.value]; }

  void run() {
    for (const ConstantData& c : callee_.constants) {
      const TensorInfo& t = callee_.info(c.tensor);
      bind(c.tensor, add_constant(target_, t.name, t.dtype, t.shape, c.bytes));
    }
    for (const Stage& stage : callee_.stages) {
      Stage copy = rebuilt(stage);
      if (on_stage_) on_stage_(copy);
      target_.stages.push_back(std::move(copy));
    }
  }

 private:
  ExprId leaf(ExprId id, std::span<const ExprId> operands) {
    if (!callee_.pool.is(id, Op::Read)) return {};
    const bool guarded = callee_.pool.read_predicate(id).valid();
    return target_.pool.read(renamed(callee_.pool.read_tensor(id)), callee_.pool.dtype(id),
                             operands.first(operands.size() - (guarded ? 1 : 0)),
                             guarded ? operands.back() : ExprId{});
  }

  Stage rebuilt(const Stage& stage) {
    Stage copy = stage;
    for (auto* list : {&copy.bodies, &copy.target, &copy.combiner.combine, &copy.combiner.identity})
      for (ExprId& id : *list) id = rebuild_(id);
    for (TensorId& id : copy.operands) id = renamed(id);
    if (copy.initial.valid()) copy.initial = renamed(copy.initial);
    for (TensorId& id : copy.results) {
      const TensorInfo& t = callee_.info(id);
      const TensorId outside = add_tensor(target_, t.name, t.dtype, t.shape);
      bind(id, outside);
      id = outside;
    }
    if (copy.lines.empty()) copy.lines = lines_;
    return copy;
  }

  const Graph& callee_;
  Graph& target_;
  const std::vector<SourceLine>& lines_;
  const std::function<void(Stage&)>& on_stage_;
  std::vector<TensorId> renamed_;
  Rebuilder rebuild_;
};

}  // namespace

std::vector<TensorId> splice(Graph& target, const Graph& callee,
                             std::span<const TensorId> arguments,
                             const std::vector<SourceLine>& lines,
                             const std::function<void(Stage&)>& on_stage) {
  invariant(arguments.size() == callee.inputs.size(), "a spliced graph needs all its arguments");
  Splicer splicer(callee, target, lines, on_stage);
  for (size_t k = 0; k < arguments.size(); ++k) splicer.bind(callee.inputs[k], arguments[k]);
  splicer.run();
  std::vector<TensorId> results;
  for (TensorId output : callee.outputs) results.push_back(splicer.renamed(output));
  return results;
}

}  // namespace adjit::graph
