// tests/jit/emit/emulated_function.cpp -- one vector a thread.
#include "tests/jit/emit/emulated_function.hpp"

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <array>
#include <memory>

#include "jit/cpu/object.hpp"
#include "jit/cuda/ptx/ptx.hpp"
#include "jit/emit/kernel_frame.hpp"
#include "tests/gpu_emulator/emulator.hpp"

namespace adjit::testing {

#if ADJIT_SANITIZED
void emulate(Element, const Emit&, unsigned, const EmulatedArrays&) {
  throw std::logic_error("there is no emulator");
}
#else
namespace {

std::unique_ptr<llvm::Module> module_of(llvm::LLVMContext& context, Element element,
                                        const Emit& emit, unsigned lanes) {
  const TargetFeatures features = gpu_features();
  auto module = std::make_unique<llvm::Module>("function", context);
  cuda::set_ptx_target(*module);
  llvm::Function* kernel = emit::declare_kernel(*module, "run", features, 3, false);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", kernel));
  const auto read = [&](llvm::Intrinsic::ID id) { return b.CreateIntrinsic(id, {}, {}); };
  llvm::Value* thread = b.CreateAdd(b.CreateMul(read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x),
                                                read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)),
                                    read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  llvm::Type* number = element == Element::F64 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Type* type = lanes ? llvm::FixedVectorType::get(number, lanes) : number;
  llvm::Value* first = b.CreateMul(thread, b.getInt32(std::max(lanes, 1u)));
  const llvm::Align align(element == Element::F64 ? 8 : 4);
  const auto at = [&](unsigned k) { return b.CreateInBoundsGEP(number, kernel->getArg(k), first); };
  std::array<llvm::Value*, 2> operands{b.CreateAlignedLoad(type, at(0), align),
                                       b.CreateAlignedLoad(type, at(1), align)};
  VectorMath math(b, features);
  llvm::Value* result = emit(b, math, operands);
  b.CreateAlignedStore(result, at(2), align);
  b.CreateRetVoid();
  verify_module(*module);
  return module;
}

}  // namespace

void emulate(Element element, const Emit& emit, unsigned lanes, const EmulatedArrays& arrays) {
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = module_of(*context, element, emit, lanes);
  tests::GpuEmulator emulator(std::move(module), std::move(context));
  const size_t bytes = arrays.count * (element == Element::F64 ? 8 : 4);
  const void* x = arrays.x;
  const void* y = arrays.y;
  void* out = arrays.out;
  void* parameters[] = {static_cast<void*>(&x), static_cast<void*>(&y), static_cast<void*>(&out)};
  const tests::DeviceArray memory[] = {{x, bytes}, {y, bytes}, {out, bytes}};
  const size_t blocks = arrays.count / (32 * size_t{std::max(lanes, 1u)});
  const tests::Report report =
      emulator.run("run", parameters, memory, {.blocks = static_cast<int>(blocks), .threads = 32});
  if (!report.faults.empty()) throw std::runtime_error(report.faults[0]);
}
#endif

}  // namespace adjit::testing
