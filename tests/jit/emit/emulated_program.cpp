// tests/jit/emit/emulated_program.cpp -- kernels for a GPU on the host's memory.
#include "tests/jit/emit/emulated_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "jit/cpu/object.hpp"
#include "jit/cuda/assembler.hpp"
#include "jit/cuda/ptx/bitcode.hpp"
#include "jit/cuda/ptx/ptx.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/gpu_emulator/emulator.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/gpu_numbers.hpp"
#include "tests/jit/emit/strided.hpp"

namespace adjit::testing {
namespace {

constexpr int64_t kOwnAlignment = 256;
constexpr int kThreads = 32;  // of a block
// What is checked of a GPU beside a CPU, where each access is a call: small programs, and so many
// instructions of a test's first ones (as much as takes some seconds).
constexpr int64_t kMostPoints = 20000;
constexpr size_t kMostInstructions = 3000, kMostOfATest = 30000;

// Whether so many instructions are left of those of the test that runs.
bool are_left(size_t instructions) {
  static const ::testing::TestInfo* test = nullptr;
  static size_t used = 0;
  const ::testing::TestInfo* now = ::testing::UnitTest::GetInstance()->current_test_info();
  if (now != test) used = 0;
  test = now;
  if (instructions > kMostInstructions || used + instructions > kMostOfATest) return false;
  used += instructions;
  return true;
}

// Makes code of the first program of each test, where there is an assembler: its refusal is thrown.
void assemble_first(const EmulatedProgram& program) {
  static const std::optional<cuda::Assembler> assembler = cuda::find_assembler();
  static const ::testing::TestInfo* last = nullptr;
  const ::testing::TestInfo* now = ::testing::UnitTest::GetInstance()->current_test_info();
  if (!assembler || now == last) return;
  last = now;
  for (const int capability : {80, 90}) {
    const std::string ptx = program.ptx(capability);
    note_assembled(ptx,
                   cuda::assemble(*assembler, ptx, "sm_" + std::to_string(capability)).kernels);
  }
}

// Memory for a tensor whose element 0 lies at a multiple of `alignment`, and of no higher power of
// two.
class DeviceMemory {
 public:
  DeviceMemory(const Extent& extent, int64_t alignment)
      : bytes_(static_cast<size_t>(extent.bytes + 4 * kOwnAlignment), std::byte{0x5a}) {
    const auto begin = reinterpret_cast<uintptr_t>(bytes_.data()) + extent.before;
    const auto aligned = (begin + kOwnAlignment - 1) / kOwnAlignment * kOwnAlignment;
    first_ = bytes_.data() + (aligned - reinterpret_cast<uintptr_t>(bytes_.data())) + alignment;
    array_ = {first_ - extent.before, static_cast<size_t>(extent.bytes)};
  }
  DeviceMemory(const DeviceMemory&) = delete;  // its pointers point into it
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* first() const { return first_; }
  const tests::DeviceArray& array() const { return array_; }

