// jit/emit/kernel.cpp -- prologue of a kernel: tensor addresses, local buffers, the loop over
// tasks.
#include "jit/emit/kernel.hpp"

#include <algorithm>
#include <new>

#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "jit/emit/nest.hpp"
#include "jit/emit/scopes/index.hpp"
#include "jit/emit/scopes/kernel_variables.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/scopes/scopes.hpp"
#include "jit/emit/shape/places.hpp"
#include "jit/emit/tile/kernel_context.hpp"
#include "jit/emit/tile/streaming.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

void collect_nests(const Nest& nest, std::vector<const Nest*>& nests) {
  nests.push_back(&nest);
  for (const Nest::Attached& a : nest.attached) collect_nests(a.nest, nests);
}

llvm::Function* declare(llvm::Module& module, const std::string& symbol, unsigned vector_bits) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
  llvm::Function* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("prefer-vector-width", std::to_string(vector_bits));
  function->addFnAttr("min-legal-vector-width", std::to_string(vector_bits));
  function->addFnAttr("no-trapping-math", "true");
  function->addFnAttr("frame-pointer", "none");
  // Vectors that find no register lie in whole cache lines of the stack.
  function->addFnAttr("stackrealign");
  for (llvm::Argument& argument : function->args()) argument.addAttr(llvm::Attribute::NoUndef);
  return function;
}

class KernelEmitter {
 public:
  KernelEmitter(const Program& program, size_t kernel, std::span<const TensorLayout> layouts,
                const TargetFeatures& features, EmittedKernel& out)
      : program_(program),
        kernel_(program.kernels[kernel]),
        layouts_(layouts),
        out_(out),
        builder_(*out.context),
        scopes_(builder_),
        math_(builder_, features),
        function_(declare(*out.module, out.symbol, static_cast<unsigned>(features.vector_bits))) {}

