// jit/emit/kernel.cpp -- prologue of a kernel: tensor addresses, the loop over tasks.
#include "jit/emit/kernel.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <variant>

#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/gpu/cost/requests.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"
#include "jit/emit/ir/constant_loads.hpp"
#include "jit/emit/kernel_frame.hpp"
#include "jit/emit/local_results.hpp"
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
        math_(builder_, features) {
    collect_nests(kernel_.root, nests_);
    out_.tensors = tensors_in_memory(program_, kernel_);
    out_.by_table = features.gpu && needs_table();
    function_ =
        declare_kernel(*out.module, out.symbol, features, out_.tensors.size(), out_.by_table);
    if (features.gpu && !out_.by_table) mark_what_is_only_read();
  }

  void emit() {
    builder_.SetInsertPoint(llvm::BasicBlock::Create(*out_.context, "entry", function_));
    scopes_.push(nullptr);
    KernelVariables variables(kernel_.variable_count);
    IndexEmitter index(builder_, scopes_, variables, math_.features().gpu);
    load_addresses();
    if (is_block_kernel(kernel_))
      block_.emplace(builder_, block_threads(kernel_), shared_buffers(program_));
    place_local_results(program_, kernel_,
                        {builder_, math_.features(), block_ ? &*block_ : nullptr}, places_);
    KernelContext context{{builder_, scopes_, variables, index, math_}, program_, places_};
    context.block = block_ ? &*block_ : nullptr;
    out_.tasks = task_count(kernel_.root);
    if (const std::vector<StreamedNest> streamed = streamed_nests(); streamed.empty()) {
      emit_all(context);
    } else {
      emit_streaming(context, streamed);
    }
    scopes_.pop();
    builder_.CreateRetVoid();
    if (block_) finish_block();
    if (math_.features().gpu && !out_.by_table) mark_constant_loads(*function_, only_read());
    for (const Nest* nest : nests_) out_.register_tile |= is_register_tile(*nest);
  }

 private:
  // Joins look up by a number where a tensor is (loads/load_joined.hpp).
  bool needs_table() const {
    const Graph& graph = program_.graph;
    return out_.tensors.size() > kMostParameters ||
           std::ranges::any_of(nests_, [&](const Nest* nest) {
             return !joined_tensors(graph, graph.stages[nest->stage]).empty();
           });
  }

  // Of the kernel's tensors: those of which no part is written in it.
  std::vector<bool> only_read() const {
    const std::vector<uint32_t> buffers = shared_buffers(program_);
    std::set<uint32_t> written;
    for (const Nest* nest : nests_)
      for (TensorId id : program_.graph.stages[nest->stage].results)
        written.insert(buffers[id.value]);
    std::vector<bool> read;
    for (TensorId id : out_.tensors) read.push_back(!written.contains(buffers[id.value]));
    return read;
  }

  // Results overlap nothing that a kernel reads (bindings/c/arrays.hpp), but where two tensors lie
  // in one buffer.
  void mark_what_is_only_read() {
    const std::vector<bool> read = only_read();
    for (size_t k = 0; k < read.size(); ++k)
      if (read[k]) mark_read_only(*function_, k);
  }

  // What a launch of the kernel has to know.
  void finish_block() {
    out_.threads = block_->threads();
    out_.shared_bytes = block_->shared_bytes();
    const auto* gpu = std::get_if<GpuMachine>(&program_.target);
    invariant(gpu != nullptr, "a CPU's program has loops of a block's threads");
    limit_threads(*function_, out_.threads, blocks_at_once(*gpu));
    if (out_.shared_bytes > gpu->block_shared_bytes)
      throw Error(ErrorCode::Schedule,
                  "a block of the kernel of '" + stage_name(program_.graph, root_stage()) +
                      "' would share " + std::to_string(out_.shared_bytes) + " bytes; at most " +
                      std::to_string(gpu->block_shared_bytes) + " are there");
  }

  // Blocks of a multiprocessor that registers are to be found for; 0: the assembler may weigh that.
  int64_t blocks_at_once(const GpuMachine& gpu) const {
    // Where shared memory has room for a second block, as the schedule's tiles expect, registers
    // have, too: 128 for each of 256 threads, or more.
    constexpr int64_t kFewRegisters = 128, kOfABlock = 1 << 10;  // bytes that the driver takes
    if (2 * (out_.shared_bytes + kOfABlock) <= gpu.shared_bytes &&
        2 * kFewRegisters * out_.threads <= gpu.registers)
      return 2;
    // Else, told nothing, ptxas spills some registers to make room for a third block. Where each
    // multiprocessor gets one or two blocks in all, it is told so.
    const int64_t blocks = ceil_div(out_.tasks, tasks_in_turn(program_, kernel_.root));
    const int64_t each = ceil_div(blocks, gpu.multiprocessors);
    if (each < 1 || each > 2) return 0;
    double registers = 0;
    for (const PlacedNest& nest : placed_nests(program_, kernel_))
      registers = std::max(registers, registers_of(program_, nest));
    return registers <= registers_for(gpu, each, out_.threads) ? each : 0;
  }

  const Stage& root_stage() const { return program_.graph.stages[kernel_.root.stage]; }

  // What a kernel without parallel loops does, a GPU's first thread does, or its first block.
  void emit_all(KernelContext& context) {
    const bool parallel = parallel_depth(kernel_.root) > 0;
    const int64_t in_turn = tasks_in_turn(program_, kernel_.root);
    const auto task = [&](Value* number) {
      // What the task before left to be read is written anew.
      if (block_ && in_turn > 1) block_->barrier();
      NestEmitter(context, kernel_.root, block_.has_value()).emit(parallel ? number : nullptr);
    };
    if (!parallel && !math_.features().gpu) {
      task(nullptr);
    } else {
      emit_tasks(builder_, scopes_, math_.features(), {out_.tasks, in_turn, block_.has_value()},
                 task);
    }
  }

  // The caller may own the results: a version for those that can be streamed, and one for others.
  void emit_streaming(KernelContext& context, const std::vector<StreamedNest>& nests) {
    Value* may = may_stream(builder_, nests);
    for (const bool streams : {true, false})
      emit_if(builder_, scopes_, streams ? may : builder_.CreateNot(may), {}, [&](Carried none) {
        context.streams = streams;
        context.operations = 0;
        context.unrolled_work = 0;
        emit_all(context);
        if (streams) end_streaming(builder_);
        return none;
      });
  }

  std::vector<StreamedNest> streamed_nests() const {
    std::vector<StreamedNest> streamed;
    if (!math_.features().sse41 || math_.features().gpu) return streamed;
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
    Value* table = table_of(*function_, math_.features(), out_.by_table);
    places_.set_table(table);
    for (size_t k = 0; k < out_.tensors.size(); ++k) {
      const TensorLayout& layout = layouts_[out_.tensors[k].value];
      places_.at(out_.tensors[k]) = {.pointer = tensor_pointer(builder_, *function_, table, k),
                                     .strides = layout.strides,
                                     .origin = {},
                                     .alignment = layout.alignment,
                                     .slot = k};
    }
  }

  const Program& program_;
  const Kernel& kernel_;
  std::span<const TensorLayout> layouts_;
  EmittedKernel& out_;
  llvm::IRBuilder<> builder_;
  Scopes scopes_;
  VectorMath math_;
  llvm::Function* function_ = nullptr;
  std::vector<const Nest*> nests_;
  TensorPlaces places_;
  std::optional<ThreadBlock> block_;  // of a kernel whose tasks are blocks'
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
