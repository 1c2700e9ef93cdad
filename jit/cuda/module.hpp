// jit/cuda/module.hpp -- code in a GPU, and PTX made code by the driver.
#pragma once

#include <string>

#include "jit/cuda/context.hpp"

namespace adjit::cuda {

/// PTX as a cubin for the context's device, by the driver's own assembler: it can be kept in a
/// cache, as ptxas's can. ErrorCode::Compile with the driver's log where it refuses the text.
std::string link_ptx(PrimaryContext& context, const std::string& ptx);

/// A cubin in a device's memory until its owner ends. It ends without a call where the context was
/// lost, and in silence where the driver has shut down. Any thread.
class LoadedModule {
 public:
  /// ErrorCode::Compile where the image is for another GPU. The text may end when this returns.
  LoadedModule(PrimaryContext& context, const std::string& image);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  /// A kernel by its name, valid as long as the module. ErrorCode::Internal where there is none.
  FunctionHandle function(const std::string& name) const;

 private:
  PrimaryContext& context_;
  ModuleHandle module_ = nullptr;
};

/// Bytes of shared memory that launches of the function may ask for: more than 48 KB only after
/// this was said. ErrorCode::Compile where the device has fewer.
void allow_shared_memory(PrimaryContext& context, FunctionHandle function, int bytes);

}  // namespace adjit::cuda
