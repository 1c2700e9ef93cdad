// tests/jit/cuda/driver_test.cpp -- loading the CUDA driver's library.
#include "jit/cuda/driver.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/expr/error.hpp"
#include "runtime/process/scratch_folder.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::cuda {
namespace {

std::string refusal(const std::string& library) {
  try {
    load_driver(library);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    return error.what();
  }
  return "";
}

TEST(LoadDriver, FindsEveryFunction) {
  const Driver driver = load_driver(ADJIT_FAKE_CUDA);
  EXPECT_EQ(driver.library, ADJIT_FAKE_CUDA);
#define DRIVER_FUNCTION(name, symbol, parameters) EXPECT_NE(driver.name, nullptr) << #symbol;
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
}

TEST(LoadDriver, NamesALibraryThatIsNotThere) {
  const std::string said = refusal("/nowhere/libcuda.so.1");
  EXPECT_NE(said.find("'/nowhere/libcuda.so.1' cannot be loaded"), std::string::npos) << said;
  EXPECT_NE(said.find("No such file"), std::string::npos) << said;
  EXPECT_NE(said.find("ADJIT_CUDA_LIBRARY"), std::string::npos) << said;
}

TEST(LoadDriver, NamesEverySymbolThatALibraryLacks) {
  const std::string said = refusal("libm.so.6");
#define DRIVER_FUNCTION(name, symbol, parameters) \
  EXPECT_NE(said.find(#symbol), std::string::npos) << said;
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
}

// The fake driver's library, but with another name for one of its symbols.
std::string library_without(const std::string& symbol, const process::ScratchFolder& folder) {
  std::ifstream from(ADJIT_FAKE_CUDA, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(from), {});
  std::string other = symbol;
  other.back() = '?';
  for (size_t at = bytes.find(symbol); at != std::string::npos; at = bytes.find(symbol, at + 1))
    bytes.replace(at, symbol.size(), other);
  const std::string path = (folder / (symbol + ".so")).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(LoadDriver, NamesTheOneSymbolThatALibraryLacks) {
  const process::ScratchFolder folder(std::filesystem::temp_directory_path(), "adjit-driver");
  const std::string said = refusal(library_without("cuMemsetD8Async", folder));
  EXPECT_NE(said.find("lacks cuMemsetD8Async; "), std::string::npos) << said;
}

// Of the process's driver there is one: each case has a process of its own, which says on its exit
// what it saw. By their name Google Test runs them before others, which may give the process one.
template <typename Work>
void in_a_child(Work&& work) {
  ASSERT_FALSE(is_driver_initialised());
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DriverOfProcessDeathTest, IsInitialisedOnce) {
  in_a_child([] {
    tests::FakeCuda fake(ADJIT_FAKE_CUDA);
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    const Driver& first = driver();
    return &driver() == &first && fake.calls("cuInit") == 1 && is_driver_initialised();
  });
}

TEST(DriverOfProcessDeathTest, IsAskedAgainAfterItFailed) {
  in_a_child([] {
    tests::FakeCuda fake(ADJIT_FAKE_CUDA);
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    fake.fail("cuInit", 100);
    const std::string said = error_of([] { driver(); });
    return said.find("no GPU is visible") != std::string::npos && !is_driver_initialised() &&
           error_of([] { driver(); }).empty();
  });
}

TEST(DriverOfProcessDeathTest, IsRefusedInAChildOfAProcessThatUsesIt) {
  in_a_child([] {
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    driver();
    const pid_t child = fork();
    if (child == 0) {
      const std::string said = error_of([] { driver(); });
      _exit(said.find("'spawn'") != std::string::npos && !is_driver_initialised() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && error_of([] { driver(); }).empty();
  });
}

TEST(DriverOfProcessDeathTest, IsThereInAChildOfAProcessThatFailedToLoadIt) {
  in_a_child([] {
    setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    if (error_of([] { driver(); }).empty()) return false;
    const pid_t child = fork();
    if (child == 0) {
      setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
      _exit(error_of([] { driver(); }).empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  });
}

}  // namespace
}  // namespace adjit::cuda
