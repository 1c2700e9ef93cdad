// runtime/expr/affine.hpp -- an affine form over numbered variables, with checked int64
// coefficients.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/expr/integer.hpp"

namespace adjit::expr {

/// constant + sum_k coefficients[k] * variable k. Trailing zero coefficients are always trimmed, so
/// that equal forms compare equal whatever the number of variables around them. No number of a form
/// is INT64_MIN (Overflow instead): every one has a magnitude, and a negative.
class Affine {
 public:
  Affine() = default;
  explicit Affine(int64_t constant) : constant_(with_negative(constant)) {}
  /// scale * variable + constant.
  static Affine variable(size_t index, int64_t scale = 1, int64_t constant = 0);

  int64_t constant() const { return constant_; }
  /// Number of leading variables that may have a non-zero coefficient.
  size_t size() const { return coefficients_.size(); }
  int64_t coefficient(size_t index) const {
    return index < coefficients_.size() ? coefficients_[index] : 0;
  }
  std::span<const int64_t> coefficients() const { return coefficients_; }
  bool is_constant() const { return coefficients_.empty(); }

  void set_coefficient(size_t index, int64_t value);
  void set_constant(int64_t value) { constant_ = with_negative(value); }

  Affine& operator+=(const Affine& other);
  Affine& operator-=(const Affine& other);
  Affine& operator*=(int64_t scale);
  Affine& operator+=(int64_t constant);
  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator-(Affine a, const Affine& b) { return a -= b; }
  friend Affine operator*(Affine a, int64_t scale) { return a *= scale; }
  friend Affine operator*(int64_t scale, Affine a) { return a *= scale; }
  friend Affine operator-(Affine a) { return a *= -1; }
  bool operator==(const Affine&) const = default;

 private:
  void trim();
  std::vector<int64_t> coefficients_;
  int64_t constant_ = 0;
};

/// The form with variable k replaced by replacements[k] for k < replacements.size(); others stay.
Affine substitute(const Affine& form, std::span<const Affine> replacements);
/// 0 for a constant form.
int64_t gcd_of_coefficients(const Affine& form);
/// Value at a point; `point[k]` is variable k and must cover size().
int64_t evaluate(const Affine& form, std::span<const int64_t> point);
/// -1, 0 or 1: the value's sign there, which may have more than 64 bits.
int sign_at(const Affine& form, std::span<const int64_t> point);
/// e.g. "2*a + b - 3" with names[k] for variable k.
std::string to_string(const Affine& form, std::span<const std::string> names);

}  // namespace adjit::expr
