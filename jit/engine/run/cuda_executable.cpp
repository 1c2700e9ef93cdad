// jit/engine/run/cuda_executable.cpp -- a call on a GPU: its frame, its arrays, its checks.
#include "jit/engine/run/cuda_executable.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "autosched/machine/gpu_machine.hpp"
#include "jit/engine/plan/workspace.hpp"
#include "jit/engine/run/cuda_steps.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

// Bytes from element 0 down to the lowest of an array, and up behind the highest.
struct Reach {
  int64_t below = 0, above = 0;
};
Reach reach_of(const ArraySpec& spec) {
  Reach reach;
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    if (spec.shape[d] == 0) return {};
    const int64_t last = (spec.shape[d] - 1) * spec.strides[d] * size;
    (last < 0 ? reach.below : reach.above) += last < 0 ? -last : last;
  }
  reach.above += size;
  return reach;
}

// The arrays of a call, which knows where each lies.
class Arrays {
 public:
  Arrays(const CudaPlan& loaded, const void* const* inputs, void* const* outputs,
         const RunOptions& options)
      : loaded_(loaded), inputs_(inputs), outputs_(outputs), options_(options) {}

  /// In front of the kernels: addresses, and copies of what lies in the host's memory; whether
  /// there are some. Pinned memory is read later, by the device.
  bool place(const CudaCall& call) const {
    bool copied = false;
    for (size_t b : loaded_.arguments) {
      const Buffer& buffer = loaded_.plan.buffers[b];
      const size_t argument = argument_of(buffer);
      void* const address = given(buffer);
      if (options_.is_on_device(argument)) {
        require_aligned(buffer);
        set_address(call.frame, b, address);
        continue;
      }
      const Reach reach = reach_of(spec(buffer));
      const int64_t bytes = reach.below + reach.above;
      const int64_t first = aligned(reach.below, kAllocationBytes);  // of element 0
      DeviceMemory& staged = call.frame.staged[argument];
      if (staged.address() == 0) staged = loaded_.gpu->memory.allocate(first + reach.above);
      std::byte* const there = pointer_to(staged.address()) + first;
      set_address(call.frame, b, there);
      if (buffer.kind != Buffer::Kind::Input) continue;
      copy_to_device(call.current, address_of(there - reach.below),
                     static_cast<const std::byte*>(address) - reach.below, bytes, call.stream);
      copied = true;
    }
    return copied;
  }

  /// Behind the kernels: whether something goes to the host, which is to be waited for.
  bool copy_back(const CudaCall& call) const {
    bool copied = false;
    for (size_t b : loaded_.arguments) {
      const Buffer& buffer = loaded_.plan.buffers[b];
      if (buffer.kind != Buffer::Kind::Output || options_.is_on_device(argument_of(buffer)))
        continue;
      const Reach reach = reach_of(spec(buffer));  // outputs are row-major
      copy_to_host(call.current, given(buffer), address_of(call.frame.addresses[b]), reach.above,
                   call.stream);
      copied = true;
    }
    return copied;
  }

 private:
  // Code that vectors lie otherwise for would end the whole context.
  void require_aligned(const Buffer& buffer) const {
    if (is_aligned(given(buffer), spec(buffer))) return;
    const bool output = buffer.kind == Buffer::Kind::Output;
    throw Error(ErrorCode::Invalid,
                (output ? "output " : "input ") + std::to_string(buffer.at) +
                    " lies at an address that " + std::to_string(spec(buffer).alignment) +
                    " bytes do not divide, which the executable was compiled for; copy the array, "
                    "or compile for a request that names it (Request::unaligned)");
  }
  // Inputs, then outputs.
  size_t argument_of(const Buffer& buffer) const {
    const auto at = static_cast<size_t>(buffer.at);
    return buffer.kind == Buffer::Kind::Output ? loaded_.plan.inputs.size() + at : at;
  }
  const ArraySpec& spec(const Buffer& buffer) const {
    const auto at = static_cast<size_t>(buffer.at);
    return buffer.kind == Buffer::Kind::Output ? loaded_.plan.outputs[at] : loaded_.plan.inputs[at];
  }
  void* given(const Buffer& buffer) const {
    const auto at = static_cast<size_t>(buffer.at);
    return buffer.kind == Buffer::Kind::Output ? outputs_[at] : const_cast<void*>(inputs_[at]);
  }

