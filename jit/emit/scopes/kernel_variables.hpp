// jit/emit/scopes/kernel_variables.hpp -- what is known of a kernel's variables where code is
// emitted, and of affine forms over them.
//
// Variables are the loop variables of the kernel and, behind them, the quotients derived from
// these: floor divisions by a number. A variable is a scalar (a serial or parallel loop), the lanes
// of a vector loop (0, 1, ..., lanes - 1), or fixed (an unrolled loop). Their ranges are known.
//
// No code is made here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/domain/bounds.hpp"
#include "runtime/expr/affine.hpp"

namespace adjit::emit {

class KernelVariables {
 public:
  explicit KernelVariables(size_t loop_variables) : variables_(loop_variables) {}
  /// Quotients included.
  size_t count() const { return variables_.size(); }

  /// A loop variable that is step * trip, known in the scope at a depth. Resolved forms are over
  /// trips, so that a tile's loop is a multiple of its step to every division. Where forms become
  /// values, IndexEmitter's is to be called, which knows the trip's.
  void bind_scalar(size_t variable, Interval trips, int64_t step, size_t depth);
  void bind_lanes(size_t variable, unsigned lanes);  // 0 .. lanes-1
  void bind_fixed(size_t variable, int64_t value);
  void unbind(size_t variable);
  /// A new variable: floor(numerator / divisor) of a resolved form.
  size_t add_quotient(const Affine& numerator, int64_t divisor);

  /// Fixed variables replaced by their values, loop variables by their steps times their trips.
  /// Every function below takes resolved forms.
  Affine resolve(const Affine& form) const;
  /// Bounds over the ranges of the variables.
  Interval range(const Affine& form) const;
  /// Whether a form differs between lanes.
  bool in_lanes(const Affine& form) const;
  /// Coefficient of the lane number where that is all that differs; nullopt when a quotient differs
  /// between lanes.
  std::optional<int64_t> lane_stride(const Affine& form) const;
  /// The part of a form that is the same in all lanes.
  Affine without_lanes(const Affine& form) const;
  /// What each lane adds to the part of the form without lanes, where that is the same wherever the
  /// lanes start: a stride, l // 2 or l % 2 for a vector of 16 at a multiple of 16.
  std::optional<std::vector<int64_t>> lane_pattern(const Affine& form) const;
  /// The outermost scope in which the form is known.
  size_t depth(const Affine& form) const;
  unsigned lanes() const { return lanes_; }

 private:
  enum class Kind : uint8_t { Unbound, Scalar, Lanes, Fixed };
  struct Variable {
    Kind kind = Kind::Unbound;
    bool quotient = false;
    Interval range{0, 0};
    size_t depth = 0;
    int64_t fixed = 0;
    int64_t step = 1;
  };

  unsigned lanes_ = 1;
  std::optional<size_t> lane_variable_;
  std::vector<Variable> variables_;
  std::map<size_t, std::vector<int64_t>> lane_values_;  // of quotients that have the same anywhere
};

/// The terms of a resolved form by the depth of their variables, outermost first.
std::vector<std::pair<size_t, Affine>> by_depth(const KernelVariables& variables,
                                                const Affine& form);

}  // namespace adjit::emit
