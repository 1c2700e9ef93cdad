// tests/schedules/record.cpp -- the moves and the LLVM IR of graphs, as hashes: what a change that
// must not change schedules is checked by.
//
//   record_schedules [--with NAME=VALUE]... [--programs COUNT] [FILE...]
//   record_schedules [--with NAME=VALUE]... --show MACHINE FILE|program_SEED
//   record_schedules --thresholds WAY,WAY... all|NAME,NAME... FILE|program_SEED...
//
// Each FILE holds one final graph in text notation; `program_7` is the gradient of the random
// program of seed 7 (tests/fuzz/draw/program_draw.hpp), and --programs adds those of the first
// COUNT seeds. Each graph is scheduled and emitted for every machine of kMachines, none of which
// has to be the one that this runs on. Prints one JSON object, {graph: {machine: "MOVES IR"}},
// where both are hashes in hexadecimal; IR is hashed without the names of its values. --show prints
// the moves and the IR of one graph instead; --thresholds what thresholds decide
// (move_thresholds.hpp).
// --with gives a threshold another value.
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "autosched/machine/thresholds.hpp"
#include "autosched/search/search.hpp"
#include "jit/cache/entry/key.hpp"
#include "jit/cpu/machine.hpp"
#include "jit/cpu/object.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/engine.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "runtime/process/in_parallel.hpp"
#include "runtime/process/json.hpp"
#include "tests/schedules/graphs.hpp"
#include "tests/schedules/move_thresholds.hpp"

namespace adjit::testing {
namespace {

std::string hash(const std::string& text) {
  return to_hex(cache::signature_of(text)).substr(0, 12);
}

// Names are for people: a value that is called otherwise is the same value.
std::string ir_without_names(EmittedKernel& kernel) {
  for (llvm::Function& function : *kernel.module) {
    for (llvm::Argument& argument : function.args()) argument.setName("");
    for (llvm::BasicBlock& block : function) {
      block.setName("");
      for (llvm::Instruction& instruction : block) instruction.setName("");
    }
  }
  return ir_text(*kernel.module);
}

struct Recorded {
  std::string moves, ir;
};

Recorded record(const Graph& graph, const Machine& machine) {
  const CpuTarget cpu = cpu_of(machine);
  const Program program = chosen_schedule(graph, machine_of(cpu, machine.cores));
  std::vector<TensorLayout> layouts;
  for (TensorId input : graph.inputs) layouts.push_back(contiguous_layout(graph.info(input).shape));
  const KernelList kernels(program, layouts);
  Recorded recorded{program.moves_json, ""};
  for (const KernelList::Entry& entry : kernels.entries()) {
    EmittedKernel kernel =
        emit_kernel(*entry.program, entry.kernel, *entry.layouts, cpu.vector, "kernel");
    recorded.ir += ir_without_names(kernel);
    recorded.ir += "; " + std::to_string(kernel.tasks) + " tasks\n";
  }
  return recorded;
}

int show(const std::string& name, const std::string& source) {
  for (const Machine& machine : kMachines) {
    if (name != machine.name) continue;
    const Recorded recorded = record(graph_of(source), machine);
    std::cout << recorded.moves << "\n\n" << recorded.ir;
    return 0;
  }
  std::cerr << "'" << name << "' is no machine; there are:\n";
  for (const Machine& machine : kMachines) std::cerr << "  " << machine.name << "\n";
  return 2;
}

int record_all(const std::vector<std::string>& sources) {
  std::vector<std::map<std::string, std::string>> recorded(sources.size());
  const auto threads = static_cast<size_t>(ThreadPool::available_threads());
  in_parallel(sources.size(), threads, [&](size_t k, size_t) {
    const Graph graph = graph_of(sources[k]);
    recorded[k]["graph"] = content_hash(graph).substr(0, 12);
    for (const Machine& machine : kMachines) {
      const Recorded one = record(graph, machine);
      recorded[k][machine.name] = hash(one.moves) + " " + hash(one.ir);
    }
  });
  Json all = Json::object();
  for (size_t k = 0; k < sources.size(); ++k)
    for (const auto& [machine, hashes] : recorded[k]) all[name_of(sources[k])][machine] = hashes;
  std::cout << all.dump(1) << "\n";
  return 0;
}

// The usual thresholds, but for those that the arguments NAME=VALUE name.
Thresholds thresholds_with(std::span<const std::string> arguments) {
  Thresholds moved;
  for (const std::string& argument : arguments) {
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const auto row = std::ranges::find(threshold_rows(), name, &TableRow<Thresholds>::name);
    if (row == threshold_rows().end() || equals == argument.size())
      throw std::invalid_argument("--with " + argument + ": no NAME=VALUE of a threshold");
    const char* const value = argument.c_str() + equals + 1;
    char* end = nullptr;
    const double number = std::strtod(value, &end);
    if (end == value || *end != '\0' || !(number > 0))
      throw std::invalid_argument("--with " + argument + ": the value is no number above 0");
    row->set(moved, number);
  }
  return moved;
}

int run(std::vector<std::string> arguments) {
  std::vector<std::string> sources, moved;
  while (arguments.size() >= 2 && arguments[0] == "--with") {
    moved.push_back(arguments[1]);
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  const MovedThresholds during(thresholds_with(moved));
  if (arguments.size() == 3 && arguments[0] == "--show") return show(arguments[1], arguments[2]);
  if (arguments.size() >= 3 && arguments[0] == "--thresholds" && moved.empty())
    return move_thresholds({arguments.begin() + 3, arguments.end()}, arguments[1],
                           arguments[2] == "all" ? "" : arguments[2]);
  size_t first = 0;
  if (arguments.size() >= 2 && arguments[0] == "--programs") {
    const uint64_t count = std::strtoull(arguments[1].c_str(), nullptr, 10);
    for (uint64_t seed = 0; seed < count; ++seed)
      sources.push_back("program_" + std::to_string(seed));
    first = 2;
  }
  sources.insert(sources.end(), arguments.begin() + static_cast<std::ptrdiff_t>(first),
                 arguments.end());
  return record_all(sources);
}

}  // namespace
}  // namespace adjit::testing

int main(int count, char** arguments) {
  try {
    return adjit::testing::run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << "record_schedules: " << e.what() << "\n";
    return 1;
  }
}
