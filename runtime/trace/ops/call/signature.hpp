// runtime/trace/ops/call/signature.hpp -- the signature of an operator taken apart.
//
// It is the single source of names: "(x, w, bias=None, *, stride=1)" declares two required tensors,
// an optional one and an attribute; "(tensors..., *, axis=0)" any number of tensors.
#pragma once

#include <string_view>
#include <vector>

namespace adjit::trace {

struct OperatorSignature {
  struct Parameter {
    std::string_view name;
    bool optional = false;
  };
  std::vector<Parameter> tensors;
  bool variadic = false;  // the last tensor parameter stands for any number
  std::vector<std::string_view> attributes;
};
OperatorSignature parse_signature(std::string_view signature);

}  // namespace adjit::trace
