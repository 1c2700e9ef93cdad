// runtime/graph/parse/text_module.cpp -- parsed texts and the graphs they define.
#include "runtime/graph/parse/text_module.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/parse/instantiate.hpp"
#include "runtime/graph/parse/parser.hpp"
#include "runtime/graph/verify/verify.hpp"

namespace adjit::graph {

// The syntax points into `text`: both stay where they are.
struct TextModule::Implementation {
  std::string text;
  std::string file_name;
  Source source;
  std::vector<DefinitionSyntax> definitions;

  const DefinitionSyntax& find(std::string_view name) const {
    const auto at = std::ranges::find(definitions, name, &DefinitionSyntax::name);
    if (at == definitions.end())
      throw Error(ErrorCode::Invalid, file_name + " defines no '" + std::string(name) + "'");
    return *at;
  }
};

TextModule TextModule::parse(std::string_view source, std::string_view file_name) {
  auto implementation = std::make_shared<Implementation>();
  implementation->text = source;
  implementation->file_name = file_name;
  implementation->source = Source(implementation->text, implementation->file_name);
  implementation->definitions = parse_definitions(implementation->source);
  TextModule module;
  module.implementation_ = std::move(implementation);
  return module;
}

std::vector<std::string> TextModule::names() const {
  std::vector<std::string> list;
  if (implementation_)
    for (const DefinitionSyntax& d : implementation_->definitions) list.emplace_back(d.name);
  return list;
}

TextModule::Signature TextModule::signature(std::string_view name) const {
  invariant(implementation_ != nullptr, "an empty text module");
  const DefinitionSyntax& definition = implementation_->find(name);
  Signature result;
  for (const ParameterSyntax& input : definition.inputs) {
    result.inputs.emplace_back(input.name);
    result.input_dtypes.push_back(input.type.value().dtype);
  }
  for (const ParameterSyntax& output : definition.outputs) result.outputs.emplace_back(output.name);
  return result;
}

Graph TextModule::instantiate(std::string_view name,
                              std::span<const std::vector<int64_t>> input_shapes,
                              std::span<const DType> input_dtypes) const {
  invariant(implementation_ != nullptr, "an empty text module");
  Graph graph = graph::instantiate(implementation_->source, implementation_->find(name),
                                   input_shapes, input_dtypes);
  verify(graph);
  return graph;
}

Graph parse_graph(std::string_view text) {
  const Source source(text, "<text>");
  const std::vector<DefinitionSyntax> definitions = parse_definitions(source);
  if (definitions.size() != 1)
    throw Error(ErrorCode::Parse, "the text of a graph has one definition, not " +
                                      std::to_string(definitions.size()));
  return instantiate_concrete(source, definitions[0]);
}

}  // namespace adjit::graph
