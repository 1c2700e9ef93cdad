// tests/gpu_emulator/shadow.cpp -- who wrote and read each byte.
#include "tests/gpu_emulator/shadow.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace adjit::tests {
namespace {

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
  return first.thread / kWarpThreads == second.thread / kWarpThreads &&
         first.warp_barriers < second.warp_barriers;
}

Shadow::Byte& Shadow::at(uintptr_t address) {
  std::unique_ptr<Page>& page = pages_[address / kPage];
  if (!page) page = std::make_unique<Page>();
  return (*page)[address % kPage];
}

// The last moment of each thread, or of some. Two blocks are enough to race with whoever comes: one
// of them is not that thread's.
void Shadow::add(std::vector<Moment>& list, const Moment& moment) {
  if (list.size() == 2 && list[0].block != list[1].block) return;
  if (!list.empty() && list.front().block != moment.block) {
    list = {list.front(), moment};
    return;
  }
  const auto own =
      std::ranges::find_if(list, [&](const Moment& m) { return is_same_thread(m, moment); });
  if (own != list.end())
    *own = moment;
  else
    list.push_back(moment);
  if (list.size() > 4 * kWarpThreads) thin_out(list);
}

// What all threads of a block use has many users. Two of each warp, of its last moment, are enough
// to race with any other thread: one of them is not that thread.
void Shadow::thin_out(std::vector<Moment>& list) {
  std::map<int, std::vector<Moment>> by_warp;
  for (const Moment& moment : list) by_warp[moment.thread / kWarpThreads].push_back(moment);
  list.clear();
  for (auto& [warp, of_it] : by_warp) {
    std::ranges::stable_sort(of_it, std::greater(), [](const Moment& m) {
      return std::pair(m.block_barriers, m.warp_barriers);
    });
    of_it.resize(std::min<size_t>(of_it.size(), 2));
    list.insert(list.end(), of_it.begin(), of_it.end());
  }
}

std::optional<std::string> Shadow::use(uintptr_t address, size_t bytes, Use use,
                                       const Moment& moment) {
  std::optional<std::string> found;
  const auto race = [&](const char* what, const Moment& earlier) {
    if (!found && !is_ordered(earlier, moment))
      found = words(moment) + what + words(earlier) + " with no barrier between";
  };
  const bool reads = use == Use::Read;
  for (size_t k = 0; k < bytes; ++k) {
    Byte& byte = at(address + k);
    if (!found && (byte.copies_to > 0 || (!reads && byte.copies_from > 0)))
      found = words(moment) + " uses what an asynchronous copy has not been waited for";
    const char* const written =
        reads ? " reads what was written by " : " overwrites what was written by ";
    if (byte.writer) race(written, *byte.writer);
    if (use != Use::Atomic)
      for (const Moment& atomic : byte.atomics) race(written, atomic);
    if (!reads)
      for (const Moment& reader : byte.readers) race(" overwrites what is read by ", reader);
    if (use == Use::Write) {
      byte.writer = moment;
      byte.readers.clear();
      byte.atomics.clear();
    } else {
      add(reads ? byte.readers : byte.atomics, moment);
    }
  }
  return found;
}

void Shadow::forget(uintptr_t address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) at(address + k) = {};
}

bool Shadow::is_written(uintptr_t address, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    if (const Byte& byte = at(address + k); !byte.writer && byte.atomics.empty()) return false;
  return true;
}

void Shadow::add_copy(uintptr_t to, uintptr_t from, size_t written, size_t read, int by) {
  for (size_t k = 0; k < written; ++k) at(to + k).copies_to += by;
  for (size_t k = 0; k < read; ++k) at(from + k).copies_from += by;
}

}  // namespace adjit::tests
