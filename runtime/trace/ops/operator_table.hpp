// runtime/trace/ops/operator_table.hpp -- all operators by name.
#pragma once

#include <span>
#include <string_view>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

/// ErrorCode::Invalid for an unknown name, with the nearest ones.
const Operator& find_operator(std::string_view name);
/// All operators by name, ascending. Static storage.
std::span<const Operator> all_operators();

}  // namespace adjit::trace
