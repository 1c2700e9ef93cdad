// The C++ layer of an installed adjit: a gradient in index notation, compiled and run.
#include <adjit/adjit.hpp>
#include <iostream>
#include <vector>

int main() {
  const adjit::Trace t("loss");
  const adjit::Tensor a = t.input("a", adjit::DType::Float32, {2, 3});
  const adjit::Tensor b = t.input("b", adjit::DType::Float32, {3, 2});
  const adjit::Axis k = t.axis(3);
  const adjit::Tensor c =
      t.compute({2, 2}, [&](adjit::Axis i, adjit::Axis j) { return sum(a(i, k) * b(k, j), k); });
  const adjit::Computation slope = t.finish({sum(c)}).gradient({0});

  const adjit::Context context({.threads = 1, .cache_mode = "off"});
  const std::vector<float> ones(6, 1.0F), numbers{1, 2, 3, 4, 5, 6};
  const std::vector<adjit::Array> result =
      slope.compile(context)(adjit::ConstView(ones, {2, 3}), adjit::ConstView(numbers, {3, 2}));
  const float got = result[0].elements<float>()[5];
  if (got != 11) std::cerr << "the slope is " << got << ", not 5 + 6\n";
  try {
    adjit::TextModule("def f(");
  } catch (const adjit::ParseError&) {
    return got != 11;
  }
  std::cerr << "half a definition was parsed\n";
  return 1;
}
