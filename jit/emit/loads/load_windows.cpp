// jit/emit/loads/load_windows.cpp -- whole vectors of memory, of which every lane takes one
// element.
#include "jit/emit/loads/load_windows.hpp"

#include <algorithm>

#include "jit/emit/ir/lane_memory.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// Elements of a window that some live lane wants.
Value* window_mask(llvm::IRBuilder<>& builder, unsigned lanes, const LaneWindows::Window& window,
                   Value* mask) {
  auto* type = llvm::FixedVectorType::get(builder.getInt1Ty(), lanes);
  if (!mask) {
    llvm::SmallVector<llvm::Constant*, 64> wanted(lanes, builder.getFalse());
    for (int k = 0; k < window.length; ++k) wanted[static_cast<size_t>(k)] = builder.getTrue();
    return llvm::ConstantVector::get(wanted);
  }
  Value* none = llvm::Constant::getNullValue(type);
  Value* all = nullptr;
  std::vector<bool> left(lanes, true);
  while (std::ranges::find(left, true) != left.end()) {  // once for each lane that wants the same
    llvm::SmallVector<int, 64> from(lanes, static_cast<int>(lanes));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const int element = window.element[lane];
      if (element >= 0 && left[lane] &&
          from[static_cast<size_t>(element)] < static_cast<int>(lanes))
        continue;
      if (element >= 0 && left[lane]) from[static_cast<size_t>(element)] = static_cast<int>(lane);
      left[lane] = false;
    }
    Value* part = builder.CreateShuffleVector(mask, none, from);
    all = all ? builder.CreateOr(all, part) : part;
  }
  return all;
}

}  // namespace

Value* load_windows(llvm::IRBuilder<>& builder, const TargetFeatures& features,
                    llvm::FixedVectorType* type, const std::vector<Value*>& pointers,
                    llvm::Align align, const LaneWindows& windows, Value* mask) {
  const unsigned lanes = type->getNumElements();
  Value* result = nullptr;
  llvm::SmallVector<int, 64> held(lanes, -1);  // lane by lane: where the result has it
  for (size_t w = 0; w < pointers.size(); ++w) {
    const LaneWindows::Window& window = windows.windows()[w];
    Value* loaded = load_lanes(builder, features, type, pointers[w], align,
                               window_mask(builder, lanes, window, mask));
    // The first window's lanes get their places together with the second one's.
    const int base = result ? static_cast<int>(lanes) : 0;
    for (unsigned lane = 0; lane < lanes; ++lane)
      if (window.element[lane] >= 0) held[lane] = base + window.element[lane];
    if (!result && w + 1 < pointers.size()) {
      result = loaded;
      continue;
    }
    result = result ? builder.CreateShuffleVector(result, loaded, held)
                    : builder.CreateShuffleVector(loaded, held);
    for (unsigned lane = 0; lane < lanes; ++lane)
      if (held[lane] >= 0) held[lane] = static_cast<int>(lane);
  }
  invariant(result != nullptr, "lanes take their elements of no vector");
  if (mask && windows.shared())
    result = builder.CreateSelect(mask, result, llvm::Constant::getNullValue(type));
  return result;
}

}  // namespace adjit::emit
