// runtime/graph/print/statement.hpp -- a Compute or Scatter stage as a statement, in parts.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// The names that a graph's tensors print with. The graph must outlive them.
class TensorNames {
 public:
  explicit TensorNames(const Graph& graph);
  const Graph& graph() const { return graph_; }
  /// By TensorId; the same as a set.
  std::span<const std::string> all() const { return names_; }
  const std::unordered_set<std::string>& taken() const { return taken_; }

  /// "undefined" for what is no tensor of the graph.
  std::string operator()(TensorId id) const;
  std::vector<std::string> operator()(std::span<const TensorId> ids) const;
  /// "float(4, 6) A".
  std::string declared(TensorId id) const;
  /// "(float(4, 6) A, float s)".
  std::string declared(std::span<const TensorId> ids) const;

 private:
  const Graph& graph_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
};

/// "m(i) max=!", "let t0 = ...;", "t0 * x(i, r_j)", "r_j <= i".
struct StatementText {
  std::vector<std::string> axes;  // their names in it, which no tensor has
  std::string target;
  std::vector<std::string> lets;
  std::string value;
  std::vector<std::string> clauses;     // "from start", "combine ..."
  std::vector<std::string> conditions;  // on the axes: divisions and constraints
};
StatementText statement_text(const TensorNames& names, const Stage& stage);
/// The statement of every stage; of scans and calls, nothing.
std::vector<StatementText> statement_texts(const Graph& graph);

/// "[first, stop_gradient, region 2]": `own`, then what every kind of stage may carry. "" for
/// nothing.
std::string attributes(std::vector<std::string> own, const Stage& stage);

}  // namespace adjit::graph
