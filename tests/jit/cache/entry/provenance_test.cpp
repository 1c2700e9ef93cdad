#include "jit/cache/entry/provenance.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/expr/error.hpp"

namespace adjit::cache {
namespace {

TEST(Provenance, RoundTrips) {
  Provenance provenance;
  provenance.trace_ms = 0.25;
  provenance.derive_ms = 1.5;
  provenance.schedule_ms = 2;
  provenance.compile_ms = 8.125;
  provenance.predicted_ms = 0.5;
  provenance.created_unix_ms = 1'700'000'000'123;
  provenance.adjit_version = "0.1.0";
  provenance.title = "grad(loss)";
  provenance.source_lines = {"a \"quoted\".py:3", "b.py:4"};
  EXPECT_EQ(provenance_from_json(to_json(provenance)), provenance);
  EXPECT_DOUBLE_EQ(provenance.saved_ms(), 11.625);
}

TEST(Provenance, AbsentAndUnknownMembersAreAllowed) {
  EXPECT_EQ(provenance_from_json("{}"), Provenance{});
  EXPECT_EQ(provenance_from_json(R"({"colour": "red", "trace_ms": 2})").trace_ms, 2);
}

TEST(Provenance, WhatJsonCannotSayIsReplaced) {
  Provenance provenance;
  provenance.compile_ms = std::numeric_limits<double>::quiet_NaN();
  provenance.measured_ms = std::numeric_limits<double>::infinity();
  provenance.source_lines = {"caf\xe9.py:1"};
  const Provenance read = provenance_from_json(to_json(provenance));
  EXPECT_EQ(read.compile_ms, 0);
  EXPECT_EQ(read.measured_ms, 0);
  EXPECT_EQ(read.source_lines.at(0), "caf\xef\xbf\xbd.py:1");
}

TEST(Provenance, RefusesOtherJson) {
  for (const char* text : {"", "[]", "null", "{", R"({"trace_ms": "fast"})",
                           R"({"source_lines": 3})", R"({"title": null})", "{} {}"}) {
    EXPECT_THROW(provenance_from_json(text), Error) << text;
  }
}

}  // namespace
}  // namespace adjit::cache
