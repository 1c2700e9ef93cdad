// tests/fake_cuda/graphs.cpp -- graphs of the fake CUDA driver: a launch runs their kernels in an
// order drawn from those that are allowed, and tells of kernels whose results depend on it.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tests/fake_cuda/state.hpp"

using namespace adjit::cuda;   // NOLINT(google-build-using-namespace)
using namespace adjit::tests;  // NOLINT(google-build-using-namespace)

namespace {

template <typename Value>
Value* found_in(const std::map<void*, std::unique_ptr<Value>>& values, void* handle) {
  const auto found = values.find(handle);
  return found == values.end() ? nullptr : found->second.get();
}

size_t number_of(const FakeGraph& graph, const void* node) {
  const auto found = std::ranges::find(graph.nodes, node, &std::unique_ptr<FakeNode>::get);
  return static_cast<size_t>(found - graph.nodes.begin());
}

// The launch and the parameters' values of a node; 0, or why it is refused.
int fill(FakeNode& node, const KernelNode& kernel) {
  if (kernel.blocks_y != 1 || kernel.blocks_z != 1 || kernel.threads_y != 1 ||
      kernel.threads_z != 1 || kernel.extra != nullptr)
    return kInvalidValue;
  const FakeLaunch launch{reinterpret_cast<const FakeFunction*>(kernel.function), kernel.blocks_x,
                          kernel.threads_x, kernel.shared_bytes};
  if (const int refused = refusal_of(launch); refused != 0) return refused;
  node.launch = launch;
  const Kernels* const kernels = launch.function->module->kernels.get();
  node.values.resize(kernels == nullptr ? 0 : kernels->parameters(launch.function->name));
  for (size_t k = 0; k < node.values.size(); ++k)
    node.values[k] = *static_cast<const unsigned long long*>(kernel.parameters[k]);
  return 0;
}

int add(NodeHandle* handle, GraphHandle to, const NodeHandle* after, size_t count, FakeNode node) {
  FakeGraph* const graph = found_in(state().graphs, to);
  if (graph == nullptr) return kInvalidHandle;
  for (size_t k = 0; k < count; ++k) {
    const size_t number = number_of(*graph, after[k]);
    const bool twice = std::ranges::find(node.after, number) != node.after.end();
    if (number == graph->nodes.size() || twice) return kInvalidValue;
    node.after.push_back(number);
  }
  graph->nodes.push_back(std::make_unique<FakeNode>(std::move(node)));
  *handle = reinterpret_cast<NodeHandle>(graph->nodes.back().get());
  return 0;
}

using Spans = std::vector<std::pair<unsigned long long, unsigned long long>>;

bool meet(const Spans& a, const Spans& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (x->first < y->second && y->first < x->second) return true;
    if (x->second < y->second)
      ++x;
    else
      ++y;
  }
  return false;
}

// Kernels of which neither is behind the other, and one writes what the other uses.
std::string races_of(const std::vector<FakeNode>& nodes, const std::vector<Ran>& ran) {
  std::string races;
  std::vector<std::vector<bool>> behind(nodes.size());  // per node: those that it waits for
  for (size_t n = 0; n < nodes.size(); ++n) {
    behind[n].resize(nodes.size());
    for (const size_t before : nodes[n].after) {
      behind[n][before] = true;
      for (size_t k = 0; k < before; ++k)
        if (behind[before][k]) behind[n][k] = true;
    }
    for (size_t k = 0; k < n; ++k)
      if (!behind[n][k] && (meet(ran[k].written, ran[n].written) ||
                            meet(ran[k].written, ran[n].read) || meet(ran[k].read, ran[n].written)))
        races += nodes[k].launch.function->name + " and " + nodes[n].launch.function->name +
                 " meet in memory, and neither waits for the other\n";
  }
  return races;
}

}  // namespace

