// tests/fuzz/run_code.cpp -- a computation compiled, and run on arrays as a caller may hold them.
#include "tests/fuzz/run_code.hpp"

#include <chrono>
#include <cstring>
#include <memory>

#include "runtime/expr/error.hpp"
#include "tests/jit/engine/run_compiled.hpp"

namespace adjit::testing {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// An array as a caller may hold it: rows behind gaps, dimensions in another order, or backwards.
struct Laid {
  TensorLayout layout;
  std::vector<std::byte> bytes;
  size_t first = 0;  // byte of element 0
};
Laid laid_out(const Array& array, Random& random) {
  const size_t rank = array.shape.size(), size = size_of(array.dtype);
  Laid laid{contiguous_layout(array.shape), array.bytes, 0};
  if (rank == 0 || array.bytes.empty() || random.chance(50)) return laid;
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  if (random.chance(50)) std::swap(order[0], order[rank - 1]);
  int64_t stride = random.chance(40) ? 2 : 1, lowest = 0;
  for (size_t k = rank; k-- > 0;) {
    const size_t d = order[k];
    const bool backwards = random.chance(25);
    laid.layout.strides[d] = backwards ? -stride : stride;
    if (backwards) lowest += stride * (array.shape[d] - 1);
    stride = stride * array.shape[d] + random.between(0, 1);
  }
  laid.bytes.assign(static_cast<size_t>(stride + 1) * size, std::byte{0x5a});
  laid.first = static_cast<size_t>(lowest) * size;
  for (int64_t e = 0; e < array.element_count(); ++e) {
    int64_t at = lowest, rest = e;
    for (size_t d = rank; d-- > 0;) {
      at += rest % array.shape[d] * laid.layout.strides[d];
      rest /= array.shape[d];
    }
    std::memcpy(laid.bytes.data() + static_cast<size_t>(at) * size,
                array.bytes.data() + static_cast<size_t>(e) * size, size);
  }
  return laid;
}

}  // namespace

void refuse_fallbacks(const std::vector<std::string>& fallbacks) {
  if (!fallbacks.empty())
    throw Error(ErrorCode::Internal, "the default schedule was refused: " + fallbacks.front());
}

std::vector<Array> run_code(Engine& engine, Request& request, const std::vector<Array>& inputs,
                            Random& random, FuzzCounts& counts) {
  const double start = now_s();
  std::vector<Laid> laid;
  std::vector<const void*> in;
  for (const Array& array : inputs) laid.push_back(laid_out(array, random));
  for (const Laid& l : laid) {
    request.layouts.push_back(l.layout);
    in.push_back(l.bytes.data() + l.first);
  }
  const std::shared_ptr<Executable> executable = engine.compile(request).executable;
  const double ready = now_s();
  (request.target == "cpu" ? counts.compile_s : counts.gpu_compile_s) += ready - start;
  const CompileReport& report = executable->report();
  if (request.target != "cpu") counts.note_gpu_schedule(report.schedule);
  counts.schedule_s += (report.derive_ms + report.schedule_ms) / 1000;
  refuse_fallbacks(report.fallbacks);
  std::vector<Array> outputs = run_executable(*executable, in);
  if (request.target != "cpu") counts.gpu_run_s += now_s() - ready;
  return outputs;
}

}  // namespace adjit::testing
