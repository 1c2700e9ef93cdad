// runtime/trace/ops/operator_table.cpp -- the table of all families, and the nearest names.
#include "runtime/trace/ops/operator_table.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/process/fork.hpp"
#include "runtime/trace/ops/contractions/families.hpp"
#include "runtime/trace/ops/creation/families.hpp"
#include "runtime/trace/ops/elementwise/families.hpp"
#include "runtime/trace/ops/indexing/families.hpp"
#include "runtime/trace/ops/network/families.hpp"
#include "runtime/trace/ops/reductions/families.hpp"
#include "runtime/trace/ops/spatial/families.hpp"
#include "runtime/trace/ops/views/families.hpp"

namespace adjit::trace {
namespace {

std::vector<Operator> collect() {
  std::vector<Operator> all;
  for (const auto family :
       {unary_operators(),       binary_operators(),         selection_operators(),
        reduction_operators(),   cumulative_operators(),     contraction_operators(),
        view_operators(),        joining_operators(),        indexing_operators(),
        gathering_operators(),   padding_operators(),        triangle_operators(),
        creation_operators(),    activation_operators(),     softmax_operators(),
        convolution_operators(), pooling_operators(),        normalization_operators(),
        loss_operators(),        classification_operators(), network_operators(),
        resampling_operators(),  random_operators()})
    all.insert(all.end(), family.begin(), family.end());
  std::ranges::sort(all, {}, &Operator::name);
  return all;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Operator& op : all_operators()) names.push_back(op.name);
  const size_t shown = std::min<size_t>(3, names.size());
  std::ranges::stable_sort(names, {}, [&](std::string_view candidate) {
    // "conv2d" is near "nn.conv2d": a shared tail counts more than the prefix that differs.
    return candidate.ends_with(name) ? 0 : edit_distance(name, candidate);
  });
  std::string text;
  for (size_t k = 0; k < shown; ++k) text += (k ? ", " : "") + std::string(names[k]);
  return text;
}

}  // namespace

std::span<const Operator> all_operators() {
  const ForkDelay no_fork;
  static const std::vector<Operator> kAll = collect();
  return kAll;
}

const Operator& find_operator(std::string_view name) {
  const std::span<const Operator> all = all_operators();
  const auto at = std::ranges::lower_bound(all, name, {}, &Operator::name);
  if (at != all.end() && at->name == name) return *at;
  throw Error(ErrorCode::Invalid, "there is no operator '" + std::string(name) +
                                      "'; the nearest are " + nearest_names(name));
}

}  // namespace adjit::trace
