// tools/adjit-cache/commands.hpp -- the subcommands. Each prints to `out` and says how the program
// ends; each may throw Failure. Those in inspect.cpp and compare.cpp change nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "jit/cache/options.hpp"
#include "tools/adjit-cache/exit_code.hpp"
#include "tools/adjit-cache/shelf.hpp"

namespace adjit::cache_tool {

enum class ListOrder { Age, Size, Saved };

// inspect.cpp
ExitCode list(const Shelf& shelf, ListOrder order, std::ostream& out);
ExitCode show(const Shelf& shelf, const std::string& id, std::ostream& out);
/// "sass": what the section "cubin" holds, as text.
ExitCode print_section(const Shelf& shelf, const std::string& id, const std::string& section,
                       std::ostream& out);
ExitCode stats(const Shelf& shelf, uint64_t max_bytes, bool json, std::ostream& out);

// compare.cpp
/// The components in which two entries differ.
ExitCode why(const Shelf& shelf, const std::string& a, const std::string& b, std::ostream& out);
/// The same of the entry written last, which the last miss made, and the entry most like it.
ExitCode why_last(const Shelf& shelf, std::ostream& out);
/// Two schedules as a JSON patch; Findings when they differ.
ExitCode diff(const Shelf& shelf, const std::string& a, const std::string& b, std::ostream& out);

// maintain.cpp
ExitCode verify(const Shelf& shelf, std::ostream& out);
struct PruneLimits {
  std::optional<uint64_t> max_bytes;
  std::optional<int64_t> older_than_ms;
};
ExitCode prune(const Shelf& shelf, const PruneLimits& limits, bool dry_run, std::ostream& out);
ExitCode clear(const Shelf& shelf, std::ostream& out);

// doctor.cpp
/// Opens the directory itself: a shelf may be what is wrong.
ExitCode doctor(const cache::StoreOptions& options, std::ostream& out);

}  // namespace adjit::cache_tool
