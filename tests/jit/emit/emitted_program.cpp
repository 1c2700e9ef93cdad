// tests/jit/emit/emitted_program.cpp -- compiling kernels one by one, and running them between
// pages that may not be touched.
#include "tests/jit/emit/emitted_program.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <map>
#include <numeric>

#include <sstream>
#include <stdexcept>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/program/nests.hpp"
#include "jit/cpu/object.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/jit/emit/emitted_function.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/jit/emit/strided.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Memory for an array between two pages that fault; what is left of its own pages is checked for
// writes.
class WatchedMemory {
 public:
  WatchedMemory(size_t bytes, bool at_start) : bytes_(bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (bytes + page - 1) / page * page;
    mapped_ = inner_ + 2 * page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    if (inner_ > 0) mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE);
    inside_ = base_ + page;
    data_ = at_start ? inside_ : inside_ + (inner_ - bytes);
    if (inner_ > 0) std::memset(inside_, kGarbage, inner_);
  }
  ~WatchedMemory() { munmap(base_, mapped_); }
  WatchedMemory(const WatchedMemory&) = delete;
  WatchedMemory& operator=(const WatchedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool holds(const void* address) const {
    return address >= static_cast<void*>(base_) && address < static_cast<void*>(base_ + mapped_);
  }
  bool written_outside() const {
    const auto garbage = [](std::byte b) { return b == std::byte{kGarbage}; };
    return !std::all_of(inside_, data_, garbage) ||
           !std::all_of(data_ + bytes_, inside_ + inner_, garbage);
  }

 private:
  static constexpr unsigned char kGarbage = 0x5a;
  size_t bytes_, inner_ = 0, mapped_ = 0;
  std::byte *base_ = nullptr, *inside_ = nullptr, *data_ = nullptr;
};

thread_local sigjmp_buf fault_return;
thread_local volatile void* fault_address = nullptr;

extern "C" void on_fault(int, siginfo_t* info, void*) {
  fault_address = info->si_addr;
  siglongjmp(fault_return, 1);
}

// Runs tasks of a kernel one by one until one faults: the last first, those that go on from each
// other in turn.
void run_tasks(KernelFunction function, void* const* tensors, int64_t tasks, int64_t in_turn) {
  struct sigaction action{}, before{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  if (sigsetjmp(fault_return, 1) == 0)
    for (int64_t begin = tasks - in_turn; begin >= 0; begin -= in_turn)
      for (int64_t task = begin; task < begin + in_turn; ++task) function(tensors, task, task + 1);
  sigaction(SIGSEGV, &before, nullptr);
}

// Memory of one tensor with any strides: bytes before and behind element 0.
struct Placed {
  std::unique_ptr<WatchedMemory> memory;
  std::byte* first = nullptr;  // element 0
};

Placed place(const TensorInfo& info, const TensorLayout& layout, bool at_start) {
  const Extent extent = extent_of(info, layout);
  Placed placed;
  placed.memory = std::make_unique<WatchedMemory>(static_cast<size_t>(extent.bytes), at_start);
  placed.first = placed.memory->data() + extent.before;
  return placed;
}

}  // namespace

EmittedProgram::EmittedProgram(Program program, const std::string& target,
                               std::vector<TensorLayout> layouts)
    : program_(std::move(program)), layouts_(std::move(layouts)) {
  if (layouts_.empty())
    for (uint32_t t = 0; t < program_.graph.tensors.size(); ++t)
      layouts_.push_back({strides_of(program_.graph, TensorId{t})});
  TargetMachines& machines = machines_for(target);
  for (size_t k = 0; k < program_.kernels.size(); ++k) {
    EmittedKernel kernel =
        emit_kernel(program_, k, layouts_, machines.target().vector, "kernel_" + std::to_string(k));
    verify_module(*kernel.module);
    ir_.push_back(ir_text(*kernel.module));
    set_target(*kernel.module, machines);
    const std::vector<char> object = compile_module(
        *kernel.module, machines, codegen_level(kernel.register_tile, machines.target().vector));
    kernel.module.reset();
    kernel.context.reset();
    code_.push_back(loader().load(object, std::vector<std::string>{kernel.symbol}));
    kernels_.push_back(std::move(kernel));
  }
}

