// autosched/program/print.cpp -- a program as readable text.
//
//   kernel 0: float(4096, 1024) y (argument), 4 tasks
//     parallel i0 in 0:4096:1024
//       serial i1 in 0:1024
//         with m(i0 + i1) (local, 4 bytes)
//           serial r_j0 in 0:1024:128
//             unrolled r_j1 in 0:128:16
//               vector r_j2 in 0:16
//                 m(i) max=! x(i, r_j)
//                   where i = i0 + i1, r_j = r_j0 + r_j1 + r_j2
//         ...
//
// A loop is named by its axis, with a number where several loops over axes of that name are around
// one statement; its range is first:end:step. `with` opens a nest that is attached there and says
// which elements of its results it computes. What is local to a block of threads is "shared". The
// statement is the stage's in text notation.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/program/threads.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/print/statement.hpp"

namespace adjit::sched {
namespace {

std::string joined(std::span<const std::string> items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string parenthesised(std::span<const std::string> items) {
  return items.empty() ? "" : "(" + joined(items) + ")";
}

// Of all buffers of a result; what a block shares has gaps behind its rows.
int64_t local_bytes(const Program& program, const Nest& nest, const TensorInfo& tensor, RunBy by) {
  const auto width = static_cast<int64_t>(size_of(tensor.dtype));
  std::vector<int64_t> extents(
      nest.spans.begin(),
      nest.spans.begin() +
          static_cast<std::ptrdiff_t>(program.graph.stages[nest.stage].domain.output_rank));
  if (by == RunBy::Block) extents = shared_extents(extents, width);
  auto bytes = static_cast<double>(nest.buffers * width);
  for (const int64_t extent : extents) bytes *= static_cast<double>(extent);
  return static_cast<int64_t>(std::min(bytes, 0x1p62));
}

// Where a nest's result is kept.
std::string storage(const Program& program, const Nest& nest, TensorId result, RunBy by) {
  const TensorInfo& tensor = program.graph.info(result);
  const Scope scope = program.scopes[result.value];
  std::string text(scope == Scope::Local && by == RunBy::Block ? "shared" : name_of(scope));
  if (scope == Scope::Local) {
    if (nest.buffers > 1) text += ", " + std::to_string(nest.buffers) + " buffers";
    text += ", " + std::to_string(local_bytes(program, nest, tensor, by)) + " bytes";
  }
  if (const int64_t gap = row_gap(program.graph, result); gap > 0)
    text += ", rows " + std::to_string(tensor.shape.back() + gap) + " apart";
  return text + (nest.streamed ? ", streamed" : "");
}

size_t operation_count(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  size_t count = 0;
  for (ExprId id : expr::reachable(pool, expressions_of(stage)))
    if (!pool.is(id, Op::Axis) && !pool.is(id, Op::Constant) && !pool.is(id, Op::Read)) ++count;
  return count;
}

class Printer {
 public:
  explicit Printer(const Program& program)
      : program_(program),
        names_(graph::printed_tensor_names(program.graph)),
        statements_(graph::statement_texts(program.graph)) {}

  std::string operator()() {
    for (size_t k = 0; k < program_.kernels.size(); ++k) kernel(k);
    for (size_t s : stages_in_place(program_)) in_place(program_.graph.stages[s]);
    return std::move(text_);
  }

 private:
  const Stage& stage_of(const Nest& nest) const { return program_.graph.stages[nest.stage]; }
  std::string declared(TensorId id) const {
    return graph::declaration(program_.graph.info(id), names_[id.value]);
  }

  void line(size_t indent, const std::string& text) {
    text_ += std::string(2 * indent, ' ') + text + "\n";
  }

  void kernel(size_t number) {
    const Kernel& kernel = program_.kernels[number];
    variables_.assign(kernel.variable_count, "");
    const RunBy by = root_run_by(kernel);
    std::vector<std::string> results;
    for (TensorId id : stage_of(kernel.root).results)
      results.push_back(declared(id) + " (" + storage(program_, kernel.root, id, by) + ")");
    std::string head = "kernel " + std::to_string(number) + ": " + joined(results);
    if (parallel_depth(kernel.root) > 0)
      head += ", " + std::to_string(task_count(kernel.root)) + " tasks";
    if (by == RunBy::Block) head += ", " + std::to_string(block_threads(kernel)) + " threads";
    if (!kernel.steps) {
      nest(kernel.root, by, 1, head);
      return;
    }
    const Scan& scan = *stage_of(kernel.root).scan;
    line(0, head + (scan.conditional ? ", while" : ", " + std::to_string(scan.trips) + " steps") +
                (scan.reverse ? " backwards" : ""));
    std::istringstream lines(print(*kernel.steps));
    for (std::string step; std::getline(lines, step);) line(1, step);
  }

  void in_place(const Stage& stage) {
    line(0, declared(stage.results[0]) + " is " +
                names_[program_.graph.pool.read_tensor(stage.bodies[0]).value] +
                " in another shape");
  }

  void nest(const Nest& nest, RunBy by, size_t indent, const std::string& head) {
    const size_t before = text_.size();
    loop(nest, by, 0, indent);
    // The loop whose next reads are fetched may be its own, which has a name only now.
    const std::string fetches =
        nest.ahead ? ", prefetches the next " + variables_.at(*nest.ahead) : "";
    text_.insert(before, std::string(2 * (indent - 1), ' ') + head + fetches + "\n");
  }

  // What is attached before loop l, the loop, and what is in it.
  void loop(const Nest& nest, RunBy by, size_t l, size_t indent) {
    for (const Nest::Attached& a : nest.attached)
      if (a.depth == l) attached(a.nest, attached_run_by(by, nest, l), indent);
    if (l == nest.loops.size()) {
      statement(nest, indent);
      return;
    }
    const Loop& loop = nest.loops[l];
    const std::string& axis = statements_[nest.stage].axes[loop.axis];
    const std::vector<size_t> same = loops_over(nest, loop.axis);
    int& around = around_[axis];
    std::string& name = variables_.at(loop.variable);
    name = same.size() == 1 && around == 0 ? axis : axis + std::to_string(around);
    int64_t end = loop.step * loop.trips;
    if (const int64_t span = nest.spans[loop.axis];
        l == same.front() && span <= end && end - span < loop.step)
      end = span;
    line(indent, std::string(name_of(loop.kind)) + " " + name + " in 0:" + std::to_string(end) +
                     (loop.step == 1 ? "" : ":" + std::to_string(loop.step)));
    ++around;
    open_.push_back(loop.variable);
    this->loop(nest, by, l + 1, indent + 1);
    open_.pop_back();
    --around_[axis];
  }

  void attached(const Nest& nest, RunBy by, size_t indent) {
    std::vector<std::string> results;
    for (TensorId id : stage_of(nest).results)
      results.push_back(names_[id.value] + parenthesised(region(nest)) + " (" +
                        storage(program_, nest, id, by) + ")");
    this->nest(nest, by, indent + 1, "with " + joined(results));
  }

  // Of open loops, outermost first.
  std::string text_of(const Affine& form) const {
    Affine ordered(form.constant());
    std::vector<std::string> names;
    for (size_t k = 0; k < open_.size(); ++k) {
      ordered.set_coefficient(k, form.coefficient(open_[k]));
      names.push_back(variables_[open_[k]]);
    }
    return to_string(ordered, names);
  }

  // Per axis of the results: the element, or first:end of those that the nest computes.
  std::vector<std::string> region(const Nest& nest) const {
    std::vector<std::string> places;
    for (size_t a = 0; a < stage_of(nest).domain.output_rank; ++a) {
      const Affine& first = nest.axis_base[a];
      places.push_back(text_of(first));
      if (nest.spans[a] == 1) continue;
      places.back() += (first.is_constant() ? ":" : " : ") + text_of(first + Affine(nest.spans[a]));
    }
    return places;
  }

  void statement(const Nest& nest, size_t indent) {
    constexpr size_t kMostOperations = 60;  // longer ones are read in the graph
    const graph::StatementText& text = statements_[nest.stage];
    const size_t count = operation_count(program_.graph, stage_of(nest));
    if (count > kMostOperations) {
      line(indent, text.target + " " + std::to_string(count) + " operations on " +
                       operands(stage_of(nest)));
    } else if (text.lets.empty()) {
      line(indent, text.target + " " + text.value);
    } else {
      line(indent, text.target);
      for (const std::string& let : text.lets) line(indent + 2, let);
      line(indent + 2, text.value);
    }
    for (const std::string& clause : text.clauses) line(indent + 1, clause);
    std::vector<std::string> where = axis_values(nest);
    where.insert(where.end(), text.conditions.begin(), text.conditions.end());
    if (!where.empty()) line(indent + 1, "where " + joined(where));
  }

  // "i = i0 + i1" for every axis that is not the one loop that has its name.
  std::vector<std::string> axis_values(const Nest& nest) const {
    const std::vector<std::string>& axes = statements_[nest.stage].axes;
    std::vector<std::string> values;
    for (size_t a = 0; a < axes.size(); ++a) {
      Affine value = nest.axis_base[a];
      for (size_t l : loops_over(nest, a)) value += Affine::variable(nest.loops[l].variable);
      const std::string text = text_of(value);
      if (text != axes[a]) values.push_back(axes[a] + " = " + text);
    }
    return values;
  }

  std::string operands(const Stage& stage) const {
    std::vector<std::string> names;
    for (ExprId read : reads_of(program_.graph, stage)) {
      const std::string& name = names_[program_.graph.pool.read_tensor(read).value];
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return joined(names);
  }

  const Program& program_;
  const std::vector<std::string> names_;                // of tensors, as statements have them
  const std::vector<graph::StatementText> statements_;  // by stage
  std::vector<std::string> variables_;                  // names of the kernel's, as they open
  std::vector<uint32_t> open_;                          // loops around what is printed
  std::map<std::string, int> around_;                   // open loops by the name of their axis
  std::string text_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program)(); }

}  // namespace adjit::sched
