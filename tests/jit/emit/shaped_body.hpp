// tests/jit/emit/shaped_body.hpp -- the body of a program's last kernel: its shape, and what emits
// it in a function of its own.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <llvm/IR/Module.h>

#include "autosched/program/program.hpp"
#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/layout.hpp"
#include "jit/emit/shape/body_shape.hpp"
#include "jit/emit/shape/nest_shape.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// The shape of the root's body, of tensors whose rows lie one behind the other.
struct ShapedBody {
  /// `ranges`: of the axes, where not their extents. Tensors have slots where they are in memory.
  explicit ShapedBody(Program of, std::vector<Interval> ranges = {}, bool in_memory = true)
      : program(std::move(of)), nest(program, program.kernels.back().root) {
    for (uint32_t t = 0; t < program.graph.tensors.size(); ++t) {
      emit::TensorPlace& place = places.at(TensorId{t});
      place.strides = emit::contiguous_layout(program.graph.info(TensorId{t}).shape).strides;
      if (in_memory) place.slot = t;
    }
    if (ranges.empty())
      for (const int64_t extent : nest.stage->domain.extents) ranges.push_back({0, extent - 1});
    shape.emplace(program.graph, nest, std::move(ranges), places);
  }
  ShapedBody(const ShapedBody&) = delete;  // members refer to others
  ShapedBody& operator=(const ShapedBody&) = delete;

  const ExprPool& pool() const { return program.graph.pool; }
  ExprId body() const { return nest.stage->bodies[0]; }
  ExprId operand(size_t k) const { return pool().operand(body(), k); }
  const emit::BodyNode& root() const { return (*shape)[body()]; }

  Program program;
  emit::NestShape nest;
  emit::TensorPlaces places;
  std::optional<emit::BodyShape> shape;
};

/// A function `void f(ptr, i64, i64, i64)` with its variables bound: the first is where all tensors
/// are, then come the trips of the serial and parallel loops (at most three). Unrolled loops are at
/// their first trips. Nothing is run.
struct BodyBench {
  explicit BodyBench(Program program, std::vector<Interval> ranges = {})
      : body(std::move(program), std::move(ranges)),
        function(llvm::Function::Create(
            llvm::FunctionType::get(builder.getVoidTy(),
                                    {builder.getPtrTy(), builder.getInt64Ty(), builder.getInt64Ty(),
                                     builder.getInt64Ty()},
                                    false),
            llvm::GlobalValue::ExternalLinkage, "f", module)),
        variables(body.program.kernels.back().variable_count) {
    builder.SetInsertPoint(llvm::BasicBlock::Create(llvm_context, "entry", function));
    scopes.push(nullptr);
    for (uint32_t t = 0; t < body.program.graph.tensors.size(); ++t)
      body.places.at(TensorId{t}).pointer = function->getArg(0);
    unsigned scalars = 0;
    for (const Loop& loop : body.nest.nest->loops) {
      if (loop.kind == LoopKind::Vector) {
        variables.bind_lanes(loop.variable, static_cast<unsigned>(loop.trips));
      } else if (loop.kind == LoopKind::Unrolled) {
        variables.bind_fixed(loop.variable, 0);
      } else {
        index.bind_scalar(loop.variable, function->getArg(++scalars), {0, loop.trips - 1},
                          loop.step);
      }
    }
  }
  size_t instructions() const { return function->getInstructionCount(); }
  /// A vector or number of that type which is not known when the code is made.
  llvm::Value* unknown(llvm::Type* type) {
    return builder.CreateAlignedLoad(type, function->getArg(0), llvm::Align(1));
  }
  llvm::Value* unknown_lanes(llvm::Type* element) {
    return unknown(llvm::FixedVectorType::get(element, variables.lanes()));
  }

  ShapedBody body;
  llvm::LLVMContext llvm_context;
  llvm::Module module{"body", llvm_context};
  llvm::IRBuilder<> builder{llvm_context};
  llvm::Function* function;
  emit::Scopes scopes{builder};
  emit::KernelVariables variables;
  emit::IndexEmitter index{builder, scopes, variables};
  VectorMath math{builder, native_features()};
  emit::Splats splats{builder, scopes, variables};
  emit::BodyContext context{
      {builder, scopes, variables, index, math}, *body.shape, body.places, splats};
};

}  // namespace adjit::testing
