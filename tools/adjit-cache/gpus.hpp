// tools/adjit-cache/gpus.hpp -- what a GPU's code needs on this machine, and which entries no GPU
// here runs.
#pragma once

#include <optional>
#include <set>

#include "tools/adjit-cache/report.hpp"
#include "tools/adjit-cache/shelf.hpp"

namespace adjit::cache_tool {

/// Driver, GPUs and assembler, each a line or more. Without a driver that is one note: most
/// machines have none. What is there and does not work is a problem. Initialises the driver. The
/// compute capabilities of the GPUs (90 for 9.0).
std::set<int> examine_gpus(Report& report);

/// How many entries are for GPUs of other capabilities than these, if some are.
void examine_gpu_entries(const Shelf& shelf, const std::set<int>& here, Report& report);

/// What a cubin holds, as text (SASS), by nvdisasm or cuobjdump of CUDA's toolkit: in PATH, in the
/// folder bin of CUDA_HOME or CUDA_PATH, or in /usr/local/cuda/bin. Failure (Findings) where there
/// is neither, or it refuses the cubin.
std::string disassembled(const std::string& cubin);

}  // namespace adjit::cache_tool
