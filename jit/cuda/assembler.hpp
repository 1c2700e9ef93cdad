// jit/cuda/assembler.hpp -- ptxas, the assembler of CUDA's toolkit, where it is installed.
//
// It makes of PTX what a GPU runs (a cubin), in 10 to 100 ms a kernel, without a GPU. Machines
// without it let the driver do the same (module.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::cuda {

struct Assembler {
  std::string path;
  std::string version;  // "13.0.88"
};

/// ptxas by ADJIT_PTXAS ("off": none), or where the toolkit's programs are (toolkit.hpp). nullopt:
/// there is none that runs. ErrorCode::Invalid where ADJIT_PTXAS names what does not;
/// ErrorCode::Device without room for a file. Starts a process; any thread.
std::optional<Assembler> find_assembler();

/// What a kernel takes of a multiprocessor: static costs, by the assembler's own words.
struct KernelFacts {
  std::string name;
  int registers = 0;     // of a thread
  int stack_bytes = 0;   // of local memory a thread, spills included
  int spill_bytes = 0;   // stored and loaded, by the instructions that are there
  int shared_bytes = 0;  // of a block, without what a launch adds
};
struct Assembled {
  std::string cubin;
  std::vector<KernelFacts> kernels;  // in the order in which the assembler names them
};

/// For one architecture ("sm_90"). ErrorCode::Compile with the assembler's words where it refuses
/// the text; ErrorCode::Device where it cannot be run, or there is no room for its files. Blocks;
/// any thread.
Assembled assemble(const Assembler& assembler, const std::string& ptx,
                   const std::string& architecture);

/// Of what ptxas prints with --verbose.
std::vector<KernelFacts> facts_in(const std::string& printed);

}  // namespace adjit::cuda
