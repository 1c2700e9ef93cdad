// tests/jit/engine/winners_test.cpp -- compiled ArgMax and ArgMin whose payloads are data: any
// integer, the least one too.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Few values, so that extremes and identities tie; float ones with NaN among them.
Array values_of(DType dtype, std::vector<int64_t> shape, int64_t seed) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (int64_t e = 0; e < array.element_count(); ++e) {
    const int64_t draw = (e * 7 + seed * 13 + e / 5) % 11;
    double value =
        dtype == DType::Bool ? static_cast<double>(draw % 2) : static_cast<double>(draw % 3);
    if (is_float(dtype) && draw == 4) value = std::numeric_limits<double>::infinity();
    if (is_float(dtype) && draw % 4 == 1) value = -std::numeric_limits<double>::infinity();
    if (is_float(dtype) && draw == 10 && seed > 1) value = std::nan("");
    array.set(e, value);
  }
  return array;
}

class Winners : public ::testing::TestWithParam<const char*> {};

TEST_P(Winners, KeepTheLeastIntegerAsPayload) {
  const std::string dtype = GetParam();
  Engine engine(memory_only(2));
  // Whole rows, rows that skip their first points, a column reduction, and rows without points.
  for (const char* where : {"i in 0:9, r in 0:40", "i in 0:9, r in 0:40, r >= i * 4",
                            "i in 0:9, r in 0:40, r > 20 + i * 5"})
    for (const char* kind : {"argmax", "argmin"}) {
      const Graph graph =
          parse_graph("def f(" + dtype + "(9, 40) x, int64(40) p) -> (v, at) {\n  (v, at)(i) " +
                      kind + "=! (x(i, r), p(r)) where " + where + "\n}\n");
      for (int64_t seed = 0; seed < 4; ++seed) {
        Array payload = Array::zeros(DType::Int64, {40});
        for (int64_t e = 0; e < 40; ++e) payload.set(e, e % 3 == 2 ? -3.0 : -0x1p63);
        const std::vector<Array> inputs{values_of(graph.info(graph.inputs[0]).dtype, {9, 40}, seed),
                                        payload};
        const std::vector<Array> found = run_compiled(engine, request_of(graph), inputs);
        EXPECT_EQ(first_difference(graph, inputs, found), "")
            << dtype << " " << kind << " " << where;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(EveryDType, Winners,
                         ::testing::Values("float", "double", "half", "bfloat16", "int64", "int32",
                                           "uint8", "bool"));

}  // namespace
}  // namespace adjit::testing