  const CudaPlan& loaded_;
  const void* const* inputs_;
  void* const* outputs_;
  const RunOptions& options_;
};

// Behind the remedy "give a memory_budget": one that what is free has room for. Where no schedule
// keeps to it, compiling says how much is needed at least (memory_budget.hpp).
std::string budget_text(int64_t bytes, std::optional<int64_t> free) {
  const int64_t budget = std::min(free.value_or(0), bytes - 1);
  return " (the workspace is " + std::to_string(bytes) + " bytes" +
         (budget > 0 ? "; memory_budget=" + std::to_string(budget) + " has room)" : ")");
}

DeviceMemory own_workspace(const CurrentContext& current, MemoryPool& pool, int64_t bytes) {
  try {
    return pool.allocate(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Memory) throw;
    throw Error(ErrorCode::Memory, error.what() + budget_text(bytes, cuda::free_bytes(current)));
  }
}

// A call's workspace from its caller, given back when the call is in the stream: the allocator is
// one that knows the stream's order.
class BorrowedWorkspace {
 public:
  BorrowedWorkspace(const CurrentContext& current, const RunOptions& options, MemoryPool& kept,
                    int64_t bytes)
      : options_(options) {
    block_ = kept.with_room([&] {
      void* const block = options.allocate(options.user, static_cast<size_t>(bytes));
      if (block != nullptr) return block;
      throw Error(ErrorCode::Memory, "the caller's allocator gives no " + std::to_string(bytes) +
                                         " bytes; free arrays on the GPU, or give a memory_budget" +
                                         budget_text(bytes, cuda::free_bytes(current)));
    });
    if (reinterpret_cast<uintptr_t>(block_) % kAllocationBytes == 0) return;
    options.free(options.user, block_);
    throw Error(ErrorCode::Invalid,
                "the caller's allocator gives memory that 256 does not divide; align it");
  }
  ~BorrowedWorkspace() { options_.free(options_.user, block_); }
  BorrowedWorkspace(const BorrowedWorkspace&) = delete;
  BorrowedWorkspace& operator=(const BorrowedWorkspace&) = delete;

  std::byte* block() const { return static_cast<std::byte*>(block_); }

 private:
  const RunOptions& options_;
  void* block_ = nullptr;
};

void require_capturable(const CudaPlan& loaded, const RunOptions& options, bool waits) {
  const char* what = nullptr;
  if (waits)
    what = "is to wait, for what checks of its data find or to measure times";
  else if (!options.is_all_on_device(loaded.plan.inputs.size() + loaded.plan.outputs.size()))
    what = "has arrays in the host's memory";
  else if (std::ranges::any_of(loaded.plan.scans, &ScanPlan::conditional))
    what = "has a loop that ends where data says so";
  else if (std::ranges::any_of(loaded.kernels, &CudaKernel::by_table))
    what = "has a kernel of too many arrays";
  if (what)
    throw Error(ErrorCode::Device, std::string("the stream is being captured into a graph, and the "
                                               "call ") +
                                       what + ": run it outside the capture");
}

// Whether something is copied from or to the host's memory: the call is then over when that is.
// Where it ends early, too: the caller's arrays may end with it.
bool put_into_stream(const CudaCall& call, const Arrays& arrays) {
  try {
    const bool to_device = arrays.place(call);
    run_plan(call);
    return arrays.copy_back(call) || to_device;
  } catch (...) {
    if (!call.frame.captured) wait_quietly(call);
    throw;
  }
}

}  // namespace

CudaExecutable::CudaExecutable(CudaPlan loaded, CompileReport report)
    : Executable(std::move(report)), loaded_(std::move(loaded)), frames_(loaded_) {
  looks_for_nans_ = std::ranges::any_of(loaded_.plan.checks, [](const DataCheck& check) {
    return check.kind != DataCheck::Kind::Index;
  });
}

bool CudaExecutable::waits(const RunOptions& options) const {
  return looks_for_nans_ || (options.wait_for_checks && !loaded_.checks.empty());
}

