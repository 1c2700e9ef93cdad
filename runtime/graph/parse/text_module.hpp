// runtime/graph/parse/text_module.hpp -- parsed texts and the graphs they define.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// A parsed source text: definitions whose extents may be symbols ("float(M, K) A"); shapes are
/// bound when instantiated.
class TextModule {
 public:
  /// Throws ErrorCode::Parse with line, column and a caret line.
  static TextModule parse(std::string_view source, std::string_view file_name = "<text>");
  std::vector<std::string> names() const;
  struct Signature {
    std::vector<std::string> inputs;
    std::vector<DType> input_dtypes;
    std::vector<std::string> outputs;
  };
  Signature signature(std::string_view name) const;
  /// The graph of one definition for these input shapes (dtypes must agree with the declared ones).
  /// Infers index ranges as Tensor Comprehensions does (maximal ranges with every read in bounds)
  /// where no `where` clause gives them. ErrorCode::Shape names the symbol with two values.
  Graph instantiate(std::string_view name, std::span<const std::vector<int64_t>> input_shapes,
                    std::span<const DType> input_dtypes) const;

 private:
  struct Implementation;
  std::shared_ptr<const Implementation> implementation_;
};

/// Parses the text of one concrete graph (what print() gives).
Graph parse_graph(std::string_view source);

}  // namespace adjit::graph
