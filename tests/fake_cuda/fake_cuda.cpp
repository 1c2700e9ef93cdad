// tests/fake_cuda/fake_cuda.cpp -- a CUDA driver without a GPU: it counts calls, fails where it is
// told to, knows what was not given back, and runs kernels where it can (emulated_kernels.cpp).
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "tests/fake_cuda/state.hpp"

namespace adjit::tests {

State& state() {
  static State the;
  return the;
}

void*& current_context() {
  static thread_local void* current = nullptr;
  return current;
}

int begin(const char* symbol, bool needs_init, bool needs_context) {
  State& s = state();
  const int count = ++s.calls[symbol];
  if (const auto told = s.failures.find(symbol);
      told != s.failures.end() && told->second.after == count)
    return told->second.result;
  if (needs_init && !s.initialised) return kNotInitialised;
  if (!needs_context) return 0;
  if (current_context() == nullptr) return kInvalidContext;
  return s.lost;
}

void log_error(const std::string& text, unsigned count, const int* options, void** values) {
  char* log = nullptr;
  size_t room = 0;
  for (unsigned k = 0; k < count; ++k) {
    if (options[k] == 5) log = static_cast<char*>(values[k]);
    if (options[k] == 6) room = reinterpret_cast<size_t>(values[k]);
  }
  if (log != nullptr && room > 0) log[text.copy(log, room - 1)] = 0;
}

}  // namespace adjit::tests

using namespace adjit::cuda;   // NOLINT(google-build-using-namespace)
using namespace adjit::tests;  // NOLINT(google-build-using-namespace)

namespace {

char contexts[16];  // their addresses are handles

bool exists(int device) { return device >= 0 && device < state().devices; }

/// Lines "number value" of the file that ADJIT_FAKE_CUDA_CARD names: attributes of a card, and
/// "memory bytes" (tools/bench/comparison/gpu/card.py writes them).
const std::map<std::string, long long>& card() {
  static const std::map<std::string, long long> the = [] {
    std::map<std::string, long long> numbers;
    const char* path = std::getenv("ADJIT_FAKE_CUDA_CARD");
    std::ifstream file(path != nullptr ? path : "");
    std::string what;
    for (long long value = 0; file >> what >> value;) numbers[what] = value;
    return numbers;
  }();
  return the;
}

}  // namespace

int adjit::tests::current_device() {
  const void* const context = current_context();
  return context == nullptr ? 0 : static_cast<int>(static_cast<const char*>(context) - contexts);
}

std::optional<int> adjit::tests::attribute_of_devices(int attribute) {
  // Of an H100.
  const std::map<int, int> known = {{1, 1024},
                                    {13, 1980000},
                                    {16, state().multiprocessors},
                                    {36, 2619000},
                                    {37, 5120},
                                    {38, 52428800},
                                    {39, 2048},
                                    {75, state().capability / 10},
                                    {76, state().capability % 10},
                                    {81, 233472},
                                    {82, 65536},
                                    {95, 1},
                                    {97, 232448},
                                    {115, 1}};
  const auto found = known.find(attribute);
  if (found == known.end()) return std::nullopt;
  if (const auto told = state().attributes.find(attribute); told != state().attributes.end())
    return told->second;
  if (const auto told = card().find(std::to_string(attribute)); told != card().end())
    return static_cast<int>(told->second);
  return found->second;
}

extern "C" {

int cuInit(unsigned) {
  FAKE_CALL_AT_ANY_TIME(cuInit);
  if (state().devices == 0) return kNoDevice;
  state().initialised = true;
  return 0;
}

int cuDriverGetVersion(int* version) {
  FAKE_CALL_AT_ANY_TIME(cuDriverGetVersion);
  *version = 12080;
  return 0;
}

int cuGetErrorName(int result, const char** name) {
  FAKE_CALL_AT_ANY_TIME(cuGetErrorName);
  if (result == 2) *name = "CUDA_ERROR_OUT_OF_MEMORY";
  if (result == 700) *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
  return result == 2 || result == 700 ? 0 : kInvalidValue;
}

int cuGetErrorString(int result, const char** text) {
  FAKE_CALL_AT_ANY_TIME(cuGetErrorString);
  if (result == 2) *text = "out of memory";
  if (result == 700) *text = "an illegal memory access was encountered";
  return result == 2 || result == 700 ? 0 : kInvalidValue;
}

int cuDeviceGetCount(int* count) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDeviceGetCount);
  *count = state().devices;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDeviceGet);
  if (!exists(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDeviceGetName);
  if (!exists(device)) return kInvalidDevice;
  std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDeviceGetAttribute);
  if (!exists(device)) return kInvalidDevice;
  const std::optional<int> found = attribute_of_devices(attribute);
  if (!found) return kInvalidValue;
  *value = *found;
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDeviceTotalMem_v2);
  if (!exists(device)) return kInvalidDevice;
  const auto told = card().find("memory");
  *bytes = told != card().end() ? static_cast<size_t>(told->second) : state().memory_bytes;
  return 0;
}

int cuDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  FAKE_CALL_WITHOUT_CONTEXT(cuDevicePrimaryCtxRetain);
  if (!exists(device)) return kInvalidDevice;
  ++state().retained[device];
  *context = reinterpret_cast<ContextHandle>(&contexts[device]);
  return 0;
}

int cuCtxGetCurrent(ContextHandle* context) {
  FAKE_CALL_WITHOUT_CONTEXT(cuCtxGetCurrent);
  *context = static_cast<ContextHandle>(current_context());
  return 0;
}

int cuCtxSetCurrent(ContextHandle context) {
  FAKE_CALL_WITHOUT_CONTEXT(cuCtxSetCurrent);
  current_context() = context;
  return 0;
}

// ---- For tests (fake_cuda.hpp).

void fake_cuda_reset() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  State& s = state();
  s.devices = 1;
  s.capability = 90;
  s.multiprocessors = 132;
  s.attributes.clear();
  s.memory_bytes = size_t{80} << 30;
  s.lost = 0;
  s.calls.clear();
  s.failures.clear();
  s.faults.clear();
  current_context() = nullptr;
}

void fake_cuda_devices(int count, int capability) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().devices = count;
  state().capability = capability;
}

void fake_cuda_multiprocessors(int count) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().multiprocessors = count;
}

void fake_cuda_attribute(int attribute, int value) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().attributes[attribute] = value;
}

void fake_cuda_fail(const char* symbol, int result, int nth) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().failures[symbol] = {state().calls[symbol] + nth, result};
}

int fake_cuda_calls(const char* symbol) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().calls[symbol];
}

int fake_cuda_live() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const State& s = state();
  size_t live = s.modules.size() + s.links.size() + s.streams.size() + s.events.size() +
                s.graphs.size() + s.execs.size() + s.pools.size() + s.memory.size();
  for (const auto& [device, times] : s.retained) live += static_cast<size_t>(times);
  return static_cast<int>(live);
}

void fake_cuda_memory(size_t bytes) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().memory_bytes = bytes;
}

size_t fake_cuda_taken() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().taken;
}

const char* fake_cuda_faults() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().faults.c_str();
}

void fake_cuda_capture(void* stream, int captured) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().streams.at(stream)->captured = captured != 0;
}

void* fake_cuda_current() { return current_context(); }
void fake_cuda_set_current(void* context) { current_context() = context; }

}  // extern "C"
