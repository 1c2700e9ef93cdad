// tests/fake_cuda/state.hpp -- what the fake CUDA driver holds, and how each of its functions
// begins.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/cuda/driver.hpp"
#include "tests/fake_cuda/kernels.hpp"

namespace adjit::tests {

struct Failure {
  int after = 0;  // calls
  int result = 0;
};

struct FakeModule {
  std::set<std::string> functions;
  std::unique_ptr<Kernels> kernels;  // null: they do nothing
};

struct FakeFunction {
  FakeModule* module = nullptr;
  std::string name;
  int shared_bytes = 48 << 10;  // dynamic, that a block may have, unless the card has less
};

/// A launch; of a graph's node without a function, none.
struct FakeLaunch {
  const FakeFunction* function = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
};
/// 0, or why the driver refuses it: it has no blocks, too many threads, or more shared memory than
/// its function may have or the card has.
int refusal_of(const FakeLaunch& launch);
/// Runs the kernel, and says what it did.
Ran run(const FakeLaunch& launch, void** parameters);
/// A fault is told by the calls that follow, as a GPU does it.
void tell(const std::string& faults);

struct FakeNode {
  FakeLaunch launch;
  std::vector<unsigned long long> values;  // of the parameters
  std::vector<size_t> after;               // earlier nodes
};
struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;
};
struct FakeExec {
  const FakeGraph* of = nullptr;
  std::vector<FakeNode> nodes;
};

struct FakeLink {
  std::unique_ptr<std::string> image;
  std::function<void(const std::string&)> log;  // while its options live, as the driver says
};

struct FakeStream {
  unsigned long long id = 0;
  int device = 0;
  bool captured = false;
};

struct FakeEvent {
  long long moment = 0;  // launches and copies until then
};

/// Handles are the addresses of values.
struct State {
  std::mutex mutex;
  bool initialised = false;
  int devices = 1, capability = 90, multiprocessors = 132;
  std::map<int, int> attributes;  // that tests changed
  size_t memory_bytes = size_t{80} << 30;
  int lost = 0;  // what every call answers after a kernel's fault
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::string faults;           // of kernels, a line each
  std::map<int, int> retained;  // by device
  std::map<void*, std::unique_ptr<FakeModule>> modules;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::map<void*, FakeLink> links;
  std::map<void*, std::unique_ptr<FakeStream>> streams;
  std::map<void*, std::unique_ptr<FakeEvent>> events;
  std::map<void*, std::unique_ptr<FakeGraph>> graphs;
  std::map<void*, std::unique_ptr<FakeExec>> execs;
  std::map<void*, int> pools;                   // and their devices
  std::map<unsigned long long, size_t> memory;  // of devices and pinned: bytes by address
  std::map<unsigned long long, int> owners;     // of it: devices by address
  size_t taken = 0;                             // bytes of them
  long long moment = 0;
  unsigned long long last_id = 2;  // of streams; those before are the default ones
};

State& state();
/// The calling thread's context, and its device.
void*& current_context();
int current_device();
/// A number of the devices, by its CUdevice_attribute; nullopt: nobody knows it.
std::optional<int> attribute_of_devices(int attribute);

inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialised = 3, kNoDevice = 100,
                     kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201,
                     kInvalidPtx = 218, kInvalidHandle = 400, kNotFound = 500,
                     kIllegalAddress = 700, kLaunchFailed = 719, kCaptureUnsupported = 900;
inline constexpr const char* kHeader = "adjit fake cubin\n";

/// Whether the driver made it on the current device, or it is a default one: 0, 1 or 2.
bool exists(adjit::cuda::StreamHandle stream);

/// What a call answers before it does anything: 0, or what it was told to.
int begin(const char* symbol, bool needs_init, bool needs_context);

/// Writes into the error log that the options name, if they do: CU_JIT_ERROR_LOG_BUFFER and its
/// size.
void log_error(const std::string& text, unsigned count, const int* options, void** values);

}  // namespace adjit::tests

/// The first line of each function: it holds the lock, is counted, and fails where it is told to,
/// before cuInit, or without a context.
#define FAKE_CALL(symbol)                                \
  const std::lock_guard<std::mutex> lock(state().mutex); \
  if (const int told = begin(#symbol, true, true); told != 0) return told
#define FAKE_CALL_WITHOUT_CONTEXT(symbol)                \
  const std::lock_guard<std::mutex> lock(state().mutex); \
  if (const int told = begin(#symbol, true, false); told != 0) return told
#define FAKE_CALL_AT_ANY_TIME(symbol)                    \
  const std::lock_guard<std::mutex> lock(state().mutex); \
  if (const int told = begin(#symbol, false, false); told != 0) return told