// Calls of one stream at once have a frame each. (Nobody holds a lock while a hook is asked.)
class CudaExecutable::FrameInUse {
 public:
  FrameInUse(CudaFrames& frames, std::unique_ptr<CudaFrame> frame)
      : frames_(frames), frame_(std::move(frame)) {}
  ~FrameInUse() { frames_.give_back(std::move(frame_)); }
  FrameInUse(const FrameInUse&) = delete;
  FrameInUse& operator=(const FrameInUse&) = delete;

  CudaFrame& operator*() const { return *frame_; }

 private:
  CudaFrames& frames_;
  std::unique_ptr<CudaFrame> frame_;
};

CudaExecutable::FrameInUse CudaExecutable::frame_for(const CurrentContext& current,
                                                     const RunOptions& options, bool waits) {
  if (options.on_device.empty() && options.stream == nullptr && options.allocate == nullptr)
    return {frames_, frames_.take(std::nullopt)};
  const auto stream = static_cast<StreamHandle>(options.stream);
  const unsigned long long id = id_of(current, stream);
  if (!is_captured(current, stream)) return {frames_, frames_.take(id)};
  require_capturable(loaded_, options, waits);
  auto frame = std::make_unique<CudaFrame>(loaded_, id);
  frame->captured = true;
  return {frames_, std::move(frame)};
}

void CudaExecutable::run_call(const void* const* inputs, void* const* outputs,
                              const RunOptions& options) {
  const CurrentContext current(loaded_.gpu->context);
  frames_.raise_lost();
  const FrameInUse frame = frame_for(current, options, waits(options));
  run_in(*frame, current, inputs, outputs, options, nullptr);
}

void CudaExecutable::run_in(CudaFrame& frame, const CurrentContext& current,
                            const void* const* inputs, void* const* outputs,
                            const RunOptions& options, std::vector<KernelTime>* times) {
  std::optional<Cancellable> cancellable;
  if (options.cancel.cancelled) cancellable.emplace(options.cancel);
  const CudaCall call{frame, current,
                      frame.own ? frame.own->handle() : static_cast<StreamHandle>(options.stream),
                      cancellable ? &*cancellable : nullptr, times};
  if (frame.checks) {
    frame.checks->raise_earlier(current, false);
    std::byte* const found = pointer_to(frame.checks->begin(current));
    for (size_t b : loaded_.checks)
      set_address(frame, b,
                  found + loaded_.plan.buffers[b].at * static_cast<int64_t>(sizeof(int64_t)));
  }
  const int64_t bytes = loaded_.plan.workspace_bytes;
  std::optional<BorrowedWorkspace> borrowed;
  if (options.allocate != nullptr && bytes > 0) {
    borrowed.emplace(current, options, loaded_.gpu->memory, bytes);
    set_workspace(frame, borrowed->block());
  } else {
    if (frame.workspace.address() == 0)
      frame.workspace = own_workspace(current, loaded_.gpu->memory, bytes);
    set_workspace(frame, pointer_to(frame.workspace.address()));
  }
  const bool copied = put_into_stream(call, Arrays(loaded_, inputs, outputs, options));
  if (copied || frame.own || waits(options) || times != nullptr) {
    cuda::synchronize(current, call.stream);
    if (frame.checks) frame.checks->raise();
  } else if (!frame.captured) {
    frame.checks ? frame.checks->end(current, call.stream)
                 : frame.done.record(current, call.stream);
  }
}

// Of calls that are at work in other threads, those threads see to it.
void CudaExecutable::synchronize() {
  const CurrentContext current(loaded_.gpu->context);
  cuda::synchronize(current);
  frames_.raise_lost();
  frames_.raise_earlier(current);
}

std::vector<KernelTime> CudaExecutable::profile_calls(const void* const* inputs,
                                                      void* const* outputs, int repeats,
                                                      const RunOptions& options) {
  const CurrentContext current(loaded_.gpu->context);
  const FrameInUse frame = frame_for(current, options, true);
  std::vector<KernelTime> best(loaded_.kernels.size()), times;
  for (int n = 0; n < repeats; ++n) {
    times.assign(best.size(), {});
    run_in(*frame, current, inputs, outputs, options, &times);
    for (size_t k = 0; k < best.size(); ++k)
      if (n == 0 || times[k].seconds < best[k].seconds) best[k] = times[k];
  }
  return best;
}

}  // namespace adjit::engine
