// tests/documents/print_gpu_walkthrough.cpp -- a gradient on its way to a GPU.
#include "tests/documents/print_gpu_walkthrough.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "autosched/lower/final_graph.hpp"
#include "autosched/search/prediction.hpp"
#include "autosched/search/print_passes.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/object.hpp"
#include "jit/cuda/ptx/ptx.hpp"
#include "jit/engine/alignment.hpp"
#include "jit/engine/compile/gpu_modules.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::testing {
namespace {

size_t place_of(const std::string& text, const std::string& line, size_t from = 0) {
  const size_t found = text.find(line, from);
  if (found == std::string::npos) throw std::runtime_error("nothing printed has '" + line + "'");
  return found;
}

// From what begins a line to what another line begins with; the latter is not there any more.
std::string between(const std::string& text, const std::string& first, const std::string& last) {
  const size_t begin = place_of(text, "\n" + first) + 1;
  return text.substr(begin, place_of(text, "\n" + last, begin) + 1 - begin);
}

std::string head(const std::string& text, size_t lines) {
  size_t end = 0;
  for (size_t k = 0; k < lines; ++k) end = place_of(text, "\n", end) + 1;
  return text.substr(0, end) + "  ...\n";
}

// Each argument in rows, as the caller's arrays mostly lie.
GpuModules modules_of(const Program& program) {
  std::vector<TensorLayout> inputs;
  for (TensorId input : program.graph.inputs) {
    inputs.push_back(contiguous_layout(program.graph.info(input).shape));
    inputs.back().alignment = kArgumentAlignment;
  }
  const std::vector<int64_t> outputs(program.graph.outputs.size(), kArgumentAlignment);
  return emit_gpu_modules(KernelList(program, inputs, outputs), gpu_features(true));
}

}  // namespace

void add_gpu_walkthrough(Json& blocks, const Graph& softmax) {
  const GpuMachine machine;  // an H100
  ReverseOptions options;
  options.wrt = {0};
  options.outputs = {0};
  const Graph derived = vjp(softmax, options);
  blocks["gpu gradient"] = print(derived);
  const Graph graph = final_graph(derived, true);
  blocks["gpu passes"] = print_passes(graph, machine);
  const Program program = chosen_schedule(graph, machine);
  blocks["gpu program"] = print(program);
  blocks["gpu moves"] = program.moves_json + "\n";
  blocks["gpu explain"] = print_prediction(program, machine);

  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = link_bitcode(context, modules_of(program).bitcode);
  const std::string ir = ir_text(*module);
  blocks["gpu llvm"] = head(between(ir, "define ptx_kernel", "then:"), 36);
  blocks["gpu llvm tree"] = between(ir, "then:", "endif4:");
  const size_t last = ir.rfind("  call void @llvm.nvvm.barrier0()");
  blocks["gpu llvm result"] = ir.substr(last, place_of(ir, "\n}\n", last) + 1 - last);
  const std::string ptx = cuda::ptx_of(*module, machine.capability);
  blocks["gpu ptx"] = head(between(ptx, ".visible .entry", "$L__BB0_2:"), 48);
}

void add_gpu_product(Json& blocks, const Graph& dense) {
  const GpuMachine machine;  // an H100
  const Graph graph = final_graph(dense, true);
  blocks["product passes"] = print_passes(graph, machine);
  const Program program = chosen_schedule(graph, machine);
  blocks["product program"] = print(program);
  blocks["product explain"] = print_prediction(program, machine);
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = link_bitcode(context, modules_of(program).bitcode);
  const std::string ptx = cuda::ptx_of(*module, machine.capability);
  const size_t wait = place_of(ptx, "\tcp.async.wait_group");
  const size_t commit = place_of(ptx, "\tcp.async.commit_group", wait);
  blocks["product ptx copies"] = ptx.substr(wait, place_of(ptx, "\n", commit) + 1 - wait);
  const size_t terms = ptx.rfind('\n', place_of(ptx, "ld.shared.v4.f32", commit)) + 1;
  blocks["product ptx terms"] = head(ptx.substr(terms), 14);
}

}  // namespace adjit::testing
