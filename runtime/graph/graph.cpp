// runtime/graph/graph.cpp -- building graphs, what reads what.
#include "runtime/graph/graph.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

namespace adjit::graph {
namespace {

std::string identifier(std::string_view wanted) {
  std::string name;
  for (char c : wanted) name += (std::isalnum(static_cast<unsigned char>(c)) || c == '_') ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "t");
  return name;
}

}  // namespace

std::string to_string(const SourceLine& line) {
  if (line.file.empty() && line.operation.empty()) return "";
  std::string text = line.file.empty() ? "<unknown>" : line.file;
  if (line.line > 0) text += ":" + std::to_string(line.line);
  if (!line.operation.empty()) text += " (" + line.operation + ")";
  return text;
}

int64_t TensorInfo::element_count() const {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent == 0) return 0;
    count = checked_mul(count, extent);
  }
  return count;
}

std::string_view name_of(CombinerKind kind) {
  static constexpr std::array<std::string_view, 10> kNames{
      "none", "sum", "product", "max", "min", "argmax", "argmin", "any", "all", "custom"};
  return kNames[static_cast<size_t>(kind)];
}

TensorId add_tensor(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape) {
  // Unique names in constant time: the suffix is the tensor's own number, which no other automatic
  // name has.
  std::string unique = identifier(name);
  const auto taken = [&](const std::string& candidate) {
    return std::ranges::any_of(graph.tensors,
                               [&](const TensorInfo& t) { return t.name == candidate; });
  };
  constexpr size_t kSearchBelow = 64;  // small graphs keep their readable names
  if (graph.tensors.size() >= kSearchBelow || taken(unique)) {
    unique += "_" + std::to_string(graph.tensors.size());
    while (graph.tensors.size() < kSearchBelow && taken(unique)) unique += "_";
  }
  for (int64_t extent : shape)
    if (extent < 0)
      throw Error(ErrorCode::Shape, "tensor '" + std::string(name) + "' of shape " +
                                        shape_text(shape) + " has a negative extent");
  if (!is_countable(shape, static_cast<int64_t>(size_of(dtype))))
    throw Error(ErrorCode::Shape, "tensor '" + std::string(name) + "' of shape " +
                                      shape_text(shape) + " has more bytes than 64 bits can count");
  graph.tensors.push_back({std::move(unique), dtype, std::move(shape)});
  return TensorId{static_cast<uint32_t>(graph.tensors.size() - 1)};
}

TensorId add_input(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape) {
  const TensorId id = add_tensor(graph, name, dtype, std::move(shape));
  graph.inputs.push_back(id);
  return id;
}

TensorId add_constant(Graph& graph, std::string_view name, DType dtype, std::vector<int64_t> shape,
                      std::vector<std::byte> bytes) {
  const TensorId id = add_tensor(graph, name, dtype, std::move(shape));
  const size_t wanted = static_cast<size_t>(graph.info(id).element_count()) * size_of(dtype);
  if (bytes.size() != wanted)
    throw Error(ErrorCode::Shape, "constant '" + std::string(name) + "' has " +
                                      std::to_string(bytes.size()) +
                                      " bytes of data, its shape needs " + std::to_string(wanted));
  graph.constants.push_back({id, std::move(bytes)});
  return id;
}

std::vector<TensorId> add_compute(Graph& graph, std::string_view name, Domain domain,
                                  Combiner combiner, std::vector<ExprId> bodies,
                                  std::vector<SourceLine> lines) {
  invariant(domain.output_rank <= domain.rank(), "more output axes than axes");
  if (!is_countable(domain.extents))
    throw Error(ErrorCode::Shape, "'" + std::string(name) + "' runs over " +
                                      shape_text(domain.extents) +
                                      ", more points than 64 bits can count");
  Stage stage;
  const std::vector<int64_t> shape(domain.extents.begin(),
                                   domain.extents.begin() + static_cast<long>(domain.output_rank));
  for (size_t k = 0; k < bodies.size(); ++k) {
    const std::string suffix = bodies.size() == 1 ? "" : "_" + std::to_string(k);
    stage.results.push_back(
        add_tensor(graph, std::string(name) + suffix, graph.pool.dtype(bodies[k]), shape));
  }
  stage.domain = std::move(domain);
  stage.combiner = std::move(combiner);
  stage.bodies = std::move(bodies);
  stage.lines = std::move(lines);
  graph.stages.push_back(std::move(stage));
  return graph.stages.back().results;
}

ExprId read(Graph& graph, TensorId tensor, std::span<const ExprId> index, ExprId predicate) {
  const TensorInfo& t = graph.info(tensor);
  if (index.size() != t.shape.size())
    throw Error(ErrorCode::Shape, "'" + t.name + "' has " + std::to_string(t.shape.size()) +
                                      " dimensions but is read with " +
                                      std::to_string(index.size()) + " indices");
  return graph.pool.read(tensor, t.dtype, index, predicate);
}

std::vector<size_t> defining_stages(const Graph& graph) {
  std::vector<size_t> stage_of(graph.tensors.size(), SIZE_MAX);
  for (size_t s = 0; s < graph.stages.size(); ++s)
    for (TensorId result : graph.stages[s].results) stage_of[result.value] = s;
  return stage_of;
}

std::vector<ExprId> expressions_of(const Stage& stage) {
  std::vector<ExprId> all(stage.bodies);
  all.insert(all.end(), stage.target.begin(), stage.target.end());
  return all;
}

std::vector<TensorId> tensors_read(const Graph& graph, const Stage& stage) {
  const std::vector<ExprId> roots = expressions_of(stage);
  std::vector<TensorId> found(stage.operands);
  if (stage.initial.valid()) found.push_back(stage.initial);
  for (ExprId id : reachable(graph.pool, roots))
    if (graph.pool.is(id, Op::Read)) found.push_back(graph.pool.read_tensor(id));
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t k = 0; k < shape.size(); ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
  return text + ")";
}

}  // namespace adjit::graph