std::vector<Array> EmittedProgram::operator()(std::span<const Array> inputs, bool at_start) const {
  const Graph& graph = program_.graph;
  const std::vector<uint32_t> buffer = shared_buffers(program_);
  std::vector<std::shared_ptr<Placed>> memory(graph.tensors.size());
  for (const bool shared : {false, true})
    for (size_t t = 0; t < memory.size(); ++t)
      if (shared == (buffer[t] != t))
        memory[t] = shared
                        ? memory[buffer[t]]
                        : std::make_shared<Placed>(place(graph.tensors[t], layouts_[t], at_start));
  const auto fill = [&](TensorId id, const Array& array) {
    put(array, layouts_[id.value], memory[id.value]->first);
  };
  for (size_t k = 0; k < inputs.size(); ++k) fill(graph.inputs[k], inputs[k]);
  for (const ConstantData& constant : graph.constants) {
    const TensorInfo& info = graph.info(constant.tensor);
    fill(constant.tensor, {info.dtype, info.shape, constant.bytes});
  }
  const auto check = [&](size_t kernel) {
    for (size_t t = 0; t < memory.size(); ++t) {
      const bool faulted =
          fault_address && memory[t]->memory->holds(const_cast<void*>(fault_address));
      if (!faulted && !memory[t]->memory->written_outside()) continue;
      throw std::runtime_error("kernel " + std::to_string(kernel) +
                               (faulted ? " touches memory outside '" : " writes outside '") +
                               graph.tensors[t].name + "'");
    }
    if (fault_address) throw std::runtime_error("kernel " + std::to_string(kernel) + " faults");
  };
  fault_address = nullptr;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    std::vector<void*> table;
    for (TensorId id : kernels_[k].tensors) table.push_back(memory[id.value]->first);
    run_tasks(function(k), table.data(), kernels_[k].tasks,
              tasks_in_turn(program_, program_.kernels[k].root));
    check(k);
  }
  std::vector<Array> outputs;
  for (TensorId id : graph.outputs) {
    outputs.push_back(taken(graph.info(id), layouts_[id.value], memory[id.value]->first));
  }
  return outputs;
}

KernelFunction EmittedProgram::function(size_t kernel) const {
  return reinterpret_cast<KernelFunction>(code_[kernel]->lookup(kernels_[kernel].symbol));
}

bool target_has_fma() { return cpu_target().vector.fma; }

size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

size_t gathers(std::string_view ir) {
  size_t count = 0;
  std::istringstream lines{std::string(ir)};
  for (std::string line; std::getline(lines, line);)
    if (const size_t name = line.find("%gathered"); name != std::string::npos)
      count += line.find_first_not_of(' ') == name;
  return count;
}

std::string difference(std::span<const Array> expected, std::span<const Array> actual,
                       double tolerance, std::span<const Array> wide, const Excused& excused) {
  if (expected.size() != actual.size()) return "another number of outputs";
  for (size_t k = 0; k < expected.size(); ++k) {
    if (expected[k].shape != actual[k].shape || expected[k].dtype != actual[k].dtype)
      return "output " + std::to_string(k) + " has another shape or dtype";
    for (int64_t e = 0; e < expected[k].element_count(); ++e) {
      const double a = expected[k].at(e), b = actual[k].at(e);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double w = wide.empty() ? a : wide[k].at(e);
      const double scale = std::max({1.0, std::abs(a), std::abs(w)});
      if (!wide.empty() && !(std::abs(a - w) < tolerance / 2 * scale)) continue;
      if (is_float(expected[k].dtype) && std::abs(a - b) <= tolerance * scale) continue;
      if (excused && excused(k, e, b)) continue;
      return "output " + std::to_string(k) + ", element " + std::to_string(e) + ": expected " +
             std::to_string(a) + ", compiled " + std::to_string(b);
    }
  }
  return "";
}

std::string check_emitted(const Program& program, std::span<const Array> inputs, double tolerance) {
  const std::vector<Array> expected = interpret(program, inputs);
  const EmittedProgram emitted(program);
  for (const bool at_start : {false, true}) try {
      const std::string different = difference(expected, emitted(inputs, at_start), tolerance);
      if (!different.empty()) return different;
    } catch (const std::runtime_error& fault) {
      return fault.what();
    }
  try {
    return check_emulated(program, inputs, [&](std::span<const Array> actual) {
      return difference(expected, actual, tolerance);
    });
  } catch (const std::runtime_error& fault) {
    return fault.what();
  }
}

void expect_right(const Program& program) {
  EXPECT_EQ(check_emitted(program, small_inputs(program.graph, 3)), "") << print(program);
}

std::string checked_ir(const Program& program) {
  expect_right(program);
  return EmittedProgram(program).ir();
}

std::string x86_ir(const Program& program, bool mask_registers) {
  std::vector<TensorLayout> layouts;
  for (const TensorInfo& t : program.graph.tensors) layouts.push_back(contiguous_layout(t.shape));
  const TargetFeatures features = from_feature_string(
      mask_registers ? "+sse4.1,+avx2,+fma,+f16c,+avx512f,+avx512vl" : "+sse4.1,+avx2,+fma");
  const EmittedKernel kernel = emit_kernel(program, 0, layouts, features, "k");
  std::string text;
  llvm::raw_string_ostream(text) << *kernel.module;
  return text;
}

size_t multiply_adds(std::string_view ir) {
  return occurrences(ir, target_has_fma() ? "call <8 x float> @llvm.fma" : "fmul <8 x float>");
}

}  // namespace adjit::testing
