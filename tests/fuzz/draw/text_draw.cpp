// tests/fuzz/draw/text_draw.cpp -- random statements of the text notation.
#include "tests/fuzz/draw/text_draw.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/trace/splice.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

void TextDraw::draw_indices() {
  const auto left = static_cast<size_t>(random_.between(0, 2));
  const auto all = left + static_cast<size_t>(random_.between(left == 0 ? 1 : 0, 2));
  for (size_t k = 0; k < all; ++k) {
    Index index{std::string(1, "uvpq"[k < left ? k : 2 + k - left]), {}, false, k < left};
    if (random_.chance(25)) {
      const int64_t low = index.left || random_.chance(60) ? 0 : random_.between(-2, 1);
      index.range = Range{low, low + random_.between(1, 4)};
      index.written = true;
    }
    indices_.push_back(std::move(index));
  }
}

std::string TextDraw::draw_read(size_t operand, const std::vector<int64_t>& shape) {
  std::string text = "x" + std::to_string(operand) + "(";
  for (size_t d = 0; d < shape.size(); ++d) {
    Form form;
    form.extent = shape[d];
    static const std::vector<int64_t> kStrides{1, 1, 1, 1, 1, 2, 3, -1, -2};
    for (int64_t terms = random_.between(0, 9); terms >= 0; terms -= 7)
      form.coefficients[static_cast<size_t>(
          random_.between(0, static_cast<int64_t>(indices_.size()) - 1))] = random_.pick(kStrides);
    if (random_.chance(40)) form.constant = random_.between(-3, 4);
    if (d > 0) text += ", ";
    for (size_t k = 0; k < indices_.size(); ++k)
      if (form.coefficients[k] != 0)
        text += std::to_string(form.coefficients[k]) + " * " + indices_[k].name + " + ";
    text += std::to_string(form.constant);
    forms_.push_back(form);
  }
  return text + ")";
}

std::string TextDraw::draw_body() {
  std::string body;
  for (int64_t reads = random_.between(1, 3); reads > 0; --reads) {
    const auto operand =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(operands_.size()) - 1));
    std::string read = draw_read(operand, scope_.shape(operands_[operand]));
    if (random_.chance(25)) read = (random_.chance(50) ? "sin(" : "tanh(") + read + ")";
    if (!body.empty()) body += random_.chance(60) ? " * " : " + ";
    body += read;
  }
  return body;
}

// Reduction indices are in the order in which they appear: in `where` before the body.
std::string TextDraw::statement(bool all_ranges) const {
  std::vector<const Index*> ordered;
  std::string left, where;
  for (const Index& index : indices_) {
    if (index.left) left += (left.empty() ? "" : ", ") + index.name;
    ordered.push_back(&index);
  }
  std::ranges::stable_sort(ordered, {}, [&](const Index* index) {
    return index->written ? -1 : static_cast<int64_t>(body_.find(index->name));
  });
  for (const Index* index : ordered)
    if (index->written || all_ranges)
      where += (where.empty() ? " where " : ", ") + index->name + " in " +
               std::to_string(index->range->first) + ":" + std::to_string(index->range->second);
  return "  y(" + left + ") " + assignment_ + " " + body_ + where + "\n";
}

std::string TextDraw::program(bool all_ranges) const {
  std::string text = "def stated(";
  for (size_t k = 0; k < operands_.size(); ++k) {
    text += std::string(k > 0 ? ", " : "") + std::string(text_name_of(scope_.real())) + "(";
    const std::vector<int64_t>& shape = scope_.shape(operands_[k]);
    for (size_t d = 0; d < shape.size(); ++d)
      text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
    text += ") x" + std::to_string(k);
  }
  return text + ") -> (y) {\n" + statement(all_ranges) + "}\n";
}

