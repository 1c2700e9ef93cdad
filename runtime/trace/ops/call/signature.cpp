// runtime/trace/ops/call/signature.cpp -- the signature of an operator taken apart.
#include "runtime/trace/ops/call/signature.hpp"

namespace adjit::trace {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside parentheses.
std::vector<std::string_view> split_parameters(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    if (k == text.size() || (text[k] == ',' && depth == 0)) {
      const std::string_view part = trimmed(text.substr(begin, k - begin));
      if (!part.empty()) parts.push_back(part);
      begin = k + 1;
    } else if (text[k] == '(') {
      ++depth;
    } else if (text[k] == ')') {
      --depth;
    }
  }
  return parts;
}

}  // namespace

OperatorSignature parse_signature(std::string_view signature) {
  OperatorSignature result;
  bool attributes = false;
  for (std::string_view part : split_parameters(signature.substr(1, signature.size() - 2))) {
    if (part == "*") {
      attributes = true;
      continue;
    }
    const size_t equals = part.find('=');
    std::string_view name = part.substr(0, equals);
    if (attributes) {
      result.attributes.push_back(name);
      continue;
    }
    if (name.ends_with("...")) {
      name.remove_suffix(3);
      result.variadic = true;
    }
    result.tensors.push_back({name, equals != std::string_view::npos});
  }
  return result;
}

}  // namespace adjit::trace
