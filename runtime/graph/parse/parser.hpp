// runtime/graph/parse/parser.hpp -- the grammar of the text notation.
//
// A superset of Tensor Comprehensions' language (https://arxiv.org/abs/1802.04730). '#' begins a
// comment; `{x}` is repetition, `[x]` an option; statements need no separator, a ';' between them
// is allowed.
//
//   module      = { definition }
//   definition  = "def" name "(" [ input { "," input } ] ")"
//                 "->" "(" [ output { "," output } ] ")" block
//   block       = "{" { statement } "}"
//   input       = type name
//   output      = [ type ] name
//   type        = dtype [ "(" [ expr { "," expr } ] ")" ]       float(M, K), double, bool(N)
//   statement   = pointwise | constant | scan | call
//   pointwise   = [ "scatter" ] [ type ] result update [ attributes ] { let } value
//                 [ "<=>" name "(" [ exprs ] ")" ] { clause }
//   result      = name [ "(" exprs ")" ]  |  "(" names ")" "(" exprs ")"   C(i, j)   (v, at)(i)
//   update      = "="  |  combiner "="  |  combiner "=!"
//   combiner    = "+" | "*" | "max" | "min" | "argmax" | "argmin" | "any" | "all" | "custom"
//   attributes  = "[" attribute { "," attribute } "]"
//   attribute   = "even" | "first"                  how max and min share a cotangent among ties
//               | "error" | "drop" | "clip" | "wrap"            a scatter's index out of range
//               | "stop_gradient" | "region" expr
//   let         = "let" name "=" expr ";"
//   value       = expr  |  "(" expr { "," expr } ")"            a tuple where the result is one
//   clause      = "where" condition { "," condition }
//               | "from" name                                   what a scatter starts from
//               | "combine" "(" names ")" "," "(" names ")" "->" { let } "(" exprs ")"
//               | "identity" "(" exprs ")"
//   condition   = name "in" expr ":" expr           the range of an index: from, to (not included)
//               | name "=" expr                     a name for an expression of indices
//               | "exists" expr                     its reads take part in range inference
//               | expr                              affine (with // and %), true in the domain
//   constant    = "const" type name "=" ( "[" literals "]" | "hex" string )  bytes in memory order
//   scan        = "scan" "(" names ")" "=" name "[" ( expr | "while" ) { "," scan-item } "]"
//                 "(" [ operand { "," operand } ] ")" "->" "(" names ")" block
//   scan-item   = "reverse" | "segment" expr | "stop_gradient" | "region" expr
//   operand     = ( "carry" | "over" | "fixed" ) type name "=" name            in this order
//   graph       = "(" [ type name { "," type name } ] ")" "->" "(" names ")" block
//   call        = "call" "(" { type name } ")" "=" [ attributes ] name "(" names ")"       opaque
//               | "call" "(" names ")" "=" name [ "[" call-item { "," call-item } "]" ]
//                 "(" [ argument { "," argument } ] ")" "->" "(" names ")" block
//                 [ "forward" graph "backward" graph ]                       where it is custom
//   call-item   = "recompute" | "custom" | "stop_gradient" | "region" expr
//   argument    = [ "closed" ] type name "=" name
//
//   expr        = expr "?" expr ":" expr | expr infix expr | prefix expr | atom
//                 (precedences: vocabulary.cpp, as in C; ** as in Python)
//   infix       = || && | ^ & == != < <= > >= << >> + - * / // % **
//   prefix      = - ! ~
//   atom        = literal | name | name "." number | "(" expr ")"
//               | name "(" [ exprs ] [ "where" expr ] ")"   an element; 0, and not read, where the
//                                                           condition is false
//               | function "(" exprs ")" | dtype "(" expr ")"
//   literal     = 3 | 0.5 | 1e-3 | inf | nan | true | false | nan_bits(0x...)
//
// Meaning, beyond the obvious:
//  - Indices on the right only are reduced over, in the order in which `where` names them, then in
//    order of appearance. Ranges that `where` does not give are inferred as Tensor Comprehensions
//    does it (ranges.hpp).
//  - `+=!` starts from the combiner's identity, `+=` from what the tensor held (the identity when
//    it held nothing). A statement whose result already exists makes a new version of it; reads
//    see the version before.
//  - A left-hand side that is not a list of distinct indices makes a scatter:
//    `float(10) H(I(i)) +=! X(i)`. Constants may stand among the indices of a new result whose
//    shape is not declared: `O(0) +=! X(i)` makes a result of one element.
//  - A literal takes its dtype from the operands beside it, else float32 or int64. double(0.1) is
//    a float64 literal. Integers beside floats are converted to them; float32 beside float64 is an
//    error. `/` on integers floors.
//  - `//` and `%` floor. `let` and `where q = ...` name a value; they do not say when it is
//    computed.
//  - `<=> matmul(A, B)` notes that a library function computes the same as the statement. It is
//    read for Tensor Comprehensions' sake and changes nothing.
//  - `def f(float(M, K) A, ...)`: a symbol takes its value from the shapes at instantiation and is
//    an integer wherever it stands; `A.0` is an extent.
//  - A '(' on a later line than the name before it begins a new statement.
#pragma once

#include <vector>

#include "runtime/graph/parse/syntax.hpp"

namespace adjit::graph {

/// Throws ErrorCode::Parse with file, line, column and a caret. The source must outlive the result.
std::vector<DefinitionSyntax> parse_definitions(const Source& source);

}  // namespace adjit::graph
