// autosched/program/print.cpp -- a program as readable text.
//
//   kernel 0: C[512, 512] (workspace), 8 tasks
//     parallel i/240 x3 = v0
//       serial j/32 x16 = v1
//         with P at 2: base [v1, 0], spans [1, 512, 32] (local)
//           ...
//         serial r0 x512 = v3
//           unrolled i/1 x12 = v4
//             vector j/1 x16 = v5
#include <sstream>
#include <string>

#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {
namespace {

std::string list(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t k = 0; k < values.size(); ++k)
    text += (k == 0 ? "" : ", ") + std::to_string(values[k]);
  return text + "]";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string operator()() {
    for (size_t k = 0; k < program_.kernels.size(); ++k) {
      const Kernel& kernel = program_.kernels[k];
      names_.clear();
      for (uint32_t v = 0; v < kernel.variable_count; ++v)
        names_.push_back("v" + std::to_string(v));
      text_ += "kernel " + std::to_string(k) + ": " + results(kernel.root);
      if (parallel_depth(kernel.root) > 0)
        text_ += ", " + std::to_string(task_count(kernel.root)) + " tasks";
      if (kernel.steps) {
        steps(kernel);
        continue;
      }
      fetches(kernel.root);
      text_ += "\n";
      body(kernel.root, 1);
    }
    for (size_t s : stages_in_place(program_)) {
      const Stage& stage = program_.graph.stages[s];
      text_ += program_.graph.info(stage.results[0]).name +
               list(program_.graph.info(stage.results[0]).shape) + " is " +
               program_.graph.info(program_.graph.pool.read_tensor(stage.bodies[0])).name + "\n";
    }
    return std::move(text_);
  }

 private:
  std::string results(const Nest& nest) const {
    const Stage& stage = program_.graph.stages[nest.stage];
    std::string text;
    for (TensorId id : stage.results)
      text += (text.empty() ? "" : ", ") + program_.graph.info(id).name +
              list(program_.graph.info(id).shape) + " (" +
              std::string(name_of(program_.scopes[id.value])) +
              (nest.streamed ? ", streamed)" : ")");
    if (stage.combiner.kind != CombinerKind::None)
      text += " by " + std::string(name_of(stage.combiner.kind));
    return text;
  }

  void fetches(const Nest& nest) {
    if (nest.ahead) text_ += ", fetches the next " + names_.at(*nest.ahead);
  }

  void steps(const Kernel& kernel) {
    const Scan& scan = *program_.graph.stages[kernel.root.stage].scan;
    text_ += (scan.conditional ? ", while" : ", " + std::to_string(scan.trips) + " steps") +
             (scan.reverse ? " backwards\n" : "\n");
    std::istringstream lines(print(*kernel.steps));
    for (std::string line; std::getline(lines, line);) text_ += "  " + line + "\n";
  }

  void body(const Nest& nest, size_t indent) {
    const Domain& domain = program_.graph.stages[nest.stage].domain;
    for (size_t l = 0; l <= nest.loops.size(); ++l) {
      for (const Nest::Attached& a : nest.attached)
        if (a.depth == l) attached(a, indent + l);
      if (l == nest.loops.size()) break;
      const Loop& loop = nest.loops[l];
      text_ += std::string(2 * (indent + l), ' ') + std::string(name_of(loop.kind)) + " " +
               axis_name(domain, loop.axis);
      if (loop.step != 1) text_ += "/" + std::to_string(loop.step);
      text_ += " x" + std::to_string(loop.trips) + " = " + names_.at(loop.variable) + "\n";
    }
  }

  void attached(const Nest::Attached& a, size_t indent) {
    text_ += std::string(2 * indent, ' ') + "with " + results(a.nest) + ": base [";
    for (size_t k = 0; k < a.nest.axis_base.size(); ++k)
      text_ += (k == 0 ? "" : ", ") + a.nest.axis_base[k].to_string(names_);
    text_ += "], spans " + list(a.nest.spans);
    fetches(a.nest);
    text_ += "\n";
    body(a.nest, indent + 1);
  }

  const Program& program_;
  std::vector<std::string> names_;
  std::string text_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program)(); }

}  // namespace adjit::sched
