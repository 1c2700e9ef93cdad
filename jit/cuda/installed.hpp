// jit/cuda/installed.hpp -- the GPUs of the machine, without a call of the driver.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::cuda {

/// Their models ("NVIDIA H100 80GB HBM3") as NVIDIA's kernel module lists them, in the order of its
/// names for them: more than the driver shows where CUDA_VISIBLE_DEVICES hides some, in another
/// order than its. Empty where there is no such list. Never throws for what it cannot read.
std::vector<std::string> installed_gpus(
    const std::filesystem::path& list = "/proc/driver/nvidia/gpus");

}  // namespace adjit::cuda
