// tools/adjit-cache/compare.cpp -- why, diff.
#include <algorithm>
#include <utility>

#include "jit/cache/contents/nearest.hpp"
#include "runtime/process/json.hpp"
#include "tools/adjit-cache/commands.hpp"
#include "tools/adjit-cache/text.hpp"

namespace adjit::cache_tool {

namespace {

/// The first line in which two values differ, each behind its id.
void print_values(const std::string& name_a, std::string_view a, const std::string& name_b,
                  std::string_view b, std::ostream& out) {
  while (!a.empty() && !b.empty()) {
    const std::string_view line = a.substr(0, a.find('\n'));
    if (line != b.substr(0, b.find('\n'))) break;
    a.remove_prefix(std::min(line.size() + 1, a.size()));
    b.remove_prefix(std::min(line.size() + 1, b.size()));
  }
  out << "  " << name_a << "  " << printable(a.substr(0, a.find('\n'))) << '\n'
      << "  " << name_b << "  " << printable(b.substr(0, b.find('\n'))) << '\n';
}

/// The key holds a hash of the graph. The entries hold its text, which says more where it differs;
/// constants, which the text leaves out, may be all that does.
void print_graphs(const std::string& name_a, const cache::Entry& a, const std::string& name_b,
                  const cache::Entry& b, std::ostream& out) {
  const std::string* text_a = a.section("graph");
  const std::string* text_b = b.section("graph");
  if (text_a && text_b && *text_a != *text_b) print_values(name_a, *text_a, name_b, *text_b, out);
}

ExitCode why(const Shelf& shelf, const cache::Signature& a, const cache::Signature& b,
             std::ostream& out) {
  const std::string name_a = abbreviate(shelf, a);
  const std::string name_b = abbreviate(shelf, b);
  const cache::Entry entry_a = take(shelf, a);
  const cache::Entry entry_b = take(shelf, b);
  const cache::Key& key_a = entry_a.key;
  const cache::Key& key_b = entry_b.key;
  for (const cache::Component& component : key_a.components) {
    const std::string* other = key_b.find(component.name);
    if (other == nullptr) {
      out << printable(component.name) << "\n  only in " << name_a << '\n';
    } else if (*other != component.value) {
      out << printable(component.name) << '\n';
      print_values(name_a, component.value, name_b, *other, out);
      if (component.name == "graph") print_graphs(name_a, entry_a, name_b, entry_b, out);
    }
  }
  for (const cache::Component& component : key_b.components)
    if (key_a.find(component.name) == nullptr)
      out << printable(component.name) << "\n  only in " << name_b << '\n';
  if (key_a == key_b) out << "no component differs\n";
  return ExitCode::Ok;
}

Json schedule_of(const Shelf& shelf, const std::string& id) {
  const cache::Entry entry = take(shelf, resolve(shelf, id).id);
  const std::string* text = entry.section("schedule");
  if (text == nullptr) throw Failure(ExitCode::Findings, "entry " + id + " holds no schedule");
  Json schedule = Json::parse(*text, nullptr, false);
  if (schedule.is_discarded())
    throw Failure(ExitCode::Findings, "the schedule of entry " + id + " is not JSON");
  return schedule;
}

}  // namespace

ExitCode why(const Shelf& shelf, const std::string& a, const std::string& b, std::ostream& out) {
  return why(shelf, resolve(shelf, a).id, resolve(shelf, b).id, out);
}

ExitCode why_last(const Shelf& shelf, std::ostream& out) {
  const std::vector<cache::EntryFile>& entries = shelf.inventory.entries;
  if (entries.empty()) throw Failure(ExitCode::Usage, "the cache is empty");
  const cache::Signature last =
      std::ranges::max(entries, {}, &cache::EntryFile::written_unix_ms).id;
  const cache::Key key = take(shelf, last).key;
  const auto nearest = cache::find_nearest(shelf.files(), shelf.handle(), key, entries.size());
  if (!nearest) {
    out << "no other entry is like " << abbreviate(shelf, last) << '\n';
    return ExitCode::Ok;
  }
  return why(shelf, last, nearest->id, out);
}

ExitCode diff(const Shelf& shelf, const std::string& a, const std::string& b, std::ostream& out) {
  const Json schedule_a = schedule_of(shelf, a);
  const Json patch = Json::diff(schedule_a, schedule_of(shelf, b));
  for (const Json& step : patch) {
    const auto path = step.at("path").get<std::string>();
    out << printable(path) << '\n';
    const auto print = [&](const char* sign, const Json& value) {
      out << "  " << sign << ' '
          << printable(value.dump(-1, ' ', false, Json::error_handler_t::replace)) << '\n';
    };
    if (step.at("op") != "add") print("-", schedule_a.at(Json::json_pointer(path)));
    if (step.at("op") != "remove") print("+", step.at("value"));
  }
  return patch.empty() ? ExitCode::Ok : ExitCode::Findings;
}

}  // namespace adjit::cache_tool
