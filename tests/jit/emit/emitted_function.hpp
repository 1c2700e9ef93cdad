// tests/jit/emit/emitted_function.hpp -- a function of the test's own IR, verified, compiled, run.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <memory>
#include <string>

#include "jit/cpu/code.hpp"
#include "jit/cpu/target.hpp"
#include "jit/emit/ir/target.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// `void run(void* const* pointers, int64_t a, int64_t b)`.
class EmittedFunction {
 public:
  /// Emits the body, of which the end returns. Pointers are the first argument.
  using Body = std::function<void(llvm::IRBuilder<>&, llvm::Function&)>;
  explicit EmittedFunction(const Body& body);

  void operator()(void* const* pointers, int64_t a = 0, int64_t b = 0) const;
  const std::string& ir() const { return ir_; }

 private:
  std::string ir_;
  std::shared_ptr<LoadedCode> code_;
  void (*run_)(void* const*, int64_t, int64_t) = nullptr;
};

/// Machines for a target as cpu_target() takes it, and a loader: one for all tests.
TargetMachines& machines_for(const std::string& target = {});
CodeLoader& loader();
/// The machine that the tests run on.
const TargetFeatures& native_features();
/// Pointer k of the function's first argument.
llvm::Value* pointer_argument(llvm::IRBuilder<>& builder, llvm::Function& function, size_t k);

}  // namespace adjit::testing
