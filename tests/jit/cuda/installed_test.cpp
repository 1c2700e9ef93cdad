// tests/jit/cuda/installed_test.cpp -- the GPUs of the machine, without a call of the driver.
#include "jit/cuda/installed.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/process/scratch_folder.hpp"

namespace adjit::cuda {
namespace {

TEST(InstalledGpus, AreReadFromTheListOfTheKernelModule) {
  const process::ScratchFolder folder(::testing::TempDir(), "adjit-gpus");
  for (const char* bus : {"0000:65:00.0", "0000:17:00.0"})
    std::filesystem::create_directory(folder / bus);
  std::ofstream(folder / "0000:65:00.0" / "information")
      << "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\n";
  EXPECT_EQ(installed_gpus(folder / ""),
            (std::vector<std::string>{"a GPU of unknown model", "NVIDIA H100 80GB HBM3"}));
}

TEST(InstalledGpus, AreNoneWithoutAList) { EXPECT_TRUE(installed_gpus("/nowhere").empty()); }

}  // namespace
}  // namespace adjit::cuda
