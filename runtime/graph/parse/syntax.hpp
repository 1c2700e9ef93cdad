// runtime/graph/parse/syntax.hpp -- what the parser makes of a text: syntax trees whose extents may
// be symbols.
//
// All views point into the source text, which must outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/parse/lexer.hpp"

namespace adjit::graph {

enum class SyntaxKind : uint8_t {
  Integer,      // text
  Float,        // text; also inf and nan; 0x... are the bits of a NaN
  Boolean,      // text
  Name,         // an axis, a let, a symbol, a scalar tensor
  Dimension,    // text: A.0
  Operation,    // op over the children
  Call,         // text(children): a tensor's element, a function, a cast
  GuardedRead,  // text(children without the last, where the last)
};

struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::Integer;
  Op op = Op::Constant;
  bool negative = false;  // a literal with a minus sign directly before it
  bool swapped = false;   // a > b is the operation b < a: operands in written order
  std::string_view text;
  uint32_t offset = 0;       // in the source
  uint32_t first_child = 0;  // into Syntax::children
  uint32_t child_count = 0;
  uint32_t subtree = 0;  // the subtree is the contiguous nodes [subtree, this]
};

/// Expressions in post-order: a node's children stand before it and its subtree is contiguous, so
/// that every pass is a loop and nesting costs no stack.
struct Syntax {
  std::vector<SyntaxNode> nodes;
  std::vector<uint32_t> children;
  const SyntaxNode& operator[](uint32_t id) const { return nodes[id]; }
  uint32_t child(uint32_t id, size_t k) const { return children[nodes[id].first_child + k]; }
};

using SyntaxId = uint32_t;

struct TypeSyntax {
  DType dtype = DType::Float32;
  std::vector<SyntaxId> extents;
  uint32_t offset = 0;
};

/// "float(M, K) A"; in a scan "carry float(4) h = h0"; in a call "float(4) x = x0", "closed ...".
struct ParameterSyntax {
  enum class Role : uint8_t { Input, Carry, Over, Fixed, Closed } role = Role::Input;
  std::optional<TypeSyntax> type;  // absent only for outputs
  std::string_view name;
  std::string_view operand;  // scans and calls only
  uint32_t offset = 0;
};

struct LetSyntax {
  std::string_view name;
  SyntaxId value = 0;
  uint32_t offset = 0;
};

struct WhereSyntax {
  enum class Kind : uint8_t { Range, Let, Exists, Condition } kind = Kind::Range;
  std::string_view name;
  SyntaxId first = 0, second = 0;  // Range: bounds; others: first only
  uint32_t offset = 0;
};

struct NameSyntax {
  std::string_view text;
  uint32_t offset = 0;
};

struct StatementSyntax;

/// "(float(4) x) -> (y) { ... }": a graph inside a statement.
struct SubgraphSyntax {
  std::vector<ParameterSyntax> parameters;
  std::vector<NameSyntax> outputs;
  std::vector<StatementSyntax> body;
};

struct ScanSyntax {
  std::string_view name;
  SyntaxId trips = 0;
  SyntaxId segment = 0;
  bool segmented = false;
  bool reverse = false;
  bool conditional = false;  // "while" instead of trips
  SubgraphSyntax step;
};

struct CallSyntax {
  std::string_view name;
  bool recompute = false;
  SubgraphSyntax body;
  std::optional<SubgraphSyntax> forward, backward;
};

struct StatementSyntax {
  enum class Kind : uint8_t { Pointwise, Scatter, Constant, Scan, Call } kind = Kind::Pointwise;
  uint32_t offset = 0;
  std::optional<TypeSyntax> type;         // of the result, when declared
  std::vector<ParameterSyntax> declared;  // Call: an opaque one's results
  std::vector<NameSyntax> results;
  std::vector<SyntaxId> left;  // index expressions of the left-hand side
  CombinerKind combiner = CombinerKind::None;
  bool fresh = true;  // "=", "+=!": not onto what the tensor held
  Ties ties = Ties::Even;
  OutOfRange mode = OutOfRange::Error;
  bool stop_gradient = false;
  std::optional<SyntaxId> region;
  std::vector<LetSyntax> lets;
  std::vector<SyntaxId> bodies;
  std::optional<NameSyntax> from;
  std::vector<NameSyntax> arguments;  // custom: left names, right names
  std::vector<LetSyntax> combine_lets;
  std::vector<SyntaxId> combine;
  std::vector<SyntaxId> identity;
  std::vector<WhereSyntax> where;
  std::vector<SyntaxId> elements;    // Constant: listed
  std::optional<NameSyntax> hex;     // Constant: bytes
  std::string_view callee;           // Call: opaque
  std::vector<NameSyntax> operands;  // Call: opaque
  std::optional<CallSyntax> call;    // Call: with a body
  std::optional<ScanSyntax> scan;
};

struct DefinitionSyntax {
  std::string_view name;
  uint32_t offset = 0;
  Syntax syntax;
  std::vector<ParameterSyntax> inputs;
  std::vector<ParameterSyntax> outputs;
  std::vector<StatementSyntax> body;
};

}  // namespace adjit::graph
