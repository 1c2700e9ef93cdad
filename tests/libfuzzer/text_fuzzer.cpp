// tests/libfuzzer/text_fuzzer.cpp -- text notation: whatever is parsed prints as itself, is
// verified and interpreted, or refused by an error.
#include <string>
#include <string_view>
#include <vector>

#include "autosched/program/points.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/libfuzzer/fuzzing.hpp"

namespace {

using namespace adjit;        // NOLINT: a program of its own
using namespace adjit::fuzz;  // NOLINT

// Points and elements that are walked in a moment.
bool is_small(const Graph& graph) {
  constexpr int64_t kMost = 3000;
  for (const TensorInfo& tensor : graph.tensors)
    if (tensor.element_count() > kMost) return false;
  for (const Stage& stage : graph.stages) {
    if (stage.kind == StageKind::Scan || stage.kind == StageKind::Call) return false;
    if (stage.domain.box_points() > kMost) return false;
  }
  return true;
}

void interpret_zeros(const Graph& graph) {
  std::vector<Array> inputs;
  for (const TensorId id : graph.inputs)
    inputs.push_back(Array::zeros(graph.info(id).dtype, graph.info(id).shape));
  interpret(graph, inputs);
}

void check(std::string_view text) {
  const Graph graph = parse_graph(text);
  verify(graph);
  const std::string printed = print(graph);
  const Graph again = parse_graph(printed);
  fuzz::require(print(again) == printed, "what is printed parses as another graph", printed);
  fuzz::require(content_hash(again) == content_hash(graph), "the hash is another", printed);
  if (is_small(graph)) fuzz::allow_errors([&] { interpret_zeros(graph); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::allow_errors([&] { check({reinterpret_cast<const char*>(data), size}); });
  return 0;
}
