// jit/engine/report/json_text.hpp -- JSON as text, whatever bytes are in its strings.
#pragma once

#include <string>

#include "runtime/process/json.hpp"

namespace adjit::engine {

/// For all that holds paths, source lines or messages: names of files are bytes, and what is no
/// UTF-8 in them is replaced (U+FFFD) instead of failing a call that only reports.
inline std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace adjit::engine
