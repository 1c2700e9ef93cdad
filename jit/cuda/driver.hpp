// jit/cuda/driver.hpp -- the CUDA driver's library, loaded when it is first needed.
//
// adjit is built without CUDA's headers and libraries: what it calls is declared in
// driver_functions.def and looked up by name. ADJIT_CUDA_LIBRARY names another library than
// libcuda.so.1; the tests' fake one is tests/fake_cuda.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "runtime/process/rooms.hpp"

namespace adjit::cuda {

/// CUresult: 0, or what went wrong (result.hpp).
using Result = int;
/// CUdevice. The others are pointers that only the driver looks behind.
using DeviceHandle = int;
using ContextHandle = struct ContextOfDriver*;
using ModuleHandle = struct ModuleOfDriver*;
using FunctionHandle = struct FunctionOfDriver*;
using LinkHandle = struct LinkOfDriver*;
using PoolHandle = struct PoolOfDriver*;
using StreamHandle = struct StreamOfDriver*;  // null: the legacy default stream
using EventHandle = struct EventOfDriver*;
using GraphHandle = struct GraphOfDriver*;
using GraphExecHandle = struct GraphExecOfDriver*;
using NodeHandle = struct NodeOfDriver*;
/// CUdeviceptr.
using DevicePointer = unsigned long long;

/// CUmemPoolProps: memory of one device, for this process.
struct PoolProperties {
  int allocation = 1;     // pinned
  int shared_as = 0;      // with no other process
  int location_type = 1;  // a device, by its ordinal
  int device = 0;
  void* security = nullptr;
  unsigned char reserved[64] = {};
};

/// CUDA_KERNEL_NODE_PARAMS_v2: a launch as a node of a graph.
struct KernelNode {
  FunctionHandle function = nullptr;
  unsigned blocks_x = 1, blocks_y = 1, blocks_z = 1;
  unsigned threads_x = 1, threads_y = 1, threads_z = 1;
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel_of_library = nullptr;
  ContextHandle context = nullptr;  // the current one
};

/// The driver's functions. Each may be called by any thread; most of them on the device of the
/// thread's current context (context.hpp).
struct Driver {
#define DRIVER_FUNCTION(name, symbol, parameters) \
  std::add_pointer_t<Result parameters> name = nullptr;
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
  std::string library;  // the file that they are from, as it was asked for
  /// Modules are bitcode of LLVM in its wrapper, not cubins: the driver runs the very code that was
  /// emitted. The tests' fake does; it says so by exporting adjit_driver_takes_bitcode.
  bool takes_bitcode = false;
};

/// The functions of a library, which stays loaded until the process ends: the driver has threads of
/// its own. ErrorCode::Device names a library that cannot be loaded, with the loader's reason, and
/// symbols that it lacks.
Driver load_driver(const std::string& library);

/// ADJIT_CUDA_LIBRARY or libcuda.so.1.
std::string driver_library();

/// The process's driver, loaded from driver_library() and initialised (cuInit) by
/// the first call that succeeds. Nothing else in adjit makes the process use CUDA, so that a
/// process that never asks may fork. ErrorCode::Device where there is no driver or no GPU, and in
/// a child that was forked after the first call: CUDA does not work there.
const Driver& driver();

/// Throws ErrorCode::Device: this process was forked from one that uses CUDA.
[[noreturn]] void refuse_forked();

/// Whether driver() was called with success in this process, before any fork.
bool is_driver_initialised();

}  // namespace adjit::cuda
