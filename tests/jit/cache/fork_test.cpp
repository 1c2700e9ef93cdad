#include "jit/cache/fork.hpp"

#include <gtest/gtest.h>

#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

TEST(ForkHandler, CallsEachInItsProcess) {
  int before = 0;
  int in_parent = 0;
  int in_child = 0;
  {
    const ForkHandler handler([&] { ++before; }, [&] { ++in_parent; }, [&] { ++in_child; });
    const ForkHandler silent({}, {}, {});
    EXPECT_EQ(test::in_child([&] { return 100 * before + 10 * in_parent + in_child; }), 101);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(in_parent, 1);
    EXPECT_EQ(in_child, 0);
  }
  EXPECT_EQ(test::in_child([&] { return before; }), 1);  // no longer registered
}

TEST(ForkHandler, AChildCanRegisterAndForkAgain) {
  EXPECT_EQ(test::in_child([] {
              int grandchildren = 0;
              const ForkHandler handler({}, [&] { ++grandchildren; }, {});
              return test::in_child([] { return 5; }) + grandchildren;
            }),
            6);
}

}  // namespace
}  // namespace adjit::cache
