// autosched/search/print_passes.cpp -- the program after each pass of a schedule, as text for
// people.
#include "autosched/search/print_passes.hpp"

#include <functional>
#include <map>
#include <utility>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/print/printer.hpp"

namespace adjit::sched {
namespace {

class PassPrinter {
 public:
  void operator()(const std::string& pass, const Program& program) {
    const size_t slash = pass.rfind(" / ");
    const std::string scan = slash == std::string::npos ? "" : pass.substr(0, slash);
    // A schedule that a move refuses is made again from the beginning, with caution.
    if (scan.empty() && pass == kStart) {
      text_.clear();
      printed_.clear();
    }
    Printed& before = printed_[scan];
    Printed now{print(program.graph), print(program)};
    if (now.graph == before.graph && now.loops == before.loops) return;
    text_ += "# " + pass + "\n";
    if (now.graph != before.graph) text_ += now.graph;
    if (now.loops != before.loops) text_ += now.loops;
    text_ += "\n";
    before = std::move(now);
  }

  std::string text() const { return text_; }

 private:
  struct Printed {
    std::string graph, loops;
  };

  std::string text_;
  std::map<std::string, Printed> printed_;  // by scan; "" is the program itself
};

}  // namespace

std::string print_passes(const Graph& graph, const Target& target, const Answers& answers) {
  PassPrinter printer;
  Choices choices(answers);
  schedule_with(graph, target, choices, std::ref(printer));
  return printer.text();
}

}  // namespace adjit::sched
