// tests/jit/cuda/toolkit_test.cpp -- where the programs of CUDA's toolkit are looked for.
#include "jit/cuda/toolkit.hpp"

#include <gtest/gtest.h>

#include "tests/jit/cuda/variable.hpp"

namespace adjit::cuda {
namespace {

using Places = std::vector<std::string>;

TEST(Toolkit, ItsProgramsAreInTheFoldersThatVariablesNameOrWhereItIsInstalled) {
  const tests::Variable path("PATH", "/nowhere"), home("CUDA_HOME", "/opt/cuda"),
      other("CUDA_PATH", "");
  EXPECT_EQ(toolkit_places("ptxas"), (Places{"/opt/cuda/bin/ptxas", "/usr/local/cuda/bin/ptxas"}));
}

TEST(Toolkit, WhatIsInPathComesFirst) {
  const tests::Variable path("PATH", "/nowhere:/bin"), home("CUDA_HOME", "/opt"),
      other("CUDA_PATH", "/usr/cuda");
  EXPECT_EQ(toolkit_places("sh"),
            (Places{"/bin/sh", "/opt/bin/sh", "/usr/cuda/bin/sh", "/usr/local/cuda/bin/sh"}));
}

}  // namespace
}  // namespace adjit::cuda
