// tests/jit/emit/lane_formula.hpp -- a formula on lanes, compiled and run over arrays.
#pragma once

#include <functional>
#include <vector>

#include "jit/emit/ir/lanes.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

using Formula = std::function<Floats(Floats, Floats)>;

template <class T>
std::vector<T> evaluate(const Formula& formula, const std::vector<T>& x, const std::vector<T>& y,
                        const CompileOptions& options = {}) {
  const Emit emit = [&](llvm::IRBuilder<>& b, VectorMath& math, std::span<llvm::Value*> v) {
    const LaneContext context{b, math.features()};
    return formula(Floats(context, v[0]), Floats(context, v[1])).value();
  };
  return CompiledFunction(element_of<T>(), element_of<T>(), 2, emit, options)
      .template map2<T>(x, y);
}

}  // namespace adjit::testing
