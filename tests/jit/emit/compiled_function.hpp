// tests/jit/emit/compiled_function.hpp -- a function of VectorMath, compiled and run over arrays.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/target.hpp"
#include "jit/emit/math/vector_math.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Emits the result for one vector; operands as asked for.
using Emit = std::function<llvm::Value*(llvm::IRBuilder<>&, VectorMath&, std::span<llvm::Value*>)>;

enum class Element { I16, F32, F64 };
template <class T>
constexpr Element element_of() {
  return sizeof(T) == 2 ? Element::I16 : sizeof(T) == 4 ? Element::F32 : Element::F64;
}

struct CompileOptions {
  unsigned lanes = 16;      // 0: scalar
  std::string target = {};  // as cpu_target() takes it
  CodegenLevel level = CodegenLevel::Fast;
  bool library = true;  // TargetFeatures::has_library
};

/// A loop over whole vectors that reads arrays of one element type and writes one of another.
class CompiledFunction {
 public:
  CompiledFunction(Element in, Element out, size_t operands, const Emit& emit,
                   const CompileOptions& options = {});

  /// The arrays must hold a multiple of the lanes.
  template <class In, class Out>
  void operator()(std::vector<const In*> operands, Out* out, size_t count) const {
    operands.resize(3, operands[0]);
    run_(operands[0], operands[1], operands[2], out, static_cast<int64_t>(count));
  }

  /// One operand; any number of values (the tail is filled up).
  template <class Out, class In>
  std::vector<Out> map(const std::vector<In>& x) const {
    return map2<Out>(x, x);
  }
  template <class Out, class In>
  std::vector<Out> map2(std::vector<In> x, std::vector<In> y) const {
    const size_t count = x.size(), step = lanes_ ? lanes_ : 1;
    x.resize((count + step - 1) / step * step, In{});
    y.resize(x.size(), In{});
    std::vector<Out> out(x.size());
    (*this)(std::vector<const In*>{x.data(), y.data()}, out.data(), out.size());
    out.resize(count);
    return out;
  }

  double compile_milliseconds() const { return compile_milliseconds_; }
  const std::string& assembly() const { return assembly_; }

 private:
  using Function = void (*)(const void*, const void*, const void*, void*, int64_t);
  size_t lanes_;
  std::shared_ptr<LoadedCode> code_;
  Function run_ = nullptr;
  double compile_milliseconds_ = 0;
  std::string assembly_;
};

}  // namespace adjit::testing
