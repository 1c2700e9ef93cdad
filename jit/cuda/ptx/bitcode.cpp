// jit/cuda/ptx/bitcode.cpp -- a module as the bitcode that a driver may take in place of a cubin.
#include "jit/cuda/ptx/bitcode.hpp"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>

namespace adjit::cuda {

// The wrapper's numbers, 32 bits each and little-endian: magic, version, offset, size, CPU.
std::string wrapped_bitcode(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  const uint32_t header[] = {0x0B17C0DE, 0, 20, static_cast<uint32_t>(bitcode.size()), 0};
  std::string text;
  for (uint32_t number : header)
    for (int k = 0; k < 4; ++k, number >>= 8) text += static_cast<char>(number & 0xff);
  return text + bitcode;
}

}  // namespace adjit::cuda
