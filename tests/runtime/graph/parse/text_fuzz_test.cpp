// Random graphs through print and parse; mutated texts through the parser.
#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::graph {
namespace {

using testing::Random;
using testing::random_graph;
using testing::RandomGraphOptions;
using testing::small_inputs;

RandomGraphOptions everything() {
  RandomGraphOptions options;
  options.scatters = options.custom_combiners = options.zero_extents = true;
  return options;
}

TEST(TextFuzz, RandomGraphsVerifyAndRoundTrip) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_graph(seed, everything());
    ASSERT_NO_THROW(verify(graph)) << print(graph);
    const std::string text = print(graph);
    Graph parsed;
    ASSERT_NO_THROW(parsed = parse_graph(text)) << text;
    ASSERT_EQ(print(parsed), text);
    ASSERT_EQ(content_hash(parsed), content_hash(graph)) << text;
    ASSERT_NO_THROW(verify(parsed));
  }
}

TEST(TextFuzz, ParsedGraphsComputeTheSameBits) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_graph(seed, everything());
    const std::vector<Array> inputs = small_inputs(graph, seed);
    const std::vector<Array> expected = interpret(graph, inputs);
    for (const Graph& other : {parse_graph(print(graph)), compact(graph)}) {
      const std::vector<Array> found = interpret(other, inputs);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k].bytes, expected[k].bytes);
    }
  }
}

std::string mutated(std::string text, Random& random) {
  static const std::string kBytes = "()[]{},;:?=!+-*/%<>&|^~.\"#0123456789abcxyz_ \n\t\x01\xff";
  for (int64_t edits = random.between(1, 4); edits > 0 && !text.empty(); --edits) {
    const size_t at = static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size()) - 1));
    switch (random.between(0, 3)) {
      case 0: text[at] = kBytes[random.next() % kBytes.size()]; break;
      case 1: text.insert(at, 1, kBytes[random.next() % kBytes.size()]); break;
      case 2: text.erase(at, static_cast<size_t>(random.between(1, 8))); break;
      default: text.insert(at, text.substr(text.size() / 3, 12));
    }
  }
  return text;
}

TEST(TextFuzz, MutatedTextsParseOrFailWithAnError) {
  Random random(1);
  int parsed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = print(random_graph(seed, everything()));
    for (int round = 0; round < 40; ++round) {
      const std::string wrong = mutated(text, random);
      try {
        verify(parse_graph(wrong));
        ++parsed;
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::Internal) << error.what() << "\n" << wrong;
      }
    }
  }
  EXPECT_GT(parsed, 0);
}

TEST(TextFuzz, TruncatedTextsFailWithAnError) {
  const std::string text = print(random_graph(3, everything()));
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      parse_graph(text.substr(0, length));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Parse) << error.what();
    }
  }
}

}  // namespace
}  // namespace adjit::graph
