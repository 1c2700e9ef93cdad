// tests/jit/engine/backend/backend_test.cpp -- sections of an entry by their names.
#include "jit/engine/backend/backend.hpp"

#include <gtest/gtest.h>

#include "runtime/expr/error.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Backend, ASectionIsFoundByItsNameOrMissed) {
  const std::vector<cache::Section> sections{{"plan", "p"}, {"objects", "o"}};
  EXPECT_EQ(section_of(sections, "objects"), "o");
  try {
    section_of(sections, "cubin");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cache);
  }
}

}  // namespace
}  // namespace adjit::testing
