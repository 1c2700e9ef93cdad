// jit/cache/contents/nearest.cpp -- the search through the latest entries.
#include "jit/cache/contents/nearest.hpp"

#include <algorithm>
#include <functional>

#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/inventory.hpp"

namespace adjit::cache {

namespace {

bool same_kind(const Key& a, const Key& b) {
  return !a.components.empty() && !b.components.empty() &&
         a.components.front().name == b.components.front().name;
}

size_t count_differences(const Key& a, const Key& b) {
  size_t count = 0;
  for (const Component& component : a.components) {
    const std::string* other = b.find(component.name);
    count += other == nullptr || *other != component.value;
  }
  for (const Component& component : b.components) count += a.find(component.name) == nullptr;
  return count;
}

}  // namespace

std::optional<Nearest> find_nearest(FileSystem& files, int directory, const Key& key, size_t most) {
  Inventory inventory;
  if (take_inventory(files, directory, inventory) != 0) return std::nullopt;
  std::ranges::stable_sort(inventory.entries, std::greater{}, &EntryFile::written_unix_ms);
  if (inventory.entries.size() > most) inventory.entries.resize(most);

  std::optional<Nearest> nearest;
  for (const EntryFile& file : inventory.entries) {
    const EntryRead read = read_entry(files, directory, file.id, Sharing::Private);
    if (!read.entry || read.entry->key == key || !same_kind(read.entry->key, key)) continue;
    const size_t differing = count_differences(read.entry->key, key);
    if (!nearest || differing < nearest->differing)
      nearest = Nearest{file.id, differing, *first_difference(read.entry->key, key)};
  }
  return nearest;
}

}  // namespace adjit::cache
