// tests/autosched/gpu/convolutions.hpp -- convolutions of any kind, and their adjoints, as graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autosched/lower/final_graph.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

struct Convolution {
  int64_t images = 2, channels = 16, filters = 16;
  std::vector<int64_t> size = {6, 5}, taps = {3, 3};  // per spatial axis
  int64_t stride = 1, dilation = 1, padding = 0, groups = 1;

  std::string text() const {
    const auto number = [](int64_t value) { return std::to_string(value); };
    std::string x = "x(i, c", f = "f(o, c", y = "y(i, o", sizes, windows, conditions;
    if (groups > 1) x += " + o // " + number(filters / groups) + " * " + number(channels / groups);
    for (size_t d = 0; d < size.size(); ++d) {
      const std::string h = "h" + number(static_cast<int64_t>(d)),
                        a = "a" + number(static_cast<int64_t>(d));
      const std::string at = number(stride) + " * " + h + " + " + number(dilation) + " * " + a;
      const int64_t results = (size[d] + 2 * padding - dilation * (taps[d] - 1) - 1) / stride + 1;
      x += ", " + at + " - " + number(padding);
      f += ", " + a;
      y += ", " + h;
      sizes += ", " + number(size[d]);
      windows += ", " + number(taps[d]);
      conditions += ", " + h + " in 0:" + number(results) + ", " + a + " in 0:" + number(taps[d]);
      if (padding > 0)
        conditions += ", " + at + " >= " + number(padding) + ", " + at +
                      " <= " + number(size[d] + padding - 1);
    }
    return "def f(float(" + number(images) + ", " + number(channels) + sizes + ") x, float(" +
           number(filters) + ", " + number(channels / groups) + windows + ") f) -> (y) {\n  " + y +
           ") +=! " + x + ") * " + f + ") where i in 0:" + number(images) +
           ", o in 0:" + number(filters) + ", c in 0:" + number(channels / groups) + conditions +
           "\n}";
  }
};

/// It, and its gradients with respect to the images and the filters, as they are scheduled.
inline std::vector<Graph> convolution_and_adjoints(const Convolution& convolution) {
  const Graph forward = parse_graph(convolution.text());
  std::vector<Graph> graphs{final_graph(forward)};
  for (const size_t input : {0, 1})
    graphs.push_back(final_graph(vjp(forward, {.wrt = {input}, .outputs = {0}}), true));
  return graphs;
}

}  // namespace adjit::testing
