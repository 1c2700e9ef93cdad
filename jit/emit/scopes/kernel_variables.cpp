// jit/emit/scopes/kernel_variables.cpp -- bindings of variables, and forms where they are bound.
#include "jit/emit/scopes/kernel_variables.hpp"

#include <algorithm>

namespace adjit::emit {

void KernelVariables::bind_scalar(size_t variable, Interval trips, int64_t step, size_t depth) {
  variables_[variable] = {Kind::Scalar, false, trips, depth, 0, step};
}

void KernelVariables::bind_lanes(size_t variable, unsigned lanes) {
  lanes_ = lanes;
  lane_variable_ = variable;
  variables_[variable] = {Kind::Lanes, false, {0, int64_t{lanes} - 1}, 0, 0, 1};
}

void KernelVariables::bind_fixed(size_t variable, int64_t value) {
  variables_[variable] = {Kind::Fixed, false, {value, value}, 0, value, 1};
}

void KernelVariables::unbind(size_t variable) {
  if (lane_variable_ == variable) {
    lane_variable_.reset();
    lanes_ = 1;
  }
  variables_[variable] = {};
}

size_t KernelVariables::add_quotient(const Affine& numerator, int64_t divisor) {
  const size_t number = variables_.size();
  const Interval r = range(numerator);
  Variable quotient;
  quotient.kind = in_lanes(numerator) ? Kind::Lanes : Kind::Scalar;
  quotient.quotient = true;
  quotient.range = {expr::floor_div(r.lo, divisor), expr::floor_div(r.hi, divisor)};
  quotient.depth = depth(numerator);
  if (quotient.kind == Kind::Lanes && without_lanes(numerator).is_constant())
    if (std::optional<std::vector<int64_t>> values = lane_pattern(numerator)) {
      for (int64_t& value : *values)
        value = expr::floor_div(checked_add(value, numerator.constant()), divisor);
      lane_values_.emplace(number, std::move(*values));
    }
  variables_.push_back(quotient);
  return number;
}

Affine KernelVariables::resolve(const Affine& form) const {
  Affine resolved(form.constant());
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    invariant(variables_[k].kind != Kind::Unbound, "a loop variable is used outside its loop");
    if (variables_[k].kind == Kind::Fixed) {
      resolved += checked_mul(c, variables_[k].fixed);
    } else {
      resolved.set_coefficient(k, checked_mul(c, variables_[k].step));
    }
  }
  return resolved;
}

Interval KernelVariables::range(const Affine& form) const {
  Interval r{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    const Interval v = variables_[k].range;
    r.lo = checked_add(r.lo, checked_mul(c, c > 0 ? v.lo : v.hi));
    r.hi = checked_add(r.hi, checked_mul(c, c > 0 ? v.hi : v.lo));
  }
  return r;
}

bool KernelVariables::in_lanes(const Affine& form) const {
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0 && variables_[k].kind == Kind::Lanes) return true;
  return false;
}

std::optional<int64_t> KernelVariables::lane_stride(const Affine& form) const {
  int64_t stride = 0;
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0 || variables_[k].kind != Kind::Lanes) continue;
    if (variables_[k].quotient) return std::nullopt;
    stride = form.coefficient(k);
  }
  return stride;
}

Affine KernelVariables::without_lanes(const Affine& form) const {
  Affine plain(form.constant());
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0 && variables_[k].kind != Kind::Lanes)
      plain.set_coefficient(k, form.coefficient(k));
  return plain;
}

std::optional<std::vector<int64_t>> KernelVariables::lane_pattern(const Affine& form) const {
  std::vector<int64_t> pattern(lanes_, 0);
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0 || variables_[k].kind != Kind::Lanes) continue;
    const auto known = lane_values_.find(k);
    if (variables_[k].quotient && known == lane_values_.end()) return std::nullopt;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const int64_t value = variables_[k].quotient ? known->second[lane] : lane;
      pattern[lane] = checked_add(pattern[lane], checked_mul(c, value));
    }
  }
  return pattern;
}

size_t KernelVariables::depth(const Affine& form) const {
  size_t depth = 0;
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0) depth = std::max(depth, variables_[k].depth);
  return depth;
}

std::vector<std::pair<size_t, Affine>> by_depth(const KernelVariables& variables,
                                                const Affine& form) {
  std::map<size_t, Affine> groups;
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0) continue;
    const Affine term = Affine::variable(k, form.coefficient(k));
    groups[variables.depth(term)] += term;
  }
  return {groups.begin(), groups.end()};
}

}  // namespace adjit::emit
