// tests/libfuzzer/attributes_fuzzer.cpp -- operators with attributes from anywhere: traced,
// verified and derived, or refused. The first two bytes choose the operator and its operands, from
// the examples that every operator has.
#include <vector>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "runtime/trace/trace.hpp"
#include "tests/libfuzzer/fuzzing.hpp"
#include "tests/runtime/trace/operator_examples.hpp"

namespace {

using namespace adjit;        // NOLINT: a program of its own
using namespace adjit::fuzz;  // NOLINT

void check(const testing::OperatorExample& example, const Json& attributes) {
  Trace trace("f");
  std::vector<TensorId> inputs;
  for (const testing::ExampleInput& input : example.inputs)
    inputs.push_back(add_input(trace, "x", input.dtype, input.shape));
  std::vector<TensorId> results = find_operator(example.name).trace(trace, inputs, attributes);
  // Of split() into thousands of parts, each of which is one stage more to derive.
  if (results.size() > 8) results.resize(8);
  const Graph graph = trace.finish(results);
  verify(graph);
  ReverseOptions options;
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (is_float(graph.info(graph.inputs[k]).dtype)) options.wrt.push_back(k);
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    if (is_float(graph.info(graph.outputs[k]).dtype)) options.outputs.push_back(k);
  if (!options.wrt.empty() && !options.outputs.empty()) verify(vjp(graph, options));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto& examples = testing::operator_examples();
  const auto& example = examples[(data[0] + size_t{256} * data[1]) % examples.size()];
  // As deep as the C interface takes them.
  const auto bounded = [](int depth, Json::parse_event_t, Json&) { return depth <= 64; };
  const Json attributes = Json::parse(data + 2, data + size, bounded, false);
  if (attributes.is_discarded()) return 0;
  fuzz::allow_errors([&] { check(example, attributes); });
  return 0;
}
