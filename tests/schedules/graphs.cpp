// tests/schedules/graphs.cpp -- graphs of files and of random programs.
#include "tests/schedules/graphs.hpp"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "jit/engine/engine.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/fuzz/draw/program_draw.hpp"
#include "tests/jit/engine/run_compiled.hpp"

namespace adjit::testing {
namespace {

std::vector<size_t> floats(const std::vector<TensorSpec>& tensors) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < tensors.size(); ++k)
    if (is_float(tensors[k].dtype)) positions.push_back(k);
  return positions;
}

// The value where there is no gradient.
Graph gradient_of_program(uint64_t seed) {
  static Engine engine(memory_only(1));
  Request request;
  request.computation = std::make_shared<const Computation>(random_program(seed).graph);
  const std::vector<size_t> wrt = floats(request.computation->inputs());
  const std::vector<size_t> outputs = floats(request.computation->outputs());
  if (!wrt.empty() && !outputs.empty())
    request.computation = Computation::transformed(
        *request.computation, {.kind = Transformation::Kind::Vjp, .wrt = wrt, .outputs = outputs});
  try {
    return final_graph(request);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::NotDifferentiable) throw;
    request.computation = std::make_shared<const Computation>(random_program(seed).graph);
    return final_graph(request);
  }
}

constexpr std::string_view kProgram = "program_";

}  // namespace

CpuTarget cpu_of(const Machine& machine) {
  CpuTarget cpu;
  cpu.cpu = machine.cpu;
  cpu.vector = from_feature_string(machine.features);
  return cpu;
}

std::string name_of(const std::string& source) {
  const size_t slash = source.rfind('/');
  const std::string file = slash == std::string::npos ? source : source.substr(slash + 1);
  return file.substr(0, file.rfind('.'));
}

Graph graph_of(const std::string& source) {
  if (source.starts_with(kProgram)) {
    char* end = nullptr;
    const uint64_t seed = std::strtoull(source.c_str() + kProgram.size(), &end, 10);
    if (end == source.c_str() + kProgram.size() || *end != '\0')
      throw Error(ErrorCode::Invalid, "'" + source + "' names no seed of a random program");
    return gradient_of_program(seed);
  }
  std::ifstream file(source);
  if (!file) throw Error(ErrorCode::Invalid, "cannot read " + source);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_graph(text.str());
}

}  // namespace adjit::testing
