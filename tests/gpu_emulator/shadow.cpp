// tests/gpu_emulator/shadow.cpp -- who wrote and read each byte.
#include "tests/gpu_emulator/shadow.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace adjit::tests {
namespace {

constexpr int kWarp = 32;

bool is_same_thread(const Moment& a, const Moment& b) {
  return a.block == b.block && a.thread == b.thread;
}

std::string words(const Moment& moment) {
  return "thread " + std::to_string(moment.thread) + " of block " + std::to_string(moment.block);
}

}  // namespace

bool is_ordered(const Moment& first, const Moment& second) {
  if (first.block != second.block) return false;
  if (first.thread == second.thread) return true;
  if (first.block_barriers < second.block_barriers) return true;
  return first.thread / kWarp == second.thread / kWarp &&
         first.warp_barriers < second.warp_barriers;
}

Shadow::Byte& Shadow::at(uintptr_t address) {
  std::unique_ptr<Page>& page = pages_[address / kPage];
  if (!page) page = std::make_unique<Page>();
  return (*page)[address % kPage];
}

// What all threads read has many readers. Two of each warp, of its last moment, are enough to race
// with any writer: one of them is another thread than it.
void Shadow::thin_out(std::vector<Access>& readers) {
  std::map<std::pair<int, int>, std::vector<Access>> by_warp;
  for (const Access& reader : readers)
    by_warp[{reader.moment.block, reader.moment.thread / kWarp}].push_back(reader);
  readers.clear();
  for (auto& [warp, of_it] : by_warp) {
    std::ranges::stable_sort(of_it, std::greater(), [](const Access& r) {
      return std::pair(r.moment.block_barriers, r.moment.warp_barriers);
    });
    of_it.resize(std::min<size_t>(of_it.size(), 2));
    readers.insert(readers.end(), of_it.begin(), of_it.end());
  }
}

std::optional<std::string> Shadow::use(uintptr_t address, size_t bytes, Use use,
                                       const Moment& moment) {
  std::optional<std::string> found;
  const auto race = [&](const char* what, const Access& earlier) {
    if (!found && earlier.there && !is_ordered(earlier.moment, moment) &&
        !(earlier.atomic && use == Use::Atomic))
      found = words(moment) + what + words(earlier.moment) + " with no barrier between";
  };
  const Access access{moment, true, use == Use::Atomic};
  for (size_t k = 0; k < bytes; ++k) {
    Byte& byte = at(address + k);
    if (byte.pending && !found)
      found = words(moment) + " uses what an asynchronous copy has not been waited for";
    race(use == Use::Read ? " reads what was written by " : " overwrites what was written by ",
         byte.writer);
    if (use == Use::Read) {
      const auto own = std::ranges::find_if(
          byte.readers, [&](const Access& r) { return is_same_thread(r.moment, moment); });
      if (own != byte.readers.end())
        *own = access;
      else
        byte.readers.push_back(access);
      if (byte.readers.size() > 4 * kWarp) thin_out(byte.readers);
      continue;
    }
    for (const Access& reader : byte.readers) race(" overwrites what is read by ", reader);
    byte.writer = access;
    byte.readers.clear();
  }
  return found;
}

void Shadow::forget(uintptr_t address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) at(address + k) = {};
}

bool Shadow::is_written(uintptr_t address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    if (!at(address + k).writer.there) return false;
  return true;
}

void Shadow::set_pending(uintptr_t address, size_t bytes, bool pending) {
  for (size_t k = 0; k < bytes; ++k) at(address + k).pending = pending;
}

}  // namespace adjit::tests
