// runtime/domain/fibre.cpp -- the steps of the fibre solver in order (DESIGN 4).
#include "runtime/domain/fibre.hpp"

#include <algorithm>

#include "runtime/domain/basis.hpp"
#include "runtime/domain/equations.hpp"
#include "runtime/domain/fibre_system.hpp"
#include "runtime/domain/loops.hpp"
#include "runtime/domain/piece.hpp"
#include "runtime/domain/waste.hpp"
#include "runtime/domain/windows.hpp"

namespace adjit::domain {

namespace {

/// Rounds of solving and searching windows; each finds an equality, so more are a runaway.
constexpr int kRounds = 50;

/// Idle iterations per point above which other bases are tried, and how many of them: each costs
/// about as much as the first, so systems with many rows get few.
constexpr double kAllowedWaste = 0.02;
constexpr size_t kAlternatives = 12;
constexpr size_t kAlternativesOfLarge = 1;
constexpr size_t kLargeSystem = 14;

/// Solves equations until no window is left; false when there is no solution.
bool solve(FibreSystem& system) {
  for (int round = 0; round < kRounds; ++round) {
    if (!solve_equations(system) || !system.tidy_inequalities()) return false;
    WindowSearch search = find_window(system);
    if (search == WindowSearch::None) search = find_projected_window(system);
    if (search == WindowSearch::Empty) return false;
    if (search == WindowSearch::None) break;
  }
  return solve_equations(system) && system.tidy_inequalities();
}

bool is_empty_box(std::span<const int64_t> extents) {
  return std::any_of(extents.begin(), extents.end(), [](int64_t extent) { return extent <= 0; });
}

std::optional<FibrePiece> piece_with(FibreSystem system, const Domain& source,
                                     const BasisChoice& choice) {
  choose_basis(system, source, choice);
  return make_piece(system);
}

/// Bases to try where the default wastes iterations: ranges of divisions as axes, then the source
/// axes that the index couples in other orders of survival.
std::vector<BasisChoice> alternatives(const Domain& source, std::span<const Affine> index) {
  std::vector<BasisChoice> choices{{{}, true}};
  std::vector<size_t> coupled;
  for (const Affine& form : index) {
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < source.rank(); ++axis)
      if (uses_axis(source, form, axis)) axes.push_back(axis);
    if (axes.size() > coupled.size()) coupled = std::move(axes);
  }
  if (coupled.size() < 2) return choices;
  do {
    for (const bool division_windows : {false, true}) {
      if (division_windows && source.divisions.empty()) continue;
      choices.push_back({coupled, division_windows});
    }
  } while (std::next_permutation(coupled.begin(), coupled.end()) && choices.size() < kAlternatives);
  return choices;
}

/// The default basis, or the least wasteful of the alternatives if that one idles too much.
std::optional<FibrePiece> best_piece(const FibreSystem& system, const Domain& source,
                                     std::span<const Affine> index) {
  std::optional<FibrePiece> best = piece_with(system, source, BasisChoice{});
  if (!best) return std::nullopt;
  double waste = measure_waste(*best, kAllowedWaste);
  if (waste <= kAllowedWaste) return best;
  std::vector<BasisChoice> choices = alternatives(source, index);
  if (system.inequalities.size() > kLargeSystem)
    choices.resize(std::min(choices.size(), kAlternativesOfLarge));
  for (const BasisChoice& choice : choices) {
    try {
      std::optional<FibrePiece> piece = piece_with(system, source, choice);
      const double sampled = piece ? measure_waste(*piece, kAllowedWaste) : waste;
      if (sampled >= waste) continue;
      waste = sampled;
      best = std::move(piece);
    } catch (const Overflow&) {
      continue;  // the default did not overflow
    }
    if (waste <= kAllowedWaste) break;
  }
  return best;
}

}  // namespace

std::optional<std::vector<FibrePiece>> fibre(const Domain& source, std::span<const Affine> index,
                                             std::span<const int64_t> target_shape) {
  invariant(index.size() == target_shape.size(), "a fibre needs one index form per coordinate");
  if (is_empty_box(source.extents) || is_empty_box(target_shape)) return std::vector<FibrePiece>{};
  try {
    FibreSystem system(source, index, target_shape);
    if (!solve(system)) return std::vector<FibrePiece>{};
    std::optional<FibrePiece> piece = best_piece(system, source, index);
    if (!piece) return std::vector<FibrePiece>{};
    return std::vector<FibrePiece>{std::move(*piece)};
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace adjit::domain
