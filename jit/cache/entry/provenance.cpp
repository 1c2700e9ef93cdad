// jit/cache/entry/provenance.cpp -- provenance to JSON and back.
#include "jit/cache/entry/provenance.hpp"

#include <cmath>

#include "runtime/expr/error.hpp"
#include "runtime/process/json.hpp"

namespace adjit::cache {

namespace {

double finite(double value) { return std::isfinite(value) ? value : 0; }

template <class Value>
void take(const Json& object, const char* name, Value& value) {
  const auto member = object.find(name);
  if (member != object.end()) member->get_to(value);
}

void take(const Json& object, const char* name, std::optional<double>& value) {
  const auto member = object.find(name);
  if (member != object.end()) value = member->get<double>();
}

}  // namespace

std::string to_json(const Provenance& provenance) {
  Json object = Json::object();
  object["title"] = provenance.title;
  object["trace_ms"] = finite(provenance.trace_ms);
  object["derive_ms"] = finite(provenance.derive_ms);
  object["schedule_ms"] = finite(provenance.schedule_ms);
  object["compile_ms"] = finite(provenance.compile_ms);
  if (provenance.predicted_ms) object["predicted_ms"] = finite(*provenance.predicted_ms);
  if (provenance.measured_ms) object["measured_ms"] = finite(*provenance.measured_ms);
  object["created_unix_ms"] = provenance.created_unix_ms;
  object["adjit_version"] = provenance.adjit_version;
  object["source_lines"] = provenance.source_lines;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Provenance provenance_from_json(std::string_view text) {
  try {
    const Json object = Json::parse(text);
    if (!object.is_object()) throw Error(ErrorCode::Cache, "provenance is not a JSON object");
    Provenance provenance;
    take(object, "title", provenance.title);
    take(object, "trace_ms", provenance.trace_ms);
    take(object, "derive_ms", provenance.derive_ms);
    take(object, "schedule_ms", provenance.schedule_ms);
    take(object, "compile_ms", provenance.compile_ms);
    take(object, "predicted_ms", provenance.predicted_ms);
    take(object, "measured_ms", provenance.measured_ms);
    take(object, "created_unix_ms", provenance.created_unix_ms);
    take(object, "adjit_version", provenance.adjit_version);
    take(object, "source_lines", provenance.source_lines);
    return provenance;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::Cache, std::string("provenance is malformed: ") + error.what());
  }
}

}  // namespace adjit::cache
