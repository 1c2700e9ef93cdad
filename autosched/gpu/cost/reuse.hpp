// autosched/gpu/cost/reuse.hpp -- what of a kernel's reads its caches have.
//
// A cache has what was asked for shortly before. Its *window* is as many iterations, from the
// innermost loops out, as touch no more lines than it holds: inside a window all that is read comes
// from below once, and again in the next window. The window of a multiprocessor's own cache is of
// one block; that of L2 is of all blocks that run at once, which go through their loops together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "autosched/analysis/footprint.hpp"
#include "autosched/gpu/cost/thread_roles.hpp"

namespace adjit::sched {

inline constexpr double kCacheLine = 128;  // bytes; of 4 sectors

/// A nest of a kernel with the roles of its loops.
struct NestRoles {
  const PlacedNest* nest = nullptr;
  std::vector<RoleOfLoop> roles;
};

/// Whether a trip of a loop moves an access.
bool moves(const Stride& stride);
/// One past the last loop of its path that moves an access: inside that it stays in a register.
size_t end_of_moves(const Walk& walk);

/// Pieces of so many bytes that an access touches in all iterations of these loops, and, of a warp,
/// of all its threads.
double pieces_of_loops(const Walk& walk, const NestRoles& nest, std::span<const size_t> loops,
                       double piece);
double pieces_of_warp(const Walk& walk, const NestRoles& nest, std::span<const size_t> loops,
                      double piece);

/// The reads of a kernel that are not of local tensors.
class Reuse {
 public:
  /// `nests`: of one kernel, hosts before what is attached to them; must outlive this.
  explicit Reuse(std::span<const NestRoles> nests);

  /// Sectors that caches of so many bytes for each block ask L2 for, all blocks together; by nest.
  std::vector<double> sectors_below_l1(double bytes_of_block) const;
  /// Bytes that come from memory where so many blocks run at once and L2 has so many bytes.
  double bytes_below_l2(double blocks, double l2_bytes) const;

 private:
  // Reads of one nest and tensor that lie some bytes from each other.
  struct Read {
    const Walk* walk;  // the first one's
    double count;
    double apart;  // bytes from one to the next, on average
    size_t end;    // end_of_moves
    bool stored;   // by the kernel, too: L2 has it
  };
  // Steps of the loops from `step` on, of so many neighbouring blocks.
  struct Window {
    size_t step;
    double blocks;
  };

  double pieces(size_t nest, const Read& read, Window window, double piece) const;
  double lines(size_t nest, Window window) const;
  size_t step_of_window(size_t nest, double blocks, double bytes) const;
  double windows(size_t nest, const Read& read, Window window) const;
  bool share(size_t nest, size_t other, size_t loops) const;
  template <typename Count>
  std::vector<double> below(double blocks, double bytes, Count&& count) const;

  std::span<const NestRoles> nests_;
  std::vector<std::vector<Read>> reads_;  // by nest
};

}  // namespace adjit::sched
