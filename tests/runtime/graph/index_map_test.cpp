// tests/runtime/graph/index_map_test.cpp -- indices as forms over a domain with their divisions.
#include "runtime/graph/index_map.hpp"

#include <gtest/gtest.h>

namespace adjit::graph {
namespace {

class IndexMaps : public ::testing::Test {
 protected:
  IndexMaps() {
    domain_.extents = {8, 4};
    domain_.output_rank = 2;
  }

  ExprId number(int64_t value) { return pool_.constant_int(value); }
  ExprId half(ExprId e) { return pool_.make(Op::FloorDiv, {e, number(2)}); }
  ExprId data() {
    const ExprId at[] = {i_};
    return pool_.read(TensorId{0}, DType::Int64, at);
  }

  ExprPool pool_;
  const ExprId i_ = pool_.axis(0), j_ = pool_.axis(1);
  Domain domain_;
};

TEST_F(IndexMaps, HoldTheDivisionsOfTheirForms) {
  const ExprId index[] = {half(pool_.add(i_, number(1))), j_, data()};
  const IndexMap map = index_map(pool_, index, domain_);
  ASSERT_EQ(map.forms.size(), 3U);
  EXPECT_EQ(map.forms[0], Affine::variable(2));
  EXPECT_EQ(map.forms[1], Affine::variable(1));
  EXPECT_EQ(map.forms[2], std::nullopt);
  EXPECT_FALSE(map.is_affine());
  EXPECT_EQ(map.domain.divisions, (std::vector<Division>{{Affine::variable(0, 1, 1), 2}}));
  EXPECT_TRUE(domain_.divisions.empty());
  EXPECT_TRUE(index_map(pool_, std::span(index).first(2), domain_).is_affine());
  EXPECT_TRUE(index_map(pool_, {}, domain_).is_affine());
}

TEST_F(IndexMaps, ShareDivisionsAmongIndices) {
  const ExprId quotient = half(pool_.add(i_, j_));
  const ExprId index[] = {quotient, pool_.add(quotient, j_)};
  const IndexMap map = index_map(pool_, index, domain_);
  EXPECT_EQ(map.domain.divisions.size(), 1U);
  EXPECT_EQ(map.forms[1], Affine::variable(1) + Affine::variable(2));
}

TEST_F(IndexMaps, OfOneIndexAreAForm) {
  const std::optional<IndexForm> form = index_form(pool_, half(pool_.add(i_, j_)), domain_);
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->form, Affine::variable(2));
  EXPECT_EQ(form->domain.divisions.size(), 1U);
  EXPECT_FALSE(index_form(pool_, data(), domain_).has_value());
}

TEST_F(IndexMaps, KnowNoAxisThatTheDomainLacks) {
  const ExprId index[] = {pool_.axis(2)};
  EXPECT_FALSE(index_map(pool_, index, domain_).is_affine());
  EXPECT_FALSE(index_form(pool_, index[0], domain_).has_value());
}

TEST_F(IndexMaps, TakeFormsOfATensorToTheDomain) {
  const ExprId index[] = {i_, data(), half(pool_.add(i_, j_))};
  Affine form = Affine::variable(0, 2, 5);
  form.set_coefficient(2, 3);
  const std::optional<IndexForm> there = at_index(pool_, form, index, domain_);
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(there->form, Affine::variable(0, 2, 5) + Affine::variable(2, 3));
  EXPECT_EQ(there->domain.divisions.size(), 1U);
  EXPECT_FALSE(at_index(pool_, Affine::variable(1), index, domain_).has_value());
  const ExprId far[] = {pool_.mul(i_, number(int64_t{1} << 59))};
  EXPECT_FALSE(at_index(pool_, Affine::variable(0, 1 << 10), far, domain_).has_value());
}

TEST_F(IndexMaps, AreExpressionsAgain) {
  const ExprId quotient = half(pool_.add(i_, j_));
  const std::optional<IndexForm> form = index_form(pool_, quotient, domain_);
  ASSERT_TRUE(form.has_value());
  const Affine forms[] = {form->form, Affine::variable(0, 1, 3)};
  EXPECT_EQ(to_exprs(pool_, forms, form->domain),
            (std::vector<ExprId>{quotient, pool_.add(i_, number(3))}));
}

}  // namespace
}  // namespace adjit::graph
