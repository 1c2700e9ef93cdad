// tests/jit/emit/emulated_program.hpp -- a program emitted for a GPU and run without one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/emit/kernel.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/gpu_emulator/emulator.hpp"
#include "tests/rooms.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::testing {

/// Whether there is an emulator: sanitizers do not follow its threads.
inline constexpr bool kEmulates = !test::kSanitized;

/// Kernels of a program without scans, verified and linked into one module.
class EmulatedProgram {
 public:
  /// `alignment`: of the caller's arrays (0: an element's); those of the program itself lie at
  /// multiples of 256 bytes.
  explicit EmulatedProgram(Program program, int64_t alignment = 16, bool flushes = false);

  /// The graph's outputs; results start as garbage, blocks and threads run in an order drawn from
  /// the seed. std::runtime_error says what a GPU must not be given. Needs the emulator.
  std::vector<Array> operator()(std::span<const Array> inputs, uint64_t seed = 1) const;

  /// Plants a race: the kernels run without one of their barriers (0, 1, ... in their IR) from here
  /// on. False where there are not so many.
  bool leave_out_barrier(size_t number);

  /// IR of a kernel as text.
  const std::string& ir(size_t kernel = 0) const { return ir_[kernel]; }
  /// Of all kernels.
  std::string ptx(int capability = 80) const;
  const EmittedKernel& kernel(size_t k) const { return kernels_[k]; }
  size_t instructions() const { return instructions_; }

 private:
  void run_kernels(const std::vector<void*>& addresses,
                   const std::vector<tests::DeviceArray>& arrays, uint64_t seed) const;

  Program program_;
  std::vector<TensorLayout> layouts_;
  std::vector<EmittedKernel> kernels_;  // without their modules
  std::vector<std::string> ir_, bitcode_;
  size_t instructions_ = 0;
  std::optional<size_t> left_out_;  // barrier
};

/// Whether a run ends by what a GPU must not be given, as where a barrier was left out.
bool races(const EmulatedProgram& program, std::span<const Array> inputs);

/// The graph scheduled as a GPU's threads compute it by default: all loops over outputs parallel,
/// and vectors of 16 bytes where the last one is a multiple of these.
Program flat_program(const Graph& graph);

/// What is wrong with what the program, and its graph's flat one, give in the emulator (`differs`
/// says it of outputs, "" where nothing is), or with making PTX of them; "" when all is well, and
/// where there is no emulator.
std::string check_emulated(const Program& program, std::span<const Array> inputs,
                           const std::function<std::string(std::span<const Array>)>& differs);

}  // namespace adjit::testing
