// autosched/analysis/traffic.cpp -- cache lines that enter each cache while a kernel runs.
#include "autosched/analysis/traffic.hpp"

#include <algorithm>
#include <cstdint>

namespace adjit::sched {
namespace {

// Cycles for a line that is not foreseen, with as many on their way as a core keeps.
constexpr std::array<double, kCaches> kScattered{1.5, 6, 40};

// What several accesses of one tensor touch is counted once, as the largest of them, when the loops
// around move all alike: the taps of a stencil, a row that one nest stores and the next one loads.
struct Shared {
  size_t owner = 0, depth = 0;  // inside the loops [0, depth) of the path of nest `owner`
  const Walk* walk = nullptr;   // one of them
  bool operator==(const Shared& other) const {
    const auto same = [](const Stride& a, const Stride& b) { return a.bytes == b.bytes; };
    return owner == other.owner && depth == other.depth && walk->tensor == other.walk->tensor &&
           std::equal(walk->strides.begin(), walk->strides.begin() + static_cast<long>(depth),
                      other.walk->strides.begin(), same);
  }
};

// A map that allocates nothing once it has been this large: searches count very often.
template <typename Value>
class PerShared {
 public:
  PerShared() { clear(); }
  Value& operator[](const Shared& key) {
    size_t& first =
        first_[(key.walk->tensor.value + 7 * key.depth + 31 * key.owner) % first_.size()];
    for (size_t k = first; k != SIZE_MAX; k = entries_[k].next)
      if (entries_[k].key == key) return entries_[k].value;
    entries_.push_back({key, Value{}, first});
    first = entries_.size() - 1;
    return entries_.back().value;
  }
  void clear() {
    entries_.clear();
    first_.fill(SIZE_MAX);
  }
  template <typename Visit>
  void each(Visit&& visit) const {
    for (const Entry& entry : entries_) visit(entry.value);
  }

 private:
  struct Entry {
    Shared key;
    Value value;
    size_t next;  // of the same remainder
  };
  std::vector<Entry> entries_;
  std::array<size_t, 16> first_;
};

class TrafficCount {
 public:
  TrafficCount(const std::vector<PlacedNest>& nests, double program_bytes, double store_traffic)
      : nests_(nests),
        program_bytes_(program_bytes),
        store_traffic_(store_traffic),
        sets_(nests.size()) {
    for (size_t n = 0; n < nests.size(); ++n)
      for (size_t d = nests[n].first; d <= nests[n].path.size(); ++d)
        sets_[n].push_back(working_set(n, d));
  }

  // `keeps`: bytes of what passes within a task that stay in the cache.
  void count(size_t cache, double bytes, double keeps, std::vector<Traffic>& traffic) const {
    PerShared<Lines> counted;
    for (size_t n = 0; n < nests_.size(); ++n) {
      const size_t fits = outermost_fit(n, bytes);
      for (const Walk& walk : nests_[n].walks) {
        if (fits == 0 && (walk.local || program_bytes_ <= bytes)) continue;  // there from before
        if (walk.in_task > 0 && walk.in_task <= keeps) continue;
        const size_t around = fits == 0 ? 0 : fits - 1, owner = owner_of(n, around);
        Lines lines = lines_touched(walk, nests_[n].path, around);
        const bool fetched = walk.store && !nests_[n].nest->streamed;
        const double times = (fetched ? store_traffic_ : 1) * iterations_of(owner, around);
        lines = {times * lines.count, times * lines.places};
        Lines& before = counted[{owner, around, &walk}];
        traffic[n].streamed[cache] += std::max(0.0, lines.count - before.count);
        traffic[n].scattered[cache] += std::max(0.0, lines.places - before.places);
        before = {std::max(before.count, lines.count), std::max(before.places, lines.places)};
      }
    }
  }

 private:
  // Bytes that one iteration of the nest's loops [0, depth) works on, with all that runs in it.
  double working_set(size_t n, size_t depth) {
    PerShared<double>& lines = lines_;
    lines.clear();
    for (size_t k = n; k < nests_[n].end;) {
      const bool inside = k == n || nests_[k].host != n || nests_[k].first >= depth;
      if (inside)
        for (const Walk& walk : nests_[k].walks) {
          double& most = lines[{n, depth, &walk}];
          most = std::max(most, lines_touched(walk, nests_[k].path, depth).count);
        }
      k = inside ? k + 1 : nests_[k].end;
    }
    double sum = 0;
    lines.each([&](double count) { sum += count; });
    return sum * kLineBytes;
  }

  // The shortest prefix of the nest's path whose iterations fit.
  size_t outermost_fit(size_t n, double bytes) const {
    size_t fit = nests_[n].path.size(), last = fit;
    for (size_t host = n; host != SIZE_MAX; host = nests_[host].host) {
      const size_t first = nests_[host].first;
      for (size_t d = first; d <= last; ++d)
        if (sets_[host][d - first] <= bytes) {
          fit = d;
          break;
        }
      last = first;
    }
    return fit;
  }

  // The nest whose own loops end a prefix of the path.
  size_t owner_of(size_t n, size_t depth) const {
    while (depth < nests_[n].first) n = nests_[n].host;
    return n;
  }

  // How often the loops [0, depth) of a nest's path step in one run of the kernel.
  double iterations_of(size_t owner, size_t depth) const {
    return nests_[owner].runs * iterations(*nests_[owner].nest, depth - nests_[owner].first);
  }

  const std::vector<PlacedNest>& nests_;
  double program_bytes_, store_traffic_;
  PerShared<double> lines_;                // while one of these is counted
  std::vector<std::vector<double>> sets_;  // per nest, per depth of its own loops
};

}  // namespace

CacheCycles cache_cycles(const Traffic& traffic, const CpuMachine& machine) {
  const auto stream = [&](size_t cache) { return traffic.streamed[cache] * kLineBytes; };
  CacheCycles cycles{cycles_from_l2(machine, stream(0)), cycles_from_l3(machine, stream(1)),
                     cycles_from_memory(machine, stream(2))};
  for (size_t c = 0; c < kCaches; ++c) cycles.scattered += kScattered[c] * traffic.scattered[c];
  return cycles;
}

CpuMachine beside_streams(CpuMachine machine) {
  machine.l2_bytes /= 2;
  return machine;
}

std::vector<Traffic> traffic(const std::vector<PlacedNest>& nests, const CpuMachine& machine,
                             double program_bytes) {
  std::vector<Traffic> found(nests.size());
  const TrafficCount count(nests, program_bytes, machine.core.store_traffic);
  const std::array<int64_t, kCaches> caches{machine.l1_bytes, machine.l2_bytes, machine.l3_bytes};
  for (size_t c = 0; c < kCaches; ++c) {
    const auto bytes = static_cast<double>(caches[c]);
    // L3 is every core's, and a program's other arrays pass through it.
    count.count(c, bytes, c + 1 < kCaches ? bytes : bytes / (4 * machine.cores), found);
  }
  return found;
}

}  // namespace adjit::sched