extern "C" {

int cuGraphCreate(GraphHandle* graph, unsigned) {
  FAKE_CALL(cuGraphCreate);
  auto made = std::make_unique<FakeGraph>();
  *graph = reinterpret_cast<GraphHandle>(made.get());
  state().graphs[*graph] = std::move(made);
  return 0;
}

int cuGraphDestroy(GraphHandle graph) {
  FAKE_CALL(cuGraphDestroy);
  return state().graphs.erase(graph) == 0 ? kInvalidHandle : 0;
}

int cuGraphAddKernelNode_v2(NodeHandle* node, GraphHandle graph, const NodeHandle* after,
                            size_t count, const KernelNode* kernel) {
  FAKE_CALL(cuGraphAddKernelNode_v2);
  FakeNode made;
  if (const int refused = fill(made, *kernel); refused != 0) return refused;
  return add(node, graph, after, count, std::move(made));
}

int cuGraphAddEmptyNode(NodeHandle* node, GraphHandle graph, const NodeHandle* after,
                        size_t count) {
  FAKE_CALL(cuGraphAddEmptyNode);
  return add(node, graph, after, count, {});
}

int cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
  FAKE_CALL(cuGraphInstantiateWithFlags);
  const FakeGraph* const of = found_in(state().graphs, graph);
  if (of == nullptr) return kInvalidHandle;
  auto made = std::make_unique<FakeExec>(FakeExec{of, {}});
  for (const auto& node : of->nodes) made->nodes.push_back(*node);
  *exec = reinterpret_cast<GraphExecHandle>(made.get());
  state().execs[*exec] = std::move(made);
  return 0;
}

int cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, NodeHandle node,
                                      const KernelNode* kernel) {
  FAKE_CALL(cuGraphExecKernelNodeSetParams_v2);
  FakeExec* const changed = found_in(state().execs, exec);
  if (changed == nullptr) return kInvalidHandle;
  const bool lives = std::ranges::any_of(
      state().graphs, [&](const auto& graph) { return graph.second.get() == changed->of; });
  const size_t number = lives ? number_of(*changed->of, node) : changed->nodes.size();
  if (number == changed->nodes.size()) return kInvalidValue;
  FakeNode made;
  if (const int refused = fill(made, *kernel); refused != 0) return refused;
  FakeNode& before = changed->nodes[number];
  if (before.launch.function == nullptr ||
      made.launch.function->name != before.launch.function->name)
    return kInvalidValue;
  before.launch = made.launch;
  before.values = std::move(made.values);
  return 0;
}

int cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  FAKE_CALL(cuGraphLaunch);
  FakeExec* const launched = found_in(state().execs, exec);
  if (launched == nullptr || !exists(stream)) return kInvalidHandle;
  std::vector<FakeNode>& nodes = launched->nodes;
  std::mt19937_64 random(static_cast<unsigned long long>(state().moment));
  std::vector<Ran> ran(nodes.size());
  std::vector<bool> done(nodes.size());
  for (size_t count = 0; count < nodes.size(); ++count) {
    std::vector<size_t> ready;
    for (size_t n = 0; n < nodes.size(); ++n)
      if (!done[n] && std::ranges::all_of(nodes[n].after, [&](size_t k) { return done[k]; }))
        ready.push_back(n);
    const size_t next = ready[random() % ready.size()];
    done[next] = true;
    if (nodes[next].launch.function == nullptr) continue;
    std::vector<void*> parameters;
    for (auto& value : nodes[next].values) parameters.push_back(&value);
    ran[next] = run(nodes[next].launch, parameters.data());
    tell(ran[next].faults);
    if (!ran[next].faults.empty()) return 0;
  }
  tell(races_of(nodes, ran));
  return 0;
}

int cuGraphExecDestroy(GraphExecHandle exec) {
  FAKE_CALL(cuGraphExecDestroy);
  return state().execs.erase(exec) == 0 ? kInvalidHandle : 0;
}

}  // extern "C"
