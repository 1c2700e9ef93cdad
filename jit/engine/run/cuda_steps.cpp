// jit/engine/run/cuda_steps.cpp -- launches of kernels and of graphs, and the addresses that scans
// move.
#include "jit/engine/run/cuda_steps.hpp"

#include <cstdint>
#include <memory>
#include <span>

#include "jit/engine/run/place_step.hpp"
#include "jit/engine/run/section_graph.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

void run_steps(const CudaCall& call, std::span<const StepPlan> steps);

void launch_kernel(const CudaCall& call, size_t number) {
  CudaFrame& frame = call.frame;
  const CudaKernel& kernel = frame.loaded.kernels[number];
  if (!kernel.by_table)
    return launch(call.current, launch_of(kernel, frame.parameters.data() + kernel.table),
                  call.stream);
  if (frame.stale[number] != 0) {
    copy_to_device(call.current, address_of(frame.tables[number]),
                   static_cast<const void*>(frame.table.data() + kernel.table),
                   static_cast<int64_t>(kernel.tensors * sizeof(void*)), call.stream);
    frame.stale[number] = 0;
  }
  void* parameter = static_cast<void*>(&frame.tables[number]);
  launch(call.current, launch_of(kernel, &parameter), call.stream);
}

void run_kernel(const CudaCall& call, size_t number) {
  if (call.cancellable) call.cancellable->check();
  const CudaKernel& kernel = call.frame.loaded.kernels[number];
  if (call.times) ++(*call.times)[number].calls;
  if (kernel.grid.blocks == 0) return;
  if (!call.times) return launch_kernel(call, number);
  PrimaryContext& context = call.frame.loaded.gpu->context;
  Event start(context, Event::Kind::Timed), end(context, Event::Kind::Timed);
  start.record(call.current, call.stream);
  launch_kernel(call, number);
  end.record(call.current, call.stream);
  end.wait(call.current);
  (*call.times)[number].seconds += end.seconds_since(call.current, start);
}

// The carries end where a step would have read them.
void run_conditional(const CudaCall& call, const ScanPlan& scan) {
  CudaFrame& frame = call.frame;
  std::byte* const workspace = frame.workspace_at;
  for (int64_t n = 0;; ++n) {
    for (const ScanPlan::Carry& c : scan.carries)
      set_address(frame, c.in,
                  n == 0 ? frame.addresses[c.start] : workspace + c.spares[(n - 1) % 2]);
    copy_to_host(call.current, frame.flag->host(),
                 address_of(frame.addresses[scan.carries.back().in]), 1, call.stream);
    synchronize(call.current, call.stream);
    if (!*static_cast<const bool*>(frame.flag->host())) break;
    for (const ScanPlan::Carry& c : scan.carries)
      set_address(frame, c.out, workspace + c.spares[n % 2]);
    run_steps(call, scan.steps);
  }
  for (const ScanPlan::Carry& c : scan.carries)
    copy_on_device(call.current, address_of(frame.addresses[c.final]),
                   address_of(frame.addresses[c.in]), c.bytes, call.stream);
}

// Steps one after the other, also where each task could go through all of them alone.
void run_scan(const CudaCall& call, const ScanPlan& scan) {
  CudaFrame& frame = call.frame;
  run_steps(call, scan.before);
  if (scan.conditional) return run_conditional(call, scan);
  for (int64_t n = 0; n < scan.trips; ++n) {
    place_step(frame.addresses, frame.workspace_at, scan, n,
               [&](size_t buffer, void* address) { set_address(frame, buffer, address); });
    run_steps(call, scan.steps);
  }
}

// Recursive over scans within scans.
void run_steps(const CudaCall& call, std::span<const StepPlan> steps) {
  for (const StepPlan& step : steps)
    if (step.scan)
      run_scan(call, call.frame.loaded.plan.scans[step.number]);
    else
      run_kernel(call, step.number);
}

// The section's graph, made by the first call that asks; null: the call launches kernels.
SectionGraph* graph_for(const CudaCall& call, size_t section) {
  CudaFrame& frame = call.frame;
  const CudaSection& steps = frame.loaded.sections[section];
  if (steps.graph.empty() || frame.captured || frame.one_by_one || call.times) return nullptr;
  std::unique_ptr<SectionGraph>& graph = frame.graphs[section];
  if (graph) return graph.get();
  try {
    graph = frame.loaded.gpu->memory.with_room(
        [&] { return std::make_unique<SectionGraph>(call, steps); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Memory) throw;
    frame.one_by_one = true;  // kernels need less room
  }
  return graph.get();
}

void launch_graph(const CudaCall& call, size_t section, SectionGraph& graph) {
  if (call.cancellable) call.cancellable->check();
  try {
    graph.launch(call, call.frame.loaded.sections[section]);
  } catch (...) {
    wait_quietly(call);  // an earlier launch may still read the graph's tables
    call.frame.graphs[section].reset();
    throw;
  }
}

}  // namespace

// A lost context has nothing at work, and says so again at the next call.
void wait_quietly(const CudaCall& call) {
  try {
    cuda::synchronize(call.current, call.stream);
  } catch (const Error&) {
    return;
  }
}

void run_plan(const CudaCall& call) {
  const CudaPlan& loaded = call.frame.loaded;
  for (size_t k = 0; k < loaded.sections.size(); ++k)
    if (SectionGraph* graph = graph_for(call, k))
      launch_graph(call, k, *graph);
    else
      run_steps(call, steps_of(loaded.plan, loaded.sections[k]));
}

}  // namespace adjit::engine
