// tests/jit/cuda/driver_functions_test.cpp -- our declarations of the driver's functions, beside
// those of cuda.h where there is one.
#include <gtest/gtest.h>

#include <set>
#include <string>

#ifdef ADJIT_HAVE_CUDA_HEADER

#include <cuda.h>

#include <type_traits>

#include "jit/cuda/driver.hpp"

namespace adjit::cuda {
namespace {

// NOLINTBEGIN(bugprone-sizeof-expression,misc-redundant-expression): of types, not of values
// How a value is passed to a function: what is equal here, either side may declare.
struct Passed {
  bool pointer, floating;
  size_t size;
  bool operator==(const Passed&) const = default;
};
template <typename T>
constexpr Passed kPassed{std::is_pointer_v<T>, std::is_floating_point_v<T>, sizeof(T)};

template <typename A, typename B>
constexpr bool kAlike = false;
template <typename A, typename B, typename... As, typename... Bs>
  requires(sizeof...(As) == sizeof...(Bs))
constexpr bool kAlike<A(As...), B(Bs...)> =
    kPassed<A> == kPassed<B> && ((kPassed<As> == kPassed<Bs>) && ...);
// NOLINTEND(bugprone-sizeof-expression,misc-redundant-expression)

TEST(DriverFunctions, AreDeclaredAsInTheHeaderOfCuda) {
  static_assert(!kAlike<int(int), int(int, int)>);
  static_assert(!kAlike<int(int), int(double)>);
#define DRIVER_FUNCTION(name, symbol, parameters) \
  EXPECT_TRUE((kAlike<decltype(::symbol), Result parameters>)) << #symbol;
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
}

}  // namespace
}  // namespace adjit::cuda

#endif

namespace adjit::cuda {
namespace {

TEST(DriverFunctions, AreNamedOnceEach) {
  const char* const symbols[] = {
#define DRIVER_FUNCTION(name, symbol, parameters) #symbol,
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
  };
  std::set<std::string> seen;
  for (const char* symbol : symbols) EXPECT_TRUE(seen.insert(symbol).second) << symbol;
}

}  // namespace
}  // namespace adjit::cuda
