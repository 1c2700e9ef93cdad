// tests/documents/print_walkthrough.cpp -- the blocks of docs/walkthrough that come from inside the
// library.
#include "tests/documents/print_walkthrough.hpp"

#include <optional>
#include <span>
#include <stdexcept>

#include "autosched/lower/final_graph.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/print_passes.hpp"
#include "autosched/search/search.hpp"
#include "jit/cpu/machine.hpp"
#include "jit/cpu/object.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/diff/checks/data_checks.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/fibre.hpp"
#include "runtime/domain/fibre_system.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::testing {
namespace {

// Whichever machine prints: a Zen 3 with one core, which has a row in jit/cpu/machine.cpp.
CpuTarget fixed_cpu() {
  CpuTarget cpu;
  cpu.cpu = "znver3";
  cpu.vector = from_feature_string("+sse4.1,+avx,+avx2,+fma,+f16c");
  return cpu;
}

// A section for each pass that changes the graph, under its name.
std::string print_changes(Graph& graph, std::span<const CleanUpPass> passes) {
  std::string text;
  std::string before = print(graph);
  for (const CleanUpPass& pass : passes) {
    graph = pass.run(std::move(graph));
    std::string now = print(graph);
    if (now != before) text += "# " + std::string(pass.name) + "\n" + now + "\n";
    before = std::move(now);
  }
  return text;
}

// The axes and divisions of the source, then the coordinates of the element.
std::vector<std::string> with_parameters(const Domain& source, size_t rank) {
  std::vector<std::string> names = default_axis_names(source);
  for (size_t d = 0; d < source.divisions.size(); ++d) names.push_back("q" + std::to_string(d));
  for (size_t j = 0; j < rank; ++j) names.push_back("e" + std::to_string(j));
  return names;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The equations and rows that say which points read element e of the tensor.
std::string print_system(const Domain& source, std::span<const Affine> index,
                         std::span<const int64_t> shape) {
  const domain::FibreSystem system(source, index, shape);
  const std::vector<std::string> names = with_parameters(source, shape.size());
  std::vector<std::string> lines;
  for (const Affine& form : system.equalities) lines.push_back(to_string(form, names) + " == 0");
  for (const Affine& form : system.inequalities) lines.push_back(to_string(form, names) + " >= 0");
  return joined(lines);
}

// The axes of a piece: the element's first, then the free ones.
std::string print_piece(const FibrePiece& piece, const Domain& source) {
  std::vector<std::string> names;
  for (size_t k = 0; k < piece.domain.rank(); ++k)
    names.push_back(k < piece.domain.output_rank
                        ? "e" + std::to_string(k)
                        : "t" + std::to_string(k - piece.domain.output_rank));
  std::vector<std::string> lines;
  for (size_t k = 0; k < piece.domain.rank(); ++k)
    lines.push_back(names[k] + " in 0:" + std::to_string(piece.domain.extents[k]));
  for (const Division& division : piece.domain.divisions) {
    const std::string name = "q" + std::to_string(names.size() - piece.domain.rank());
    lines.push_back(name + " = (" + to_string(division.numerator, names) + ") // " +
                    std::to_string(division.divisor));
    names.push_back(name);
  }
  for (const Affine& form : piece.domain.equalities)
    lines.push_back(to_string(form, names) + " == 0");
  for (const Affine& form : piece.domain.inequalities)
    lines.push_back(to_string(form, names) + " >= 0");
  const std::vector<std::string> axes = default_axis_names(source);
  for (size_t k = 0; k < piece.original.size(); ++k)
    lines.push_back(axes[k] + " = " + to_string(piece.original[k], names));
  return joined(lines);
}

// A read of one tensor in one stage, turned round: `stage` of `graph` reads the tensor by an affine
// index.
void add_fibre(Json& blocks, const std::string& name, const Graph& graph, std::string_view which,
               std::string_view tensor) {
  for (const Stage& stage : graph.stages) {
    if (stage_name(graph, stage) != which) continue;
    for (ExprId node : reachable(graph.pool, stage.bodies)) {
      if (!graph.pool.is(node, Op::Read)) continue;
      const TensorInfo& info = graph.info(graph.pool.read_tensor(node));
      if (info.name != tensor) continue;
      Domain source = stage.domain;
      std::vector<Affine> index;
      for (ExprId coordinate : graph.pool.read_index(node))
        index.push_back(as_affine(graph.pool, coordinate, source).value());
      blocks[name + " system"] = print_system(source, index, info.shape);
      const auto found = domain::fibre(source, index, info.shape);
      std::string pieces;
      for (const FibrePiece& piece : found.value()) pieces += print_piece(piece, source);
      blocks[name + " fibre"] = pieces;
      return;
    }
  }
  throw std::runtime_error("no read of " + std::string(tensor) + " in " + std::string(which));
}

// Before clean-up, the passes of the first round that change it, and after all rounds.
void add_derivative(Json& blocks, const std::string& name, Graph graph) {
  ReverseOptions options;
  options.wrt = {0};
  options.outputs = {0};
  options.keep_outputs = true;
  options.clean = false;
  blocks[name + " before"] = print_changes(graph, passes_before_derivative());
  graph = vjp(graph, options);
  blocks[name + " derivative"] = print(graph);
  blocks[name + " clean"] = print(simplify(graph));
  blocks[name + " clean-up"] = print_changes(graph, clean_up_passes());
}

// The kernel's function, no more of it than these lines.
std::string excerpt(const std::string& ir, size_t lines) {
  const size_t begin = ir.find("define "), close = ir.find("\n}\n", begin) + 3;
  size_t end = begin;
  for (size_t line = 0; line < lines && end < close; ++line) end = ir.find('\n', end) + 1;
  return ir.substr(begin, end - begin) + (end < close ? "  ...\n" : "");
}

void add_program(Json& blocks, const Graph& traced) {
  const CpuTarget cpu = fixed_cpu();
  const CpuMachine machine = machine_of(cpu, 1);
  const std::vector<size_t> wrt = {0};
  const Graph derived = gradient(traced, wrt, 0, true);
  blocks["gradient"] = print(derived);
  const CheckedGraph checked = with_data_checks(final_graph(derived, true));
  blocks["final"] = print(checked.graph);
  const std::optional<Candidate> chosen = choice(checked.graph, machine);
  const Answers answers = chosen ? chosen->answers : Answers{};
  blocks["passes"] = print_passes(checked.graph, machine, answers);
  const Program program = chosen_schedule(checked.graph, machine);
  blocks["program"] = print(program);
  blocks["moves"] = program.moves_json + "\n";
  std::vector<TensorLayout> layouts;
  for (TensorId input : checked.graph.inputs)
    layouts.push_back(contiguous_layout(checked.graph.info(input).shape));
  const KernelList kernels(program, layouts);
  for (const KernelList::Entry& entry : kernels.entries()) {
    EmittedKernel kernel =
        emit_kernel(*entry.program, entry.kernel, *entry.layouts, cpu.vector, "kernel");
    const Nest& root = entry.program->kernels[entry.kernel].root;
    const Stage& stage = entry.program->graph.stages[root.stage];
    blocks["llvm " + stage_name(entry.program->graph, stage)] =
        excerpt(ir_text(*kernel.module), 42);
  }
}

}  // namespace

Json print_walkthrough(const Graph& traced, const Graph& strided, const Graph& masked) {
  Json blocks = Json::object();
  add_derivative(blocks, "example", traced);
  add_fibre(blocks, "example", traced, "t_3", "t");
  add_derivative(blocks, "strided", strided);
  add_derivative(blocks, "masked", masked);
  add_fibre(blocks, "strided", strided, "y", "x");
  add_program(blocks, traced);
  return blocks;
}

}  // namespace adjit::testing