  void emit() {
    collect_nests(kernel_.root, nests_);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(*out_.context, "entry", function_));
    scopes_.push(nullptr);
    KernelVariables variables(kernel_.variable_count);
    IndexEmitter index(builder_, scopes_, variables);
    load_addresses();
    allocate_locals();
    KernelContext context{{builder_, scopes_, variables, index, math_}, program_, places_};
    out_.tasks = task_count(kernel_.root);
    if (const std::vector<StreamedNest> streamed = streamed_nests(); streamed.empty()) {
      emit_tasks(context);
    } else {
      emit_streaming(context, streamed);
    }
    scopes_.pop();
    builder_.CreateRetVoid();
    for (const Nest* nest : nests_) out_.register_tile |= is_register_tile(*nest);
  }

 private:
  void emit_tasks(KernelContext& context) {
    if (parallel_depth(kernel_.root) == 0) {
      NestEmitter(context, kernel_.root).emit();
      return;
    }
    emit_loop(builder_, scopes_, function_->getArg(1), function_->getArg(2), false, {},
              [&](Value* task, Carried none) {
                NestEmitter(context, kernel_.root).emit(task);
                return none;
              });
  }

  // The caller may own the results: a version for those that can be streamed, and one for others.
  void emit_streaming(KernelContext& context, const std::vector<StreamedNest>& nests) {
    Value* may = may_stream(builder_, nests);
    for (const bool streams : {true, false})
      emit_if(builder_, scopes_, streams ? may : builder_.CreateNot(may), {}, [&](Carried none) {
        context.streams = streams;
        context.operations = 0;
        context.unrolled_work = 0;
        emit_tasks(context);
        if (streams) end_streaming(builder_);
        return none;
      });
  }

  std::vector<StreamedNest> streamed_nests() const {
    std::vector<StreamedNest> streamed;
    if (!math_.features().sse41) return streamed;
    for (const Nest* nest : nests_) {
      if (!nest->streamed) continue;
      const Stage& stage = program_.graph.stages[nest->stage];
      StreamedNest& one = streamed.emplace_back();
      for (TensorId id : stage.results) one.results.push_back(places_[id].pointer);
      for (TensorId id : tensors_read(program_.graph, stage))
        if (program_.scopes[id.value] != Scope::Local) one.reads.push_back(places_[id].pointer);
    }
    return streamed;
  }

  // A tile whose accumulators must stay in registers across the reduction loops.
  bool is_register_tile(const Nest& nest) const {
    const Stage& stage = program_.graph.stages[nest.stage];
    return stage.combiner.kind != CombinerKind::None;
  }

  void load_addresses() {
    llvm::Type* pointer = builder_.getPtrTy();
    places_.set_pointers(function_->getArg(0));
    for (TensorId id : tensors_in_memory(program_, kernel_)) {
      Value* slot = builder_.CreateInBoundsGEP(pointer, function_->getArg(0),
                                               builder_.getInt64(out_.tensors.size()));
      places_.at(id) = {builder_.CreateAlignedLoad(pointer, slot, llvm::Align(8)),
                        0,
                        layouts_[id.value].strides,
                        {},
                        false,
                        0,
                        out_.tensors.size()};
      out_.tensors.push_back(id);
    }
  }

  // The rows of a nest's buffers, in whole vectors where that costs little: a store and the loads
  // after it are then of whole vectors, too, which the processor passes on without waiting.
  struct Rows {
    std::vector<int64_t> spans;
    int64_t lanes = 0;  // of whole vectors
  };
  Rows rows_of(const Nest& nest) const {
    constexpr int64_t kPadding = 4096;  // elements
    const size_t rank = program_.graph.stages[nest.stage].domain.output_rank;
    Rows rows{{nest.spans.begin(), nest.spans.begin() + static_cast<long>(rank)}};
    if (nest.loops.empty() || nest.loops.back().kind != LoopKind::Vector) return rows;
    const Loop& loop = nest.loops.back();
    if (loop.axis >= rank) return rows;
    int64_t count = 1;
    for (size_t d = 0; d < rank; ++d) {
      if (d > loop.axis && rows.spans[d] != 1) return rows;
      if (d < loop.axis) count = checked_mul(count, std::max<int64_t>(rows.spans[d], 1));
    }
    int64_t& row = rows.spans[loop.axis];
    const int64_t padding = ceil_div(row, loop.trips) * loop.trips - row;
    if (checked_mul(count, padding) > kPadding && padding > row / 4) return rows;
    row += padding;
    rows.lanes = loop.trips;
    return rows;
  }

  void allocate_locals() {
    int64_t total = 0;
    for (const Nest* nest : nests_) {
      const Stage& stage = program_.graph.stages[nest->stage];
      const auto rank = static_cast<long>(stage.domain.output_rank);
      if (program_.scopes[stage.results.front().value] != Scope::Local) continue;
      const Rows rows = rows_of(*nest);
      for (TensorId id : stage.results) {
        int64_t elements = 1;
        for (int64_t span : rows.spans)
          elements = checked_mul(elements, std::max<int64_t>(span, 1));
        const int64_t bytes =
            checked_mul(checked_add(elements, kLaneLimit),
                        static_cast<int64_t>(size_of(program_.graph.info(id).dtype)));
        total = checked_add(total, bytes);
        if (total > kMaxLocalBytes)
          throw Error(ErrorCode::Schedule, "the local buffers of one kernel exceed " +
                                               std::to_string(kMaxLocalBytes) + " bytes at '" +
                                               program_.graph.info(id).name +
                                               "'; compute it at an inner loop or at the root");
        llvm::AllocaInst* buffer = builder_.CreateAlloca(
            llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<uint64_t>(bytes)));
        buffer->setAlignment(llvm::Align(64));
        places_.at(id) = {buffer,
                          0,
                          contiguous_layout(rows.spans).strides,
                          {nest->axis_base.begin(), nest->axis_base.begin() + rank},
                          true,
                          rows.lanes};
      }
    }
  }

  const Program& program_;
  const Kernel& kernel_;
  std::span<const TensorLayout> layouts_;
  EmittedKernel& out_;
  llvm::IRBuilder<> builder_;
  Scopes scopes_;
  VectorMath math_;
  llvm::Function* function_;
  std::vector<const Nest*> nests_;
  TensorPlaces places_;
};

}  // namespace

EmittedKernel emit_kernel(const Program& program, size_t kernel,
                          std::span<const TensorLayout> layouts, const TargetFeatures& features,
                          std::string symbol) {
  EmittedKernel out;
  out.context = std::make_unique<llvm::LLVMContext>();
  out.module = std::make_unique<llvm::Module>(symbol, *out.context);
  out.symbol = std::move(symbol);
  try {
    KernelEmitter(program, kernel, layouts, features, out).emit();
  } catch (const std::bad_alloc&) {
    out.abandon();
    throw;
  }
  return out;
}

}  // namespace adjit::emit