 private:
  std::vector<std::byte> bytes_;
  std::byte* first_ = nullptr;
  tests::DeviceArray array_;
};

constexpr const char* kBarrierCall = "call void @llvm.nvvm.barrier0()";

// Whether the caller's memory is among what lies in the tensor's buffer.
std::vector<bool> in_callers_memory(const Program& program, const std::vector<uint32_t>& buffer) {
  std::vector<bool> callers(buffer.size(), false);
  const auto mark = [&](TensorId id) { callers[buffer[id.value]] = true; };
  for (TensorId id : program.graph.inputs) mark(id);
  for (TensorId id : program.graph.outputs) mark(id);
  for (const ConstantData& constant : program.graph.constants) mark(constant.tensor);
  for (size_t t = 0; t < buffer.size(); ++t) callers[t] = callers[buffer[t]];
  return callers;
}

}  // namespace

EmulatedProgram::EmulatedProgram(Program program, int64_t alignment, bool flushes)
    : program_(std::move(program)) {
  const std::vector<uint32_t> buffer = shared_buffers(program_);
  const std::vector<bool> callers = in_callers_memory(program_, buffer);
  for (uint32_t t = 0; t < program_.graph.tensors.size(); ++t)
    layouts_.push_back({.strides = strides_of(program_.graph, TensorId{t}),
                        .alignment = callers[t] ? alignment : kOwnAlignment});
  for (size_t k = 0; k < program_.kernels.size(); ++k) {
    EmittedKernel kernel =
        emit_kernel(program_, k, layouts_, gpu_features(flushes), "kernel_" + std::to_string(k));
    verify_module(*kernel.module);
    ir_.push_back(ir_text(*kernel.module));
    instructions_ += kernel.module->getInstructionCount();
    cuda::set_ptx_target(*kernel.module);
    bitcode_.push_back(cuda::wrapped_bitcode(*kernel.module));
    kernel.module.reset();
    kernel.context.reset();
    kernels_.push_back(std::move(kernel));
  }
}

std::string EmulatedProgram::ptx(int capability) const {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = cuda::link_bitcode(context, bitcode_);
  return cuda::ptx_of(*module, capability);
}

std::vector<Array> EmulatedProgram::operator()(std::span<const Array> inputs, uint64_t seed) const {
  const Graph& graph = program_.graph;
  const std::vector<uint32_t> buffer = shared_buffers(program_);
  std::vector<std::shared_ptr<DeviceMemory>> memory(graph.tensors.size());
  std::vector<tests::DeviceArray> arrays;
  for (size_t t = 0; t < memory.size(); ++t) {
    if (buffer[t] != t) continue;
    const int64_t known = layouts_[t].alignment;
    memory[t] = std::make_shared<DeviceMemory>(
        extent_of(graph.tensors[t], layouts_[t]),
        known != 0 ? known : static_cast<int64_t>(size_of(graph.tensors[t].dtype)));
    arrays.push_back(memory[t]->array());
  }
  for (size_t t = 0; t < memory.size(); ++t) memory[t] = memory[buffer[t]];
  std::vector<void*> addresses;  // by tensor
  for (const auto& one : memory) addresses.push_back(one->first());
  const auto first = [&](TensorId id) { return memory[id.value]->first(); };
  for (size_t k = 0; k < inputs.size(); ++k)
    put(inputs[k], layouts_[graph.inputs[k].value], first(graph.inputs[k]));
  for (const ConstantData& constant : graph.constants) {
    const TensorInfo& info = graph.info(constant.tensor);
    put({info.dtype, info.shape, constant.bytes}, layouts_[constant.tensor.value],
        first(constant.tensor));
  }
  const auto start = std::chrono::steady_clock::now();
  run_kernels(addresses, arrays, seed);
  {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(gpu_numbers().mutex);
    ++gpu_numbers().emulated;
    gpu_numbers().emulated_s += took.count();
  }
  std::vector<Array> outputs;
  for (TensorId id : graph.outputs)
    outputs.push_back(taken(graph.info(id), layouts_[id.value], first(id)));
  return outputs;
}

bool EmulatedProgram::leave_out_barrier(size_t number) {
  left_out_ = number;
  size_t barriers = 0;
  for (const std::string& ir : ir_) barriers += occurrences(ir, kBarrierCall);
  return number < barriers;
}

#if ADJIT_SANITIZED
void EmulatedProgram::run_kernels(const std::vector<void*>&, const std::vector<tests::DeviceArray>&,
                                  uint64_t) const {
  throw std::logic_error("there is no emulator");
}
#else
namespace {

void erase_barrier(llvm::Module& module, size_t number) {
  std::vector<llvm::Instruction*> barriers;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_barrier0)
          barriers.push_back(&instruction);
  barriers.at(number)->eraseFromParent();
}

}  // namespace

