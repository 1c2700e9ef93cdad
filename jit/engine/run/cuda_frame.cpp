// jit/engine/run/cuda_frame.cpp -- what the calls of one stream write.
#include "jit/engine/run/cuda_frame.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "jit/engine/run/section_graph.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

int64_t bytes_of_checks(const CudaPlan& loaded) {
  return static_cast<int64_t>(loaded.checks.size() * sizeof(int64_t));
}

}  // namespace

CheckResults::CheckResults(const CudaPlan& loaded)
    : loaded_(loaded), memory_(loaded.gpu->context, std::ssize(rooms_) * bytes_of_checks(loaded)) {
  for (Room& room : rooms_) room.done = std::make_unique<Event>(loaded.gpu->context);
}

const int64_t* CheckResults::found(size_t room) const {
  return static_cast<const int64_t*>(memory_.host()) + room * loaded_.checks.size();
}

DevicePointer CheckResults::begin(const CurrentContext& current) {
  if (rooms_[next_].waits) {
    rooms_[next_].done->wait(current);
    raise_earlier(current, false);
  }
  return memory_.device() +
         static_cast<DevicePointer>(next_) * static_cast<DevicePointer>(bytes_of_checks(loaded_));
}

void CheckResults::end(const CurrentContext& current, StreamHandle stream) {
  rooms_[next_].done->record(current, stream);
  rooms_[next_].waits = true;
  next_ = (next_ + 1) % rooms_.size();
}

void CheckResults::raise_earlier(const CurrentContext& current, bool wait) {
  if (std::ranges::none_of(rooms_, &Room::waits)) return;
  const RelaxedCapture relaxed(current);
  for (size_t k = 0; k < rooms_.size(); ++k) {  // the oldest first
    const size_t at = (next_ + k) % rooms_.size();
    Room& room = rooms_[at];
    if (!room.waits) continue;
    if (wait) {
      room.done->wait(current);
    } else if (!room.done->has_come(current)) {
      return;
    }
    room.waits = false;
    try {
      raise_failed_checks(loaded_.plan.checks, {found(at), loaded_.checks.size()});
    } catch (const Error& error) {
      throw Error(
          error.code(),
          std::string("an earlier call of this function on the GPU failed: ") + error.what() +
              "; a call with check=\"sync\" (C: wait_for_checks) waits, and raises it itself");
    }
  }
}

void CheckResults::raise() {
  raise_failed_checks(loaded_.plan.checks, {found(next_), loaded_.checks.size()});
}

void CheckResults::wait(const CurrentContext& current) const {
  for (const Room& room : rooms_) room.done->wait(current);
}

CudaFrame::CudaFrame(const CudaPlan& plan, std::optional<unsigned long long> of)
    : loaded(plan), id(of), done(plan.gpu->context) {
  if (!id) own = std::make_unique<Stream>(loaded.gpu->context);
  addresses.resize(loaded.plan.buffers.size());
  table.resize(loaded.table_size);
  parameters.resize(loaded.table_size);
  for (size_t k = 0; k < table.size(); ++k) parameters[k] = static_cast<void*>(&table[k]);
  tables.resize(loaded.kernels.size());
  stale.resize(loaded.kernels.size(), 1);
  graphs.resize(loaded.sections.size());
  staged.resize(loaded.plan.inputs.size() + loaded.plan.outputs.size());
  MemoryPool& memory = loaded.gpu->memory;
  const auto by_table = std::ranges::any_of(loaded.kernels, &CudaKernel::by_table);
  if (by_table)
    table_copies = memory.allocate(static_cast<int64_t>(loaded.table_size * sizeof(void*)));
  for (size_t k = 0; k < tables.size(); ++k)
    if (loaded.kernels[k].by_table)
      tables[k] = pointer_to(table_copies.address()) + loaded.kernels[k].table * sizeof(void*);
  if (!loaded.checks.empty()) checks.emplace(loaded);
  if (std::ranges::any_of(loaded.plan.scans, &ScanPlan::conditional))
    flag = std::make_unique<PinnedMemory>(loaded.gpu->context, 1);
  std::byte* const constants = pointer_to(loaded.constants.address());
  for (size_t b = 0; b < loaded.plan.buffers.size(); ++b)
    if (const Buffer& buffer = loaded.plan.buffers[b]; buffer.kind == Buffer::Kind::Constant)
      set_address(*this, b, constants + buffer.at);
}

CudaFrame::~CudaFrame() {
  try {
    const CurrentContext current(loaded.gpu->context);
    const RelaxedCapture relaxed(current);  // another thread's stream may be
    if (captured)
      synchronize(current);
    else
      done.wait(current);
    if (checks) checks->wait(current);
  } catch (const Error&) {
    return;  // a lost context has nothing at work
  }
}

void set_address(CudaFrame& frame, size_t buffer, void* address) {
  if (frame.addresses[buffer] == address) return;
  frame.addresses[buffer] = address;
  if (frame.loaded.plan.buffers[buffer].kind != Buffer::Kind::Step) ++frame.changes;
  for (const CudaPlan::Use& use : frame.loaded.uses[buffer]) {
    frame.table[use.position] = address;
    frame.stale[use.kernel] = 1;
  }
}

void set_workspace(CudaFrame& frame, std::byte* block) {
  if (frame.workspace_at == block) return;
  frame.workspace_at = block;
  const std::vector<Buffer>& buffers = frame.loaded.plan.buffers;
  for (size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].kind == Buffer::Kind::Workspace) set_address(frame, b, block + buffers[b].at);
}

}  // namespace adjit::engine
