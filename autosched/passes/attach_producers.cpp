// autosched/passes/attach_producers.cpp -- producers of a host, of what is attached to it, and so
// on.
#include "autosched/passes/attach_producers.hpp"

#include <cstdint>
#include <set>

#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {

void attach_producers(const Program& program, std::span<const size_t> producers, size_t host,
                      const std::function<bool(size_t stage)>& attach) {
  std::set<size_t> open;
  const auto add_producers = [&](size_t stage) {
    for (TensorId id : tensors_read(program.graph, program.graph.stages[stage]))
      if (const size_t producer = producers[id.value]; producer != SIZE_MAX) open.insert(producer);
  };
  add_producers(host);
  while (!open.empty()) {
    const size_t stage = *open.rbegin();
    open.erase(stage);
    if (attach(stage)) add_producers(stage);
  }
}

}  // namespace adjit::sched
