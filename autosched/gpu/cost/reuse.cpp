// autosched/gpu/cost/reuse.cpp -- what of a kernel's reads its caches have.
#include "autosched/gpu/cost/reuse.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "autosched/machine/gpu_machine.hpp"

namespace adjit::sched {
namespace {

// Pieces that an access touches where so many trips of each role are taken; and others like it, so
// many bytes apart.
template <typename Trips>
double pieces_touched(const Walk& walk, std::span<const RoleOfLoop> roles, Trips&& trips_of,
                      double piece, double others = 1, double apart = 0) {
  constexpr size_t kFew = 32;  // for which nothing is allocated
  std::array<std::pair<double, double>, kFew> few;
  std::vector<std::pair<double, double>> many(roles.size() < kFew ? 0 : roles.size() + 1);
  std::pair<double, double>* const loops = many.empty() ? few.data() : many.data();
  size_t count = 0;
  double places = 1;
  for (const RoleOfLoop& role : roles) {
    const double trips = trips_of(role);
    if (trips <= 1) continue;
    const Stride& stride = walk.strides[role.loop];
    if (stride.data)
      places *= trips;
    else if (stride.bytes != 0)
      loops[count++] = {std::abs(stride.bytes) * role.apart, trips};
  }
  if (others > 1 && apart > 0) loops[count++] = {apart, others};
  places = std::min(places, data_pieces(walk, piece));
  const Rows rows = rows_touched({loops, count}, walk.element_bytes, piece);
  const double each = rows.count * std::max(1.0, rows.extent / piece);
  return std::min(places * each, std::max(1.0, walk.most_bytes / piece));
}

bool same_strides(const Walk& a, const Walk& b) {
  return a.tensor == b.tensor &&
         std::ranges::equal(a.strides, b.strides, [](const Stride& x, const Stride& y) {
           return x.bytes == y.bytes && x.data == y.data;
         });
}

size_t first_step(const std::vector<Loop>& path) {
  size_t l = 0;
  while (l < path.size() && path[l].kind == LoopKind::Parallel) ++l;
  return l;
}

}  // namespace

bool moves(const Stride& stride) { return stride.bytes != 0 || stride.data; }

size_t end_of_moves(const Walk& walk) {
  size_t end = walk.strides.size();
  while (end > 0 && !moves(walk.strides[end - 1])) --end;
  return end;
}

double pieces_of_warp(const Walk& walk, const NestRoles& nest, std::span<const size_t> loops,
                      double piece) {
  return pieces_touched(
      walk, nest.roles,
      [&](const RoleOfLoop& role) {
        const bool taken =
            role.role == Role::Warp || std::ranges::find(loops, role.loop) != loops.end();
        return taken ? role.trips : 1;
      },
      piece);
}

double pieces_of_loops(const Walk& walk, const NestRoles& nest, std::span<const size_t> loops,
                       double piece) {
  return pieces_touched(
      walk, nest.roles,
      [&](const RoleOfLoop& role) {
        return std::ranges::find(loops, role.loop) != loops.end() ? role.trips : 1;
      },
      piece);
}

Reuse::Reuse(std::span<const NestRoles> nests) : nests_(nests), reads_(nests.size()) {
  std::set<uint32_t> stored;
  for (const NestRoles& nest : nests)
    for (const Walk& walk : nest.nest->walks)
      if (walk.store) stored.insert(walk.tensor.value);
  for (size_t n = 0; n < nests.size(); ++n)
    for (const Walk& walk : nests[n].nest->walks) {
      if (walk.local || walk.store) continue;
      const auto known = std::ranges::find_if(
          reads_[n], [&](const Read& read) { return same_strides(*read.walk, walk); });
      if (known == reads_[n].end()) {
        reads_[n].push_back({&walk, 1, 0, end_of_moves(walk), stored.contains(walk.tensor.value)});
        continue;
      }
      const double reach =
          std::max(known->apart * (known->count - 1), std::abs(walk.offset - known->walk->offset));
      known->apart = reach / known->count++;
    }
}

double Reuse::pieces(size_t nest, const Read& read, Window window, double piece) const {
  // Blocks that follow each other differ in the innermost loops of the grid.
  double left = window.blocks;
  std::vector<double> taken(nests_[nest].roles.size(), 1);
  for (size_t r = taken.size(); r-- > 0;) {
    const RoleOfLoop& role = nests_[nest].roles[r];
    if (role.role == Role::Grid) {
      taken[r] = std::clamp(left, 1.0, role.trips);
      left /= role.trips;
    } else if (role.role != Role::Step || role.loop >= window.step) {
      taken[r] = role.trips;
    }
  }
  const RoleOfLoop* first = nests_[nest].roles.data();
  return pieces_touched(
      *read.walk, nests_[nest].roles,
      [&](const RoleOfLoop& role) { return taken[static_cast<size_t>(&role - first)]; }, piece,
      read.count, read.apart);
}

// Whether two nests are in the same iteration of so many loops.
bool Reuse::share(size_t nest, size_t other, size_t loops) const {
  const std::vector<Loop>&a = nests_[nest].nest->path, &b = nests_[other].nest->path;
  if (std::min(a.size(), b.size()) < loops) return false;
  for (size_t l = 0; l < loops; ++l)
    if (a[l].variable != b[l].variable) return false;
  return true;
}

// Cache lines of all nests in one iteration of the loops in front of a window; what several nests
// read of a tensor is taken for the same.
double Reuse::lines(size_t nest, Window window) const {
  std::map<uint32_t, double> most;  // by tensor
  for (size_t other = 0; other < nests_.size(); ++other) {
    if (!share(nest, other, window.step)) continue;
    std::map<uint32_t, double> here;
    for (const Read& read : reads_[other])
      here[read.walk->tensor.value] += pieces(other, read, window, kCacheLine);
    for (const auto& [tensor, lines] : here) most[tensor] = std::max(most[tensor], lines);
  }
  double count = 0;
  for (const auto& [tensor, lines] : most) count += lines;
  return count;
}

size_t Reuse::step_of_window(size_t nest, double blocks, double bytes) const {
  const std::vector<Loop>& path = nests_[nest].nest->path;
  size_t fits = path.size();
  for (size_t low = first_step(path); low < fits;) {
    const size_t middle = (low + fits) / 2;
    if (lines(nest, {middle, blocks}) * kCacheLine <= bytes)
      fits = middle;
    else
      low = middle + 1;
  }
  return fits;
}

// How many windows a kernel has for a read: what no loop moves stays in registers.
double Reuse::windows(size_t nest, const Read& read, Window window) const {
  double left = window.blocks, count = 1;
  for (size_t r = nests_[nest].roles.size(); r-- > 0;) {
    const RoleOfLoop& role = nests_[nest].roles[r];
    if (role.role == Role::Grid) {
      count *= role.trips / std::clamp(left, 1.0, role.trips);
      left /= role.trips;
    } else if (role.role == Role::Step && role.loop < std::min(window.step, read.end)) {
      count *= role.trips;
    }
  }
  return count;
}

// By nest, what is asked for below a cache; what several nests read in one window is counted with
// the first that reads most.
template <typename Count>
std::vector<double> Reuse::below(double blocks, double bytes, Count&& count) const {
  struct Known {
    size_t nest, step;
    double asked;
  };
  std::vector<double> asked(nests_.size(), 0);
  std::map<uint32_t, std::vector<Known>> known;  // by tensor
  for (size_t n = 0; n < nests_.size(); ++n) {
    const size_t step = step_of_window(n, blocks, bytes);
    for (const Read& read : reads_[n]) {
      const double all = count(n, read, Window{step, blocks});
      double counted = 0;
      for (const Known& other : known[read.walk->tensor.value])
        if (other.nest != n && share(n, other.nest, std::max(step, other.step)))
          counted = std::max(counted, other.asked);
      asked[n] += std::max(0.0, all - counted);
      known[read.walk->tensor.value].push_back({n, step, all});
    }
  }
  return asked;
}

std::vector<double> Reuse::sectors_below_l1(double bytes_of_block) const {
  return below(1, bytes_of_block, [&](size_t n, const Read& read, Window window) {
    return windows(n, read, window) * pieces(n, read, window, kSectorBytes);
  });
}

double Reuse::bytes_below_l2(double blocks, double l2_bytes) const {
  double grid = 1;
  for (const RoleOfLoop& role : nests_[0].roles)
    if (role.role == Role::Grid) grid *= role.trips;
  // Blocks that follow find what those before them have left, where it all fits.
  for (const double more : {grid, grid / 4, grid / 16})
    if (more > blocks &&
        lines(0, {first_step(nests_[0].nest->path), more}) * kCacheLine <= l2_bytes) {
      blocks = more;
      break;
    }
  double bytes = 0;
  const auto from_memory = [&](size_t n, const Read& read, Window window) {
    return read.stored ? 0 : windows(n, read, window) * pieces(n, read, window, kSectorBytes);
  };
  for (double sectors : below(std::min(blocks, grid), l2_bytes, from_memory))
    bytes += kSectorBytes * sectors;
  return bytes;
}

}  // namespace adjit::sched
