// tools/adjit-cache/inspect.cpp -- list, show, cat, stats.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/cache/byte_size.hpp"
#include "runtime/process/json.hpp"
#include "tools/adjit-cache/age.hpp"
#include "tools/adjit-cache/commands.hpp"
#include "tools/adjit-cache/gpus.hpp"
#include "tools/adjit-cache/text.hpp"

namespace adjit::cache_tool {

namespace {

using cache::format_byte_size;
/// One line of a list.
struct Listed {
  cache::EntryFile file;
  std::string title;
  double saved_ms = 0;  // by all hits together
};

Listed listed(const Shelf& shelf, const cache::EntryFile& file) {
  const cache::EntryRead read = glance_at(shelf, file.id);
  if (!read.entry) return {file, "(" + read.reason + ")", 0};
  const cache::Provenance& provenance = read.entry->provenance;
  std::string title = provenance.title;
  if (title.empty() && !provenance.source_lines.empty()) title = provenance.source_lines.front();
  return {file, std::move(title), provenance.saved_ms() * static_cast<double>(file.uses)};
}

void sort(std::vector<Listed>& entries, ListOrder order) {
  const auto rank = [order](const Listed& entry) {
    switch (order) {
      case ListOrder::Age: return static_cast<double>(entry.file.written_unix_ms);
      case ListOrder::Size: return static_cast<double>(entry.file.size);
      case ListOrder::Saved: return entry.saved_ms;
    }
    return 0.0;
  };
  std::ranges::stable_sort(entries, std::greater{}, rank);
}

/// JSON with indentation; other text as it is.
std::string pretty(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? text : json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void show_cost(const cache::Provenance& provenance, std::ostream& out) {
  out << "made in      trace " << format_milliseconds(provenance.trace_ms) << ", derive "
      << format_milliseconds(provenance.derive_ms) << ", schedule "
      << format_milliseconds(provenance.schedule_ms) << ", compile "
      << format_milliseconds(provenance.compile_ms) << '\n';
  if (provenance.predicted_ms)
    out << "predicted    " << format_milliseconds(*provenance.predicted_ms) << " a run\n";
  if (provenance.measured_ms)
    out << "measured     " << format_milliseconds(*provenance.measured_ms) << " a run\n";
}

}  // namespace

ExitCode list(const Shelf& shelf, ListOrder order, std::ostream& out) {
  std::vector<Listed> entries;
  for (const cache::EntryFile& file : shelf.inventory.entries)
    entries.push_back(listed(shelf, file));
  sort(entries, order);
  const int64_t now = cache::now_unix_ms();
  std::vector<std::vector<std::string>> rows;
  for (const Listed& entry : entries)
    rows.push_back({abbreviate(shelf, entry.file.id), format_byte_size(entry.file.size),
                    format_age(now - entry.file.written_unix_ms),
                    format_age(now - entry.file.last_used_unix_ms), std::to_string(entry.file.uses),
                    format_milliseconds(entry.saved_ms), first_line(printable(entry.title))});
  print_table(out, {"ID", "SIZE", "AGE", "LAST USED", "HITS", "SAVED", "TITLE"}, rows);
  return ExitCode::Ok;
}

ExitCode show(const Shelf& shelf, const std::string& id, std::ostream& out) {
  const cache::EntryFile& file = resolve(shelf, id);
  const cache::Entry entry = take(shelf, file.id);
  const cache::Provenance& provenance = entry.provenance;
  out << "entry        " << cache::to_hex(file.id) << '\n'
      << "title        " << printable(provenance.title) << '\n'
      << "size         " << format_byte_size(file.size) << '\n'
      << "created      " << format_time(provenance.created_unix_ms) << " by adjit "
      << printable(provenance.adjit_version) << '\n'
      << "last used    " << format_time(file.last_used_unix_ms) << ", " << file.uses << " hits\n";
  show_cost(provenance, out);
  out << "\nsource\n";
  for (const std::string& line : provenance.source_lines) out << indented(printable(line), 2);
  out << "\ncomponents\n";
  for (const cache::Component& component : entry.key.components)
    out << "  " << printable(component.name) << '\n' << indented(printable(component.value), 4);
  out << "\nsections\n";
  for (const cache::Section& section : entry.sections)
    out << "  " << printable(section.name) << "  " << format_byte_size(section.bytes.size())
        << '\n';
  if (const std::string* schedule = entry.section("schedule"))
    out << "\nschedule\n" << indented(printable(pretty(*schedule)), 2);
  return ExitCode::Ok;
}

ExitCode print_section(const Shelf& shelf, const std::string& id, const std::string& section,
                       std::ostream& out) {
  const cache::Entry entry = take(shelf, resolve(shelf, id).id);
  if (const std::string* cubin = section == "sass" ? entry.section("cubin") : nullptr) {
    out << disassembled(*cubin);
    return ExitCode::Ok;
  }
  if (const std::string* bytes = entry.section(section)) {
    out.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
    return ExitCode::Ok;
  }
  std::string names;
  for (const cache::Section& present : entry.sections)
    names += (names.empty() ? "" : ", ") + printable(present.name);
  throw Failure(ExitCode::Findings, "the entry has no section '" + section + "'; it has: " + names);
}

ExitCode stats(const Shelf& shelf, uint64_t max_bytes, bool json, std::ostream& out) {
  uint64_t hits = 0;
  uint64_t damaged = 0;
  double saved_ms = 0;
  std::map<std::string, uint64_t> sections;
  for (const cache::EntryFile& file : shelf.inventory.entries) {
    hits += file.uses;
    const cache::EntryRead read = look_at(shelf, file.id);
    if (!read.entry) {
      ++damaged;
      continue;
    }
    saved_ms += read.entry->provenance.saved_ms() * static_cast<double>(file.uses);
    for (const cache::Section& section : read.entry->sections)
      sections[printable(section.name)] += section.bytes.size();
  }
  const uint64_t bytes = shelf.inventory.entry_bytes();
  if (json) {
    const Json object = {{"directory", printable(shelf.path.string())},
                         {"entries", shelf.inventory.entries.size()},
                         {"damaged", damaged},
                         {"bytes", bytes},
                         {"max_bytes", max_bytes},
                         {"hits", hits},
                         {"saved_ms", saved_ms},
                         {"temporaries", shelf.inventory.temporaries.size()},
                         {"sections", sections}};
    out << object.dump(2) << '\n';
    return ExitCode::Ok;
  }
  out << "directory    " << printable(shelf.path.string()) << '\n'
      << "entries      " << shelf.inventory.entries.size();
  if (damaged != 0) out << ", " << damaged << " of them damaged";
  out << "\nsize         " << format_byte_size(bytes) << " of "
      << (max_bytes == 0 ? "any" : format_byte_size(max_bytes)) << '\n'
      << "hits         " << hits << ", " << format_milliseconds(saved_ms) << " saved\n";
  for (const auto& [name, size] : sections)
    out << "  " << name << std::string(name.size() < 11 ? 11 - name.size() : 1, ' ')
        << format_byte_size(size) << '\n';
  return ExitCode::Ok;
}

}  // namespace adjit::cache_tool
