// runtime/expr/affine.cpp -- arithmetic of affine forms.
#include "runtime/expr/affine.hpp"

#include <algorithm>
#include <numeric>

namespace adjit::expr {

Affine Affine::variable(size_t index, int64_t scale, int64_t constant) {
  Affine form(constant);
  form.set_coefficient(index, scale);
  return form;
}

void Affine::set_coefficient(size_t index, int64_t value) {
  if (index >= coefficients_.size()) {
    if (value == 0) return;
    coefficients_.resize(index + 1, 0);
  }
  coefficients_[index] = with_negative(value);
  trim();
}

Affine& Affine::operator+=(const Affine& other) {
  if (other.size() > size()) coefficients_.resize(other.size(), 0);
  for (size_t k = 0; k < other.size(); ++k)
    coefficients_[k] = with_negative(checked_add(coefficients_[k], other.coefficients_[k]));
  constant_ = with_negative(checked_add(constant_, other.constant_));
  trim();
  return *this;
}

Affine& Affine::operator-=(const Affine& other) {
  if (other.size() > size()) coefficients_.resize(other.size(), 0);
  for (size_t k = 0; k < other.size(); ++k)
    coefficients_[k] = with_negative(checked_sub(coefficients_[k], other.coefficients_[k]));
  constant_ = with_negative(checked_sub(constant_, other.constant_));
  trim();
  return *this;
}

Affine& Affine::operator*=(int64_t scale) {
  for (int64_t& c : coefficients_) c = with_negative(checked_mul(c, scale));
  constant_ = with_negative(checked_mul(constant_, scale));
  trim();
  return *this;
}

Affine& Affine::operator+=(int64_t constant) {
  constant_ = with_negative(checked_add(constant_, constant));
  return *this;
}

void Affine::trim() {
  while (!coefficients_.empty() && coefficients_.back() == 0) coefficients_.pop_back();
}

Affine substitute(const Affine& form, std::span<const Affine> replacements) {
  Affine result(form.constant());
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficients()[k];
    if (c != 0) result += (k < replacements.size() ? replacements[k] : Affine::variable(k)) * c;
  }
  return result;
}

int64_t gcd_of_coefficients(const Affine& form) {
  int64_t g = 0;
  for (int64_t c : form.coefficients()) g = std::gcd(g, c);
  return g;
}

int64_t evaluate(const Affine& form, std::span<const int64_t> point) {
  int64_t value = form.constant();
  for (size_t k = 0; k < form.size(); ++k)
    value = checked_add(value, checked_mul(form.coefficients()[k], point[k]));
  return value;
}

int sign_at(const Affine& form, std::span<const int64_t> point) {
  __extension__ typedef __int128 Wide;
  Wide value = form.constant();
  for (size_t k = 0; k < form.size(); ++k)
    if (__builtin_add_overflow(value, Wide{form.coefficients()[k]} * point[k], &value))
      throw Overflow();
  return (value > 0) - (value < 0);
}

std::string to_string(const Affine& form, std::span<const std::string> names) {
  std::string text;
  const auto term = [&](int64_t scale, const std::string& what) {
    if (scale == 0) return;
    if (text.empty()) {
      text += scale < 0 ? "-" : "";
    } else {
      text += scale < 0 ? " - " : " + ";
    }
    const int64_t magnitude = scale < 0 ? -scale : scale;
    if (what.empty()) {
      text += std::to_string(magnitude);
    } else {
      if (magnitude != 1) text += std::to_string(magnitude) + "*";
      text += what;
    }
  };
  for (size_t k = 0; k < form.size(); ++k) term(form.coefficient(k), names[k]);
  term(form.constant(), "");
  return text.empty() ? "0" : text;
}

}  // namespace adjit::expr
