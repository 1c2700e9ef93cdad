// tests/libfuzzer/derivative_fuzzer.cpp -- what a text means: derived, cleaned up, scheduled and
// run literally, or refused by an error.
#include <string_view>
#include <vector>

#include "autosched/lower/final_graph.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/libfuzzer/literal_run.hpp"

namespace {

using namespace adjit;        // NOLINT: a program of its own
using namespace adjit::fuzz;  // NOLINT

void check_schedule(const Graph& graph) {
  const Graph final = final_graph(graph);  // as the engine does
  verify(final);
  fuzz::require_meaning(final, default_schedule(final, CpuMachine{.cores = 2}));
}

void check_derivative(const Graph& graph) {
  ReverseOptions options;
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (is_float(graph.info(graph.inputs[k]).dtype)) options.wrt.push_back(k);
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    if (is_float(graph.info(graph.outputs[k]).dtype)) options.outputs.push_back(k);
  if (options.wrt.empty() || options.outputs.empty()) return;
  check_schedule(vjp(graph, options));
}

void check(std::string_view text) {
  const Graph graph = parse_graph(text);
  constexpr size_t kMostStages = 8;  // of many a schedule takes long, which is no fault
  if (graph.stages.size() > kMostStages) return;
  fuzz::allow_errors([&] { check_schedule(graph); });
  fuzz::allow_errors([&] { check_derivative(graph); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::allow_errors([&] { check({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
