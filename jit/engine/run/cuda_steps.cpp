// jit/engine/run/cuda_steps.cpp -- launches of kernels, and the addresses that scans move.
#include "jit/engine/run/cuda_steps.hpp"

#include "jit/engine/run/place_step.hpp"

namespace adjit::engine {
namespace {

void launch_kernel(const CudaCall& call, size_t number) {
  CudaFrame& frame = call.frame;
  const CudaKernel& kernel = frame.loaded.kernels[number];
  if (!kernel.by_table)
    return launch(call.current, kernel.function, kernel.blocks, kBlockThreads,
                  frame.parameters.data() + kernel.table, call.stream);
  if (frame.stale[number] != 0) {
    copy_to_device(call.current, address_of(frame.tables[number]),
                   static_cast<const void*>(frame.table.data() + kernel.table),
                   static_cast<int64_t>(kernel.tensors * sizeof(void*)), call.stream);
    frame.stale[number] = 0;
  }
  void* parameter = static_cast<void*>(&frame.tables[number]);
  launch(call.current, kernel.function, kernel.blocks, kBlockThreads, &parameter, call.stream);
}

void run_kernel(const CudaCall& call, size_t number) {
  if (call.cancellable) call.cancellable->check();
  const CudaKernel& kernel = call.frame.loaded.kernels[number];
  if (call.times) ++(*call.times)[number].calls;
  if (kernel.blocks == 0) return;
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

}  // namespace

void run_steps(const CudaCall& call, std::span<const StepPlan> steps) {
  for (const StepPlan& step : steps)
    if (step.scan)
      run_scan(call, call.frame.loaded.plan.scans[step.number]);
    else
      run_kernel(call, step.number);
}

}  // namespace adjit::engine
