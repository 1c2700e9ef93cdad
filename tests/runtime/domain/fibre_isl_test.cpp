// tests/runtime/domain/fibre_isl_test.cpp -- random fibres against isl: equal sets, equal counts.
//
// isl (MIT) is an oracle of this test only: it knows integer sets with floors exactly. For a read
// the set { (j, point) : index(point) = j } is written once from the source and once from the
// pieces of its fibre. Both must be equal, and the pieces' domains must hold as many points as the
// set has, so that no point is visited twice. ADJIT_FUZZ_CASES sets the number of cases (1,000 by
// default).
#include <gtest/gtest.h>

#include "random_read.hpp"
#include "visit.hpp"

#ifdef ADJIT_HAVE_ISL
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <iostream>

#include "runtime/domain/count.hpp"
#endif

namespace adjit::domain {
namespace {

#ifdef ADJIT_HAVE_ISL

constexpr int64_t kFewCells = 2'000;
constexpr unsigned long kOperations = 4'000'000;

using Names = std::vector<std::string>;

std::string numbered(const std::string& prefix, size_t number) {
  return prefix + std::to_string(number);
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The box, divisions and rows of a domain as conditions on its variables' names.
Names conditions_of(const Domain& domain, const Names& variables) {
  Names all;
  for (size_t k = 0; k < domain.rank(); ++k)
    all.push_back("0 <= " + variables[k] + " < " + std::to_string(domain.extents[k]));
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    all.push_back(variables[domain.rank() + q] + " = floor((" +
                  to_string(domain.divisions[q].numerator, variables) + ")/" +
                  std::to_string(domain.divisions[q].divisor) + ")");
  for (const Affine& row : domain.inequalities) all.push_back(to_string(row, variables) + " >= 0");
  for (const Affine& row : domain.equalities) all.push_back(to_string(row, variables) + " = 0");
  return all;
}

std::string conjunction(const Names& conditions) {
  std::string text;
  for (const std::string& condition : conditions) text += (text.empty() ? "" : " and ") + condition;
  return text;
}

std::string set_text(const Names& tuple, const Names& hidden, const Names& conditions) {
  const std::string body = conjunction(conditions);
  return "{ [" + listed(tuple) +
         "] : " + (hidden.empty() ? body : "exists (" + listed(hidden) + " : " + body + ")") + " }";
}

Names names_of(const std::string& prefix, size_t count) {
  Names names;
  for (size_t k = 0; k < count; ++k) names.push_back(numbered(prefix, k));
  return names;
}

/// { [j, x] : x in source, index(x) = j inside the target }
std::string source_text(const IndexMap& map, const std::vector<int64_t>& target) {
  const Names j = names_of("j", target.size()), x = names_of("x", map.source.rank());
  const Names divisions = names_of("d", map.source.divisions.size());
  Names variables = x, tuple = j;
  variables.insert(variables.end(), divisions.begin(), divisions.end());
  tuple.insert(tuple.end(), x.begin(), x.end());
  Names conditions = conditions_of(map.source, variables);
  for (size_t k = 0; k < target.size(); ++k) {
    conditions.push_back(j[k] + " = " + to_string(map.index[k], variables));
    conditions.push_back("0 <= " + j[k] + " < " + std::to_string(target[k]));
  }
  return set_text(tuple, divisions, conditions);
}

/// { [j, x] : some t with (j, t) in the piece's domain and x = original(j, t) }
std::string piece_text(const FibrePiece& piece) {
  const Domain& domain = piece.domain;
  const Names j = names_of("j", domain.output_rank), x = names_of("x", piece.original.size());
  Names hidden = names_of("t", domain.reduction_rank());
  Names variables = j, tuple = j;
  variables.insert(variables.end(), hidden.begin(), hidden.end());
  for (const std::string& name : names_of("d", domain.divisions.size())) {
    variables.push_back(name);
    hidden.push_back(name);
  }
  tuple.insert(tuple.end(), x.begin(), x.end());
  Names conditions = conditions_of(domain, variables);
  for (size_t k = 0; k < x.size(); ++k)
    conditions.push_back(x[k] + " = " + to_string(piece.original[k], variables));
  return set_text(tuple, hidden, conditions);
}

/// isl's answers about one read; unknown where its budget ran out.
class Oracle {
 public:
  Oracle() : context_(isl_ctx_alloc()) {
    isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() { isl_ctx_free(context_); }

  struct Answer {
    bool known = false, equal = false;
    int64_t points = 0;
  };

  Answer compare(const IndexMap& map, const Pattern& pattern,
                 const std::vector<FibrePiece>& pieces) {
    isl_ctx_reset_operations(context_);
    isl_ctx_set_max_operations(context_, kOperations);
    isl_set* source = isl_set_read_from_str(context_, source_text(map, pattern.target).c_str());
    isl_set* fibres = isl_set_empty(isl_set_get_space(source));
    for (const FibrePiece& piece : pieces)
      fibres = isl_set_union(fibres, isl_set_read_from_str(context_, piece_text(piece).c_str()));
    const isl_bool equal = isl_set_is_equal(source, fibres);
    isl_val* count = isl_set_count_val(source);
    Answer answer;
    if (equal != isl_bool_error && count != nullptr && isl_val_is_int(count))
      answer = {true, equal == isl_bool_true, isl_val_get_num_si(count)};
    isl_val_free(count);
    isl_set_free(source);
    isl_set_free(fibres);
    isl_ctx_reset_error(context_);
    return answer;
  }

 private:
  isl_ctx* context_;
};

std::string described(uint64_t seed, const IndexMap& map, const Pattern& pattern,
                      const std::vector<FibrePiece>& pieces) {
  std::string text = "seed " + std::to_string(seed) + "\n" + source_text(map, pattern.target);
  for (const FibrePiece& piece : pieces) text += "\n" + piece_text(piece);
  return text;
}

TEST(FibreIsl, EqualSetsAndCounts) {
  const int64_t cases = environment("ADJIT_FUZZ_CASES", 1000);
  uint64_t seed = static_cast<uint64_t>(environment("ADJIT_FUZZ_SEED", 1'000'000));
  int64_t done = 0, fallen_back = 0, unknown = 0, empty = 0;
  std::vector<double> times;
  Oracle oracle;
  for (; done < cases; ++seed) {
    const Pattern pattern = RandomRead(seed).generate();
    if (target_cells(pattern) > kFewCells) continue;
    ++done;
    const IndexMap& map = pattern.maps.front();
    const double start = cpu_milliseconds();
    const auto pieces = fibre(map.source, map.index, pattern.target);
    times.push_back(cpu_milliseconds() - start);
    if (!pieces) {
      ++fallen_back;
      continue;
    }
    const Oracle::Answer answer = oracle.compare(map, pattern, *pieces);
    if (!answer.known) {
      ++unknown;
      continue;
    }
    ASSERT_TRUE(answer.equal) << described(seed, map, pattern, *pieces);
    int64_t points = 0;
    for (const FibrePiece& piece : *pieces) points += *count_points(piece.domain);
    ASSERT_EQ(points, answer.points) << described(seed, map, pattern, *pieces);
    empty += answer.points == 0;
  }
  std::sort(times.begin(), times.end());
  std::cout << done << " cases: " << fallen_back << " fell back, " << unknown
            << " too large for isl, " << empty << " empty; ms: p99 "
            << times[(times.size() - 1) * 99 / 100] << ", max " << times.back() << "\n";
  EXPECT_LE(fallen_back * 100, done * 3);
  EXPECT_LE(unknown * 100, done * 2);
}

#else

TEST(FibreIsl, EqualSetsAndCounts) { GTEST_SKIP() << "built without isl (libisl-dev)"; }

#endif

}  // namespace
}  // namespace adjit::domain
