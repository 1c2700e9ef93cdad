// tests/gpu_emulator/host_module.cpp -- a module for NVPTX made one for the host.
//
// Address spaces stay: to x86 they are all one. Shared variables become places behind one address.
#include "tests/gpu_emulator/host_module.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/gpu_emulator/shadow.hpp"

namespace adjit::tests {
namespace {

constexpr unsigned kGlobal = 1, kShared = 3;
constexpr llvm::StringRef kNvvm = "llvm.nvvm.";

std::string text_of(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

class ToHost {
 public:
  explicit ToHost(llvm::Module& module) : module_(module), builder_(module.getContext()) {
    llvm::Type* const pointer = builder_.getPtrTy();
    llvm::Type* const number = builder_.getInt64Ty();
    use_ = module.getOrInsertFunction(kUseFunction, builder_.getVoidTy(), pointer, number,
                                      builder_.getInt32Ty(), number, number);
  }

  HostModule run() {
    branch_around_masked_lanes();
    choose_for_predicates();
    place_shared_variables();
    show_constants();
    for (llvm::Function& function : module_)
      if (!function.isDeclaration()) watch_accesses(function);
    replace_intrinsics();
    std::vector<llvm::Function*> kernels;
    for (llvm::Function& function : module_)
      if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.push_back(&function);
    for (llvm::Function* kernel : kernels) add_launch(*kernel);
    return std::move(made_);
  }

 private:
  // "@p add.rn sum, a, sum;" and "@p fma.rn sum, a, b, sum;", whose last arguments are the sum and
  // p, are choices.
  void choose_for_predicates() {
    std::vector<llvm::CallBase*> found;
    for (llvm::Function& function : module_)
      for (llvm::Instruction& instruction : llvm::instructions(function))
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
          found.push_back(call);
    for (llvm::CallBase* call : found) {
      const auto* code = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      const llvm::StringRef text = code->getAsmString();
      const auto argument = [&](unsigned k) { return call->getArgOperand(k); };
      const auto is = [&](llvm::StringRef begin, llvm::StringRef end) {
        return text.starts_with(begin) && text.ends_with(end);
      };
      builder_.SetInsertPoint(call);
      llvm::Value* on = nullptr;
      llvm::Value* sum = nullptr;
      llvm::Value* added = nullptr;
      if (is("@$3 add.rn.", " $0, $1, $0;")) {
        std::tie(sum, on) = std::pair(argument(1), argument(2));
        added = builder_.CreateFAdd(argument(0), sum);
      } else if (is("@$4 fma.rn.", " $0, $1, $2, $0;")) {
        std::tie(sum, on) = std::pair(argument(2), argument(3));
        added = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()},
                                         {argument(0), argument(1), sum});
      } else {
        continue;  // refused below
      }
      call->replaceAllUsesWith(builder_.CreateSelect(on, added, sum));
      call->eraseFromParent();
    }
  }

  // As the back end of NVPTX does.
  void branch_around_masked_lanes() {
    llvm::legacy::PassManager passes;
    passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
    passes.run(module_);
  }

  void show_constants() {
    for (llvm::GlobalVariable& variable : module_.globals()) {
      if (variable.getAddressSpace() != kGlobal || !variable.isConstant()) continue;
      variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
      variable.setName("adjit_emulate_constant");
      made_.constants.push_back({variable.getName().str(), size_of(variable.getValueType())});
    }
  }

  // What was told of shared variables, at the front of the array in the order of the module; one
  // without a size begins behind them, where a launch's dynamic bytes are.
  void place_shared_variables() {
    std::vector<llvm::GlobalVariable*> variables;
    for (llvm::GlobalVariable& variable : module_.globals())
      if (variable.getAddressSpace() == kShared) variables.push_back(&variable);
    if (variables.empty()) return;
    auto* base = new llvm::GlobalVariable(module_, builder_.getInt8Ty(), false,
                                          llvm::GlobalValue::ExternalLinkage, nullptr, kSharedBase,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
    std::vector<llvm::GlobalVariable*> dynamic;
    const auto place = [&](llvm::GlobalVariable& variable) {
      variable.replaceAllUsesWith(llvm::ConstantExpr::getGetElementPtr(
          builder_.getInt8Ty(), base,
          builder_.getInt64(static_cast<uint64_t>(made_.shared_bytes))));
    };
    for (llvm::GlobalVariable* variable : variables) {
      const auto size = static_cast<int64_t>(
          module_.getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue());
      const auto align = static_cast<int64_t>(variable->getAlign().valueOrOne().value());
      if (size == 0) {
        dynamic.push_back(variable);
        continue;
      }
      made_.shared_bytes = (made_.shared_bytes + align - 1) / align * align;
      place(*variable);
      made_.shared_bytes += size;
    }
    made_.shared_bytes = (made_.shared_bytes + 15) / 16 * 16;
    for (llvm::GlobalVariable* variable : dynamic) place(*variable);
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the module owns `base`
    for (llvm::GlobalVariable* variable : variables) variable->eraseFromParent();
  }

  // An access is as many as its alignment makes of it, of at most 16 bytes each. Of a smaller one,
  // too, the alignment is a claim: the back end makes one of neighbours by it.
  void watch(llvm::Instruction& instruction, llvm::Value* pointer, uint64_t bytes, Use use,
             uint64_t align) {
    constexpr uint64_t kMost = 16;
    const uint64_t piece = std::min({bytes & -bytes, align, kMost});
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    if (space == 0 && llvm::isa<llvm::AllocaInst>(pointer->stripInBoundsOffsets())) return;
    if (space != 0 && space != kGlobal && space != kShared) return;
    builder_.SetInsertPoint(&instruction);
    llvm::Value* const address =
        space == 0 ? pointer : builder_.CreateAddrSpaceCast(pointer, builder_.getPtrTy());
    for (uint64_t first = 0; first < bytes; first += piece) {
      llvm::Value* const at = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), address, first);
      builder_.CreateCall(
          use_, {at, builder_.getInt64(piece), builder_.getInt32(static_cast<uint32_t>(use)),
                 builder_.getInt64(made_.instructions.size()),
                 builder_.getInt64(first == 0 ? std::min(align, kMost) : piece)});
      made_.instructions.push_back(text_of(instruction));
    }
  }