void EmulatedProgram::run_kernels(const std::vector<void*>& addresses,
                                  const std::vector<tests::DeviceArray>& arrays,
                                  uint64_t seed) const {
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = cuda::link_bitcode(*context, bitcode_);
  if (left_out_) erase_barrier(*module, *left_out_);
  tests::GpuEmulator emulator(std::move(module), std::move(context));
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const EmittedKernel& kernel = kernels_[k];
    std::vector<void*> values;
    for (TensorId id : kernel.tensors) values.push_back(addresses[id.value]);
    void* table = static_cast<void*>(values.data());
    std::vector<void*> parameters;
    for (void*& value : values) parameters.push_back(static_cast<void*>(&value));
    std::vector<tests::DeviceArray> all = arrays;
    if (kernel.by_table) {
      parameters = {static_cast<void*>(&table)};
      all.push_back({table, values.size() * sizeof(void*)});
    }
    const int64_t workers = kernel.tasks / tasks_in_turn(program_, program_.kernels[k].root);
    tests::Launch launch{.blocks = static_cast<int>(workers),
                         .threads = static_cast<int>(kernel.threads),
                         .shared_bytes = kernel.shared_bytes,
                         .seed = seed};
    if (kernel.threads == 0) {
      launch.blocks = static_cast<int>(ceil_div(workers, kThreads));
      launch.threads = kThreads;
    }
    const tests::Report report = emulator.run(kernel.symbol, parameters, all, launch);
    if (!report.faults.empty())
      throw std::runtime_error("on a GPU kernel " + std::to_string(k) + ": " + report.faults[0]);
  }
}

#endif

namespace {

// As initial_program() makes it, of a graph that has been lowered.
Program plain_program(LoweredGraph graph) {
  Program program;
  program.graph = std::move(graph);
  program.target = GpuMachine{};
  program.scopes.assign(program.graph.tensors.size(), Scope::None);
  const auto mark = [&](TensorId id, Scope scope) { program.scopes[id.value] = scope; };
  for (TensorId id : program.graph.inputs) mark(id, Scope::Argument);
  for (const ConstantData& c : program.graph.constants) mark(c.tensor, Scope::Argument);
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    for (TensorId id : program.graph.stages[s].results) mark(id, Scope::Workspace);
    Kernel kernel;
    kernel.root = plain_nest(program.graph, s, kernel.variable_count);
    program.kernels.push_back(std::move(kernel));
  }
  for (TensorId id : program.graph.outputs) mark(id, Scope::Argument);
  index_readers(program);
  return program;
}

Program made_flat(Program program) {
  const auto attempt = [&](auto&& move) {
    try {
      program = move();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
  };
  std::vector<size_t> stages;
  for (const Kernel& kernel : program.kernels) stages.push_back(kernel.root.stage);
  for (const size_t stage : stages) {
    const Stage& computed = program.graph.stages[stage];
    const size_t rank = computed.domain.output_rank;
    const auto lanes =
        static_cast<int64_t>(16 / size_of(program.graph.info(computed.results[0]).dtype));
    if (rank == 0) continue;
    if (computed.domain.extents[rank - 1] % lanes == 0)
      attempt([&] { return vectorize(program, stage, rank - 1, lanes); });
    for (size_t loops = rank; loops > 0; --loops) {
      const std::string before = program.moves_json;
      attempt([&] { return parallel(program, stage, loops); });
      if (program.moves_json != before) break;
    }
  }
  return program;
}

}  // namespace

bool races(const EmulatedProgram& program, std::span<const Array> inputs) {
  try {
    program(inputs);
    return false;
  } catch (const std::runtime_error&) {
    return true;
  }
}

Program flat_program(const Graph& graph) { return made_flat(initial_program(graph, GpuMachine{})); }

std::string check_emulated(const Program& program, std::span<const Array> inputs,
                           const std::function<std::string(std::span<const Array>)>& differs) {
  // Once is enough: the tests for other CPUs run the same.
  const char* cpu = std::getenv("ADJIT_CPU");
  if (!kEmulates || (cpu && *cpu)) return "";
  const auto check = [&](const Program& one, int64_t alignment, uint64_t seed) -> std::string {
    const EmulatedProgram emulated(one, alignment);
    if (!are_left(emulated.instructions())) return "";
    std::string wrong = differs(emulated(inputs, seed));
    if (!wrong.empty()) return "on a GPU " + wrong;
    emulated.ptx();
    assemble_first(emulated);
    return "";
  };
  int64_t points = 0;
  interpret(program, inputs, &points);
  if (points > kMostPoints) return "";
  std::string wrong = check(program, points % 2 == 0 ? 16 : 0, 1);
  if (!wrong.empty() || program.in_place > 0) return wrong;
  return check(made_flat(plain_program(program.graph)), 16, 2);
}

}  // namespace adjit::testing
