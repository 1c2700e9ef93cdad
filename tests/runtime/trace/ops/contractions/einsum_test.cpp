// tests/runtime/trace/ops/contractions/einsum_test.cpp -- einsum by its subscripts.
#include <gtest/gtest.h>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST(SubscriptsSaySumsAndOrder, SubscriptsSaySumsAndOrder) {
  const Array a = f64({2, 2}, {1, 2, 3, 4}), b = f64({2, 2}, {5, 6, 7, 8});
  const auto einsum = [&](const std::vector<Array>& inputs, const std::string& subscripts) {
    return run("einsum", inputs, R"({"subscripts": ")" + subscripts + "\"}");
  };
  expect_near(einsum({a, b}, "ij,jk->ik"), {19, 22, 43, 50});
  expect_near(einsum({a, b}, "ij,jk"), {19, 22, 43, 50});
  expect_near(einsum({a}, "ii"), {5});
  expect_near(einsum({a}, "ii->i"), {1, 4});
  expect_near(einsum({a}, "ji"), {1, 3, 2, 4});
  expect_near(einsum({a, b}, "ij,kl->"), {10 * 26});
  expect_near(einsum({a, b}, "ij,ij->i"), {17, 53});
  expect_near(einsum({a, b, a}, "ij,jk,kl->il"), {19 + 66, 38 + 88, 43 + 150, 86 + 200});
  expect_near(einsum({f64({2}, {1, 10}), a, f64({2}, {1, 100})}, "i,ij,j->"), {201 + 4030});
  expect_near(einsum({f64({2}, {1, 10}), a, f64({2}, {1, 100})}, "i,ij,j->ji"), {1, 30, 200, 4000});
  expect_near(einsum({a, b}, "...j,...j"), {17, 53});
  expect_near(einsum({a}, "...->..."), {1, 2, 3, 4});
  // The narrow ones overflow if they meet before the wide one.
  const Array large = array(DType::Int32, {1}, {100000});
  expect_near(einsum({i64({1}, {1}), large, large}, "i,i,i->i"), {1e10});
  EXPECT_THROW(einsum({a, b}, "ij->ij"), Error);
  EXPECT_THROW(einsum({a}, "ijk"), Error);
  EXPECT_THROW(einsum({a}, "ij->ik"), Error);
  EXPECT_THROW(einsum({a, f64({3}, {1, 2, 3})}, "ij,j->i"), Error);
}

}  // namespace
}  // namespace adjit::testing
