// tests/autosched/gpu/random_contraction.hpp -- sums of products of two operands, drawn.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::testing {

// A contraction of two operands whose dimensions are axes, or windows of a stride and a dilation
// with zeros around, in any order; some of them with a condition on two axes, some of operands that
// are computed.
class RandomContraction {
 public:
  explicit RandomContraction(uint64_t seed) : random_(seed) {}

  Graph operator()() {
    const int64_t outputs = random_.between(2, 4), reductions = random_.between(2, 3);
    for (int64_t k = 0; k < outputs; ++k)
      add_axis("o", k < 2 ? 2 * k : random_.between(0, 4), k < 2 ? 18 : 4);
    for (int64_t k = 0; k < reductions; ++k) add_axis("r", 4, 4);
    std::vector<std::string> results;
    for (const Axis& axis : axes_)
      if (axis.name[0] == 'o') results.push_back(axis.name);
    const std::string x = operand(0), y = operand(1);
    std::string where = "where ";
    for (const Axis& axis : axes_)
      where +=
          (&axis == axes_.data() ? "" : ", ") + axis.name + " in 0:" + std::to_string(axis.extent);
    return parse_graph("def f(float(" + joined(shapes_[0]) + ") x, float(" + joined(shapes_[1]) +
                       ") y) -> (z) {\n  z(" + joined(results) + ") +=! " +
                       computed("x(" + x + ")") + " * " + computed("y(" + y + ")") + "\n    " +
                       where + rows_ + condition() + "\n}");
  }

 private:
  struct Axis {
    std::string name;
    int64_t extent = 1;
    bool of[2] = {true, true};
  };

  // Of both operands, or of one.
  void add_axis(const std::string& kind, int64_t side, int64_t longest) {
    Axis axis{
        kind + std::to_string(axes_.size()), random_.between(longest > 4 ? 17 : 3, longest), {}};
    axis.of[0] = side != 0 && side != 1;
    axis.of[1] = side != 2 && side != 3;
    axes_.push_back(axis);
  }

  static std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
  }

  std::string operand(size_t which) {
    std::vector<Axis> left;
    for (const Axis& axis : axes_)
      if (axis.of[which]) left.insert(left.begin() + random_.between(0, std::ssize(left)), axis);
    std::vector<std::string> index;
    while (!left.empty()) {
      const Axis axis = left.back();
      left.pop_back();
      if (left.empty() || random_.chance(60)) {
        index.push_back(axis.name);
        shapes_[which].push_back(std::to_string(axis.extent));
        continue;
      }
      const Axis tap = left.back();
      left.pop_back();
      const int64_t stride = random_.between(1, 2), dilation = random_.between(1, 2),
                    zeros = random_.between(0, 1);
      const int64_t size = stride * (axis.extent - 1) + dilation * (tap.extent - 1) + 1 - 2 * zeros;
      const std::string at = std::to_string(stride) + " * " + axis.name + " + " +
                             std::to_string(dilation) + " * " + tap.name;
      index.push_back(at + " - " + std::to_string(zeros));
      shapes_[which].push_back(std::to_string(size));
      if (zeros > 0)
        rows_ += ", " + at + " >= " + std::to_string(zeros) + ", " + at +
                 " <= " + std::to_string(size + zeros - 1);
    }
    return joined(index);
  }

  std::string computed(const std::string& read) {
    switch (random_.between(0, 5)) {
      case 0: return "(" + read + " - 0.5)";
      case 1: return "exp(" + read + ")";
      default: return read;
    }
  }

  // A triangle, or less or more of it.
  std::string condition() {
    if (random_.chance(50)) return "";
    const auto axis = [&] {
      return axes_[static_cast<size_t>(random_.between(0, std::ssize(axes_) - 1))].name;
    };
    return ", " + axis() + " + " + std::to_string(random_.between(-3, 3)) + " <= " + axis();
  }

  Random random_;
  std::vector<Axis> axes_;
  std::vector<std::string> shapes_[2];
  std::string rows_;
};

}  // namespace adjit::testing
