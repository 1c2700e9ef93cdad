// tests/bindings/cpp/support.hpp -- a context without a disk cache, arrays of numbers, finite
// differences, and what a failed call must look like.
#pragma once

#include <gtest/gtest.h>

#include <adjit/adjit.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace adjit_test {

inline const adjit::Context& context() {
  static const adjit::Context made({.threads = 2, .cache_mode = "off"});
  return made;
}

inline std::vector<double> random_numbers(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = uniform(generator);
  return numbers;
}

/// The statement throws `Type`, whose message says `part`.
#define EXPECT_ERROR(statement, Type, part)                                             \
  try {                                                                                 \
    statement;                                                                          \
    ADD_FAILURE() << #statement << " did not throw";                                    \
  } catch (const Type& error) {                                                         \
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what(); \
  }

/// Gradients of a one-element float64 computation against central differences, every element.
inline void expect_slopes(const adjit::Computation& f, std::vector<std::vector<double>> arrays) {
  const std::vector<adjit::TensorSpec> inputs = f.inputs();
  ASSERT_EQ(inputs.size(), arrays.size());
  std::vector<adjit::ConstView> views;
  std::vector<int32_t> wrt;
  for (size_t k = 0; k < arrays.size(); ++k) {
    views.emplace_back(arrays[k], inputs[k].shape);
    wrt.push_back(static_cast<int32_t>(k));
  }
  const adjit::Executable value = f.compile(context());
  const std::vector<adjit::Array> slopes = f.gradient(wrt).compile(context()).call(views);
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < arrays.size(); ++k)
    for (size_t at = 0; at < arrays[k].size(); ++at) {
      const double here = arrays[k][at];
      arrays[k][at] = here + kStep;
      const double above = value.call(views)[0].item<double>();
      arrays[k][at] = here - kStep;
      const double below = value.call(views)[0].item<double>();
      arrays[k][at] = here;
      const double measured = (above - below) / (2 * kStep);
      EXPECT_NEAR(slopes[k].elements<double>()[at], measured, 1e-6 * (1 + std::abs(measured)))
          << "input " << k << ", element " << at;
    }
}

}  // namespace adjit_test