// Whatever the other indices are.
bool TextDraw::in_bounds(const Form& form, size_t open, int64_t value) const {
  std::vector<int64_t> values{form.constant + form.coefficients[open] * value};
  for (size_t k = 0; k < indices_.size(); ++k) {
    if (k == open || form.coefficients[k] == 0) continue;
    std::vector<int64_t> more;
    for (int64_t v : values)
      for (int64_t at = indices_[k].range->first; at < indices_[k].range->second; ++at)
        more.push_back(v + form.coefficients[k] * at);
    values = std::move(more);
  }
  return std::ranges::all_of(values, [&](int64_t v) { return 0 <= v && v < form.extent; });
}

std::optional<TextDraw::Range> TextDraw::widest(const Form& form, size_t open) const {
  std::optional<Range> range;
  for (int64_t value = -farthest(); value < farthest(); ++value) {
    if (!in_bounds(form, open, value)) continue;
    if (!range) range = Range{value, value};
    range->second = value + 1;
  }
  return range;
}

std::optional<size_t> TextDraw::open_index(const Form& form) const {
  std::optional<size_t> open;
  for (size_t k = 0; k < indices_.size(); ++k) {
    if (form.coefficients[k] == 0 || indices_[k].range) continue;
    if (open) return std::nullopt;
    open = k;
  }
  return open;
}

// No index of a form in bounds lies farther out: the others are within the extents, too.
int64_t TextDraw::farthest() const {
  int64_t largest = 0;
  for (const Form& form : forms_) largest = std::max(largest, form.extent);
  return 30 * largest + 50;
}

// In rounds. False where one is empty, which is another rule's, or cannot be inferred.
bool TextDraw::find_ranges() {
  for (;;) {
    std::vector<std::optional<Range>> found(indices_.size());
    for (const Form& form : forms_) {
      const std::optional<size_t> k = open_index(form);
      if (!k) continue;
      const std::optional<Range> range = widest(form, *k);
      if (!range) return false;
      if (!found[*k]) found[*k] = Range{indices_[*k].left ? 0 : -farthest(), farthest()};
      found[*k] = Range{std::max(found[*k]->first, range->first),
                        std::min(found[*k]->second, range->second)};
      if (found[*k]->first >= found[*k]->second) return false;
    }
    bool any = false;
    for (size_t k = 0; k < indices_.size(); ++k) {
      if (!found[k]) continue;
      indices_[k].range = found[k];
      any = true;
    }
    if (!any) break;
  }
  return std::ranges::all_of(indices_, [](const Index& index) { return index.range.has_value(); });
}

bool TextDraw::draw() {
  for (int64_t k = random_.between(1, 2); k > 0; --k) {
    const TensorId id = scope_.pick([&](TensorId t) {
      constexpr int64_t kMostExtent = 100;  // ranges are found by trial
      return scope_.dtype(t) == scope_.real() && scope_.shape(t).size() <= 3 &&
             !scope_.value(t).values.empty() &&
             std::ranges::all_of(scope_.shape(t), [](int64_t n) { return n <= kMostExtent; });
    });
    if (!id.valid()) return false;
    operands_.push_back(id);
  }
  draw_indices();
  const bool reduces =
      std::ranges::any_of(indices_, [](const Index& index) { return !index.left; });
  assignment_ = !reduces             ? "="
                : random_.chance(70) ? "+=!"
                : random_.chance(50) ? "max=!"
                                     : "min=!";
  body_ = draw_body();
  if (!find_ranges()) return false;
  return scope_.add([&] {
    const Graph inferred = parse_graph(program(false));
    const std::string written = print(parse_graph(program(true)));
    if (print(inferred) != written)
      throw std::logic_error("other ranges are inferred:\n" + program(false) + print(inferred) +
                             "instead of\n" + written);
    const std::vector<TensorId> results = splice(scope_.trace(), inferred, operands_);
    for (TensorId id : operands_) scope_.note_use(id);
    return results;
  });
}

}  // namespace adjit::testing
