// jit/cuda/device.hpp -- the GPUs that the driver shows, in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/cuda/driver.hpp"

namespace adjit::cuda {

/// What code and schedules for a GPU depend on, and what people know it by. Facts of the hardware:
/// they stay the same while the process lives.
struct DeviceFacts {
  int ordinal = 0;     // "cuda:0"; CUDA_VISIBLE_DEVICES decides which one it is
  std::string name;    // "NVIDIA H100 80GB HBM3"
  int capability = 0;  // 90 for 9.0: kernels are compiled for sm_90
  int multiprocessors = 0;
  int threads = 0;                 // of a multiprocessor, at once
  int block_threads = 0;           // of a block, at most
  int registers = 0;               // 32 bits each, of a multiprocessor
  int64_t shared_bytes = 0;        // of a multiprocessor
  int64_t block_shared_bytes = 0;  // of a block that asks for more than 48 KB
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double ghz = 0;             // of the multiprocessors, at most; 0: the driver does not say
  double memory_gb = 0;       // GB/s of the memory, by its clock and width; 0 likewise
  bool cooperative = false;   // kernels whose blocks may wait for each other
  bool memory_pools = false;  // memory given out in the order of a stream
};

/// The least capability that kernels are compiled for: asynchronous copies to shared memory.
inline constexpr int kLeastCapability = 80;

/// In the order of their ordinals; empty: the driver sees none. ErrorCode::Device as driver().
std::vector<DeviceFacts> devices(const Driver& driver);

/// "cuda" is device 0, "cuda:2" device 2. ErrorCode::Device for anything else, for a number that no
/// device has, and for a device that is older than kLeastCapability, which it names.
DeviceFacts device_named(const Driver& driver, const std::string& target);

/// The ordinal of the device that memory lies on, by an address in it. ErrorCode::Device where the
/// driver knows no such memory.
int device_of(const Driver& driver, DevicePointer address);

}  // namespace adjit::cuda
