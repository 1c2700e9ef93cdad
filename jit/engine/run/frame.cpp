// jit/engine/run/frame.cpp -- a frame's memory, and the addresses that stay from call to call.
#include "jit/engine/run/frame.hpp"

namespace adjit::engine {

std::unique_ptr<Frame> make_frame(const LoadedPlan& loaded) {
  const ExecutionPlan& plan = loaded.plan;
  auto frame = std::make_unique<Frame>();
  frame->addresses.resize(plan.buffers.size());
  frame->table.resize(loaded.table_size);
  frame->workspace = allocate_block(plan.workspace_bytes);
  frame->slots = allocate_block(checked_mul(plan.slot_bytes, loaded.pool->workers()));
  frame->checks.resize(2 * plan.checks.size());
  for (const TaskGraph& graph : loaded.graphs) frame->runs.push_back(graph.make_run());
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind == Buffer::Kind::Workspace)
      set_address(*frame, loaded, b, frame->workspace.get() + buffer.at);
    if (buffer.kind == Buffer::Kind::Check)
      set_address(*frame, loaded, b, frame->checks.data() + static_cast<size_t>(buffer.at));
    if (buffer.kind == Buffer::Kind::Constant)  // kernels only read it
      set_address(*frame, loaded, b, const_cast<char*>(plan.constants.data()) + buffer.at);
  }
  return frame;
}

}  // namespace adjit::engine
