// tests/runtime/diff/checks/failed_checks_test.cpp -- which of several failures is reported, and
// how.
#include <gtest/gtest.h>

#include "runtime/diff/checks/data_checks.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

DataCheck index_check(const std::string& subject, std::vector<std::string> axes,
                      std::vector<int64_t> extents, std::vector<size_t> loops = {}) {
  DataCheck check;
  check.subject = subject;
  check.dimension = 1;
  check.extent = 5;
  check.axes = std::move(axes);
  check.extents = std::move(extents);
  check.loops = std::move(loops);
  return check;
}

DataCheck nan_check(DataCheck::Kind kind, const std::string& subject) {
  DataCheck check;
  check.subject = subject;
  check.axes = {"i"};
  check.extents = {8};
  check.kind = kind;
  return check;
}

// The message, and the kind of the error; "" when nothing is raised.
std::string raised(const std::vector<DataCheck>& checks, const std::vector<int64_t>& found,
                   ErrorCode code = ErrorCode::Bounds) {
  try {
    raise_failed_checks(checks, found);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "";
}

TEST(FailedChecks, NoneRaisesNothing) {
  EXPECT_EQ(raised({}, {}), "");
  EXPECT_EQ(raised({index_check("a", {"i"}, {3})}, {kNowhere, 0}), "");
}

TEST(FailedChecks, AnIndexIsNamedWithItsPointInRowMajorOrder) {
  EXPECT_EQ(
      raised({index_check("the read x(n, t(i, j))", {"i", "j"}, {3, 4})}, {7, -2}),
      "index -2 of dimension 1 is out of range 0:5 in the read x(n, t(i, j)) at i = 1, j = 3; "
      "guard it with select or where=, or choose a mode (clip, wrap, drop)");
}

TEST(FailedChecks, AScalarHasNoPointToName) {
  EXPECT_NE(raised({index_check("x(n)", {}, {})}, {0, 9}).find("in x(n); guard"),
            std::string::npos);
}

TEST(FailedChecks, AxesWithoutElementsAreNoDivisionByZero) {
  EXPECT_NE(raised({index_check("x", {"i", "j"}, {2, 0})}, {1, 9}).find("i = 1, j = 0"),
            std::string::npos);
}

TEST(FailedChecks, OfTwoThatFailedTheFirstInTheProgramIsNamed) {
  const std::vector<DataCheck> checks{index_check("a", {"i"}, {9}), index_check("b", {"i"}, {9})};
  EXPECT_NE(raised(checks, {5, 9, 1, 9}).find(" a at i = 5"), std::string::npos);
  EXPECT_NE(raised(checks, {kNowhere, 0, 1, 9}).find(" b at i = 1"), std::string::npos);
}

TEST(FailedChecks, OfTwoInOneLoopTheEarlierStepIsNamed) {
  const std::vector<DataCheck> checks{index_check("a", {"t", "i"}, {4, 3}, {7}),
                                      index_check("b", {"t", "i"}, {4, 3}, {7})};
  EXPECT_NE(raised(checks, {6, 9, 5, 9}).find(" b at t = 1, i = 2"), std::string::npos);
  EXPECT_NE(raised(checks, {3, 9, 5, 9}).find(" a at t = 1, i = 0"), std::string::npos)
      << "in one step the first in the program";
}

TEST(FailedChecks, StepsOfDifferentLoopsAreNotCompared) {
  const std::vector<DataCheck> checks{index_check("a", {"t"}, {4}, {7}),
                                      index_check("b", {"t"}, {4}, {8})};
  EXPECT_NE(raised(checks, {3, 9, 0, 9}).find(" a at t = 3"), std::string::npos);
}

TEST(FailedChecks, OfNestedLoopsOnlyThoseAroundBothCount) {
  const std::vector<DataCheck> checks{index_check("a", {"t", "s"}, {4, 5}, {1, 2}),
                                      index_check("b", {"t", "s"}, {4, 5}, {1, 3})};
  EXPECT_NE(raised(checks, {9, 9, 5, 9}).find(" a at t = 1, s = 4"), std::string::npos)
      << "both in step 1 of the outer loop: the first in the program";
  EXPECT_NE(raised(checks, {10, 9, 9, 9}).find(" b at t = 1, s = 4"), std::string::npos);
}

TEST(FailedChecks, ANaNOfAnInputIsNamedBesideTheStageThatPassesItOn) {
  const std::vector<DataCheck> checks{nan_check(DataCheck::Kind::NaNInput, "input 'x'"),
                                      nan_check(DataCheck::Kind::NaNInput, "input 'w'"),
                                      nan_check(DataCheck::Kind::NaN, "stage 'y'")};
  EXPECT_EQ(raised(checks, {2, 0, 3, 0, 4, 0}, ErrorCode::Invalid),
            "the first NaN is in the result of stage 'y' at i = 4; input 'x' holds one at i = 2, "
            "input 'w' holds one at i = 3");
  EXPECT_EQ(raised(checks, {2, 0, 3, 0, kNowhere, 0}), "") << "no stage passes it on";
  EXPECT_NE(raised(checks, {kNowhere, 0, kNowhere, 0, 4, 0}, ErrorCode::Invalid)
                .find("no input holds one: it was made there"),
            std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