  uint64_t size_of(llvm::Type* type) const {
    return module_.getDataLayout().getTypeStoreSize(type).getFixedValue();
  }

  // "llvm.nvvm.cp.async.ca.shared.global.16" writes 16 bytes at its first argument, and reads them
  // at its second one; "...global.16.s" only as many as its third argument says.
  void watch_copy(llvm::CallBase& call) {
    llvm::StringRef name = call.getCalledFunction()->getName();
    const bool in_part = name.consume_back(".s");
    uint64_t bytes = 0;
    if (!name.contains(".shared.global.") || name.rsplit('.').second.getAsInteger(10, bytes))
      return;
    if (in_part) {
      watch_some(call, call.getArgOperand(1), call.getArgOperand(2), bytes);
    } else {
      watch(call, call.getArgOperand(1), bytes, Use::Read, bytes);
    }
    watch(call, call.getArgOperand(0), bytes, Use::Write, bytes);
  }

  // A read of so many bytes (i32), or of none.
  void watch_some(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Value* bytes,
                  uint64_t align) {
    builder_.SetInsertPoint(&instruction);
    builder_.CreateCall(use_,
                        {builder_.CreateAddrSpaceCast(pointer, builder_.getPtrTy()),
                         builder_.CreateZExt(bytes, builder_.getInt64Ty()),
                         builder_.getInt32(static_cast<uint32_t>(Use::Read)),
                         builder_.getInt64(made_.instructions.size()), builder_.getInt64(align)});
    made_.instructions.push_back(text_of(instruction));
  }

  void watch_accesses(llvm::Function& function) {
    std::vector<llvm::Instruction*> all;
    for (llvm::Instruction& instruction : llvm::instructions(function)) all.push_back(&instruction);
    for (llvm::Instruction* i : all) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(i)) {
        watch(*load, load->getPointerOperand(), size_of(load->getType()), Use::Read,
              load->getAlign().value());
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(i)) {
        watch(*store, store->getPointerOperand(), size_of(store->getValueOperand()->getType()),
              Use::Write, store->getAlign().value());
      } else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(i)) {
        watch(*atomic, atomic->getPointerOperand(), size_of(atomic->getType()), Use::Atomic,
              atomic->getAlign().value());
      } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(i)) {
        // NVVM's own are emulated as they stand; others that touch memory are not.
        const bool nvvm = call->getCalledFunction() != nullptr &&
                          call->getCalledFunction()->getName().starts_with(kNvvm);
        const bool marker =
            llvm::isa<llvm::LifetimeIntrinsic>(call) || llvm::isa<llvm::AssumeInst>(call);
        if (call->isInlineAsm() ||
            (call->mayReadOrWriteMemory() && !nvvm && !marker &&
             (call->getCalledFunction() == nullptr || call->getCalledFunction()->isDeclaration())))
          throw std::runtime_error("not emulated: " + text_of(*call));
        if (nvvm) watch_copy(*call);
      } else if (i->mayReadOrWriteMemory() && !llvm::isa<llvm::FenceInst>(i)) {
        throw std::runtime_error("not emulated: " + text_of(*i));
      }
    }
  }

  // Each intrinsic is a function of the host, of the same type but for address spaces, which the
  // host does not tell apart.
  void replace_intrinsics() {
    std::vector<llvm::Function*> found;
    for (llvm::Function& function : module_)
      if (function.getName().starts_with(kNvvm) && !function.use_empty())
        found.push_back(&function);
    for (llvm::Function* intrinsic : found) {
      const std::string name = intrinsic->getName().drop_front(kNvvm.size()).str();
      llvm::Function* const host =
          llvm::Function::Create(intrinsic->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                 kIntrinsicPrefix + name, module_);
      intrinsic->replaceAllUsesWith(host);
      intrinsic->eraseFromParent();
      made_.intrinsics.push_back(name);
    }
  }

  void add_launch(llvm::Function& kernel) {
    kernel.setCallingConv(llvm::CallingConv::C);
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false);
    llvm::Function* const launch = llvm::Function::Create(
        type, llvm::GlobalValue::ExternalLinkage, kLaunchPrefix + kernel.getName().str(), module_);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "", launch));
    std::vector<llvm::Value*> arguments;
    for (const llvm::Argument& parameter : kernel.args()) {
      llvm::Value* const at =
          builder_.CreateConstGEP1_64(builder_.getPtrTy(), launch->getArg(0), parameter.getArgNo());
      llvm::Value* const value = builder_.CreateLoad(builder_.getPtrTy(), at);
      arguments.push_back(builder_.CreateLoad(parameter.getType(), value));
    }
    builder_.CreateCall(&kernel, arguments);
    builder_.CreateRetVoid();
  }

  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::FunctionCallee use_;
  HostModule made_;
};

}  // namespace

HostModule to_host(llvm::Module& module, const std::string& triple,
                   const llvm::DataLayout& layout) {
  HostModule made = ToHost(module).run();
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  for (llvm::Function& function : module) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
  }
  return made;
}

}  // namespace adjit::tests
