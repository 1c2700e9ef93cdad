// tests/fuzz/draw/text_draw.hpp -- random statements of the text notation, whose ranges the library
// infers.
//
// The same statement with all its ranges written must parse as the same graph. What these are is
// found without any arithmetic of forms: by trying numbers one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/draw/scope.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

class TextDraw {
 public:
  explicit TextDraw(Scope& scope) : scope_(scope), random_(scope.random()) {}

  /// Adds a statement's result to the scope, or is refused by it. std::logic_error where the
  /// library infers other ranges.
  bool draw();

 private:
  static constexpr size_t kMostIndices = 4;
  using Range = std::pair<int64_t, int64_t>;  // the second is not included
  struct Index {
    std::string name;
    std::optional<Range> range;
    bool written = false, left = false;
  };
  struct Form {
    std::array<int64_t, kMostIndices> coefficients{};
    int64_t constant = 0, extent = 0;
  };

  void draw_indices();
  std::string draw_read(size_t operand, const std::vector<int64_t>& shape);
  std::string draw_body();
  std::string statement(bool all_ranges) const;
  std::string program(bool all_ranges) const;

  bool in_bounds(const Form& form, size_t open, int64_t value) const;
  std::optional<Range> widest(const Form& form, size_t open) const;
  std::optional<size_t> open_index(const Form& form) const;
  int64_t farthest() const;
  bool find_ranges();

  Scope& scope_;
  Random& random_;
  std::vector<TensorId> operands_;
  std::vector<Index> indices_;
  std::vector<Form> forms_;
  std::string body_, assignment_;
};

}  // namespace adjit::testing
