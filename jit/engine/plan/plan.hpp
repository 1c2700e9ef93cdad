// jit/engine/plan/plan.hpp -- what running a compiled program takes besides its code: a plain
// value, stored beside the code.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/emit/layout.hpp"
#include "runtime/diff/checks/data_checks.hpp"

namespace adjit::engine {

/// One array that kernels read or write, and where its element 0 lies.
struct Buffer {
  enum class Kind : uint8_t {
    Input,      // the caller's, by position
    Output,     // the caller's, by position
    Workspace,  // byte offset
    Slot,       // byte offset in the slot of the thread that runs a task of a chain
    Constant,   // byte offset
    Check,      // an int64, by number
    Step,       // moves from step to step of a scan
  };
  Kind kind = Kind::Input;
  int64_t at = 0;
  int64_t slice = 0;  // Slot: bytes of one task's part, which is all that the slot holds
  bool operator==(const Buffer&) const = default;
};

struct KernelPlan {
  std::string symbol;
  std::vector<size_t> tensors;  // buffers, in the order the kernel takes them
  int64_t tasks = 1;
  int64_t in_turn = 1;       // of them, which one thread runs one after the other (program.hpp)
  bool parallel = false;     // worth the context's threads
  bool chained = false;      // continues the step before it, task by task (task_chains.hpp)
  bool by_table = false;     // of a GPU: takes one table of addresses, not each as a parameter
  int64_t threads = 0;       // of a GPU's block that runs a task; 0: a task is a thread's
  int64_t shared_bytes = 0;  // dynamic ones of such a block
  bool operator==(const KernelPlan&) const = default;
};

/// What a kernel is launched with on a GPU: each thread, or block, runs as many tasks as the kernel
/// runs in turn. No blocks: it has no task.
struct LaunchSize {
  int64_t blocks = 0;
  int threads = 0;  // of a block
  int shared_bytes = 0;
};
LaunchSize launch_size(const KernelPlan& kernel);

/// One thing to run: a kernel, or a scan, by number. A kernel that continues no chain waits for
/// these steps, and with it all kernels that continue its chain; a scan waits for all steps before
/// it, and all behind it for the scan.
struct StepPlan {
  bool scan = false;
  size_t number = 0;
  std::vector<size_t> waits = {};  // earlier kernels that continue no chain, since the last scan
  bool operator==(const StepPlan&) const = default;
};

/// A loop over steps. Step number n of `trips` works on slice t = n, or trips - 1 - n if reverse. A
/// conditional one runs as long as its last carry, one bool, is true.
struct ScanPlan {
  /// A Step buffer at slice t of another buffer.
  struct Slice {
    size_t buffer = 0, of = 0;
    int64_t bytes = 0;  // from slice to slice; may be negative
    bool operator==(const Slice&) const = default;
  };
  /// What a step reads (`in`) is what the one before wrote (`out`): at first `start`, at last
  /// `final`, between them the two spares in turn.
  struct Carry {
    size_t in = 0, out = 0, start = 0, final = 0;
    std::array<int64_t, 2> spares{};  // workspace offsets
    int64_t bytes = 0;
    bool operator==(const Carry&) const = default;
  };
  int64_t trips = 0;
  bool reverse = false;
  bool conditional = false;
  int64_t tasks = 0;  // > 0: each of so many tasks goes through all steps alone (task_chains.hpp)
  std::vector<Slice> slices;
  std::vector<Carry> carries;
  std::vector<StepPlan> before;  // run once, before the first step (scan_invariants.hpp)
  std::vector<StepPlan> steps;
  bool operator==(const ScanPlan&) const = default;
};

struct ArraySpec {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // elements
  int64_t alignment = 0;         // as TensorLayout's
  bool operator==(const ArraySpec&) const = default;
};

/// Whether element 0 of an array lies where its alignment asks for.
inline bool is_aligned(const void* first, const ArraySpec& spec) {
  return spec.alignment == 0 ||
         reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(spec.alignment) == 0;
}

struct ExecutionPlan {
  std::vector<ArraySpec> inputs, outputs;
  std::vector<Buffer> buffers;
  std::vector<KernelPlan> kernels;
  std::vector<ScanPlan> scans;
  std::vector<StepPlan> steps;  // in order
  int64_t workspace_bytes = 0;
  int64_t slot_bytes = 0;         // besides, for every thread
  std::string constants;          // bytes, each constant aligned as the workspace is
  std::vector<DataCheck> checks;  // after a run, check k's scalars are numbers 2k and 2k + 1
  bool operator==(const ExecutionPlan&) const = default;
};

/// The plan of a program whose kernels have been emitted (`kernels`: in the order of
/// kernel_list.hpp, which says what the layouts are). Outputs must be tensors of their own (see
/// autosched/lower/scans.hpp); the last ones are those of the checks.
ExecutionPlan make_plan(const Program& program, std::span<const EmittedKernel> kernels,
                        std::span<const TensorLayout> input_layouts, std::vector<DataCheck> checks,
                        std::span<const int64_t> output_alignments = {});

/// JSON without the constants, and back. Text that is not such JSON, or that names what is not
/// there, raises ErrorCode::Cache.
std::string to_json(const ExecutionPlan& plan);
ExecutionPlan plan_from_json(std::string_view text, std::string constants);

}  // namespace adjit::engine
