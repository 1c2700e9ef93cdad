// jit/cache/entry/provenance.hpp -- where an entry came from: what it cost to make, when, and from
// which lines of the user's program. Never part of a key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::cache {

struct Provenance {
  double trace_ms = 0;
  double derive_ms = 0;
  double schedule_ms = 0;
  double compile_ms = 0;
  std::optional<double> predicted_ms;  // of one run, by the cost model
  std::optional<double> measured_ms;   // of one run, by tuning
  int64_t created_unix_ms = 0;
  std::string adjit_version;
  std::string title;                      // what a list shows, such as "grad(loss)"
  std::vector<std::string> source_lines;  // "file:line" of the traced operations

  /// What a hit spares: everything but tracing, which the caller has done before it has a key.
  double saved_ms() const { return derive_ms + schedule_ms + compile_ms; }
  bool operator==(const Provenance&) const = default;
};

/// One JSON object. Numbers that are not finite become 0, bytes that are not UTF-8 a replacement
/// character: provenance never stops an entry from being stored.
std::string to_json(const Provenance& provenance);

/// The inverse. Unknown members are ignored, absent ones keep their defaults. Throws Error (Cache)
/// for anything but an object with members of the right types.
Provenance provenance_from_json(std::string_view text);

}  // namespace adjit::cache
