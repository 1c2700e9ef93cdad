// tests/bindings/c/export_test.cpp -- libraries written, loaded again and run without adjit.
#include <dlfcn.h>

#include <filesystem>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

class ExportApi : public ::testing::Test {
 protected:
  ExportApi() : directory_(std::filesystem::temp_directory_path() / "adjit-export-test-XXXXXX") {
    std::string pattern = directory_.string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~ExportApi() override { std::filesystem::remove_all(directory_); }

  adjit_status write(std::vector<adjit_lowered*> functions, std::vector<const char*> names) {
    return adjit_lowered_export("made", static_cast<int32_t>(functions.size()), functions.data(),
                                names.data(), directory_.c_str());
  }

  std::filesystem::path directory_;
};

TEST_F(ExportApi, TwoFunctionsInOneLibrary) {
  const Context c = context();
  const Computation f = square();
  const int32_t first = 0;
  adjit_computation* derived = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_vjp(f.get(), 1, &first, 1, &first, 0, &derived));
  const Computation vjp(derived);
  const Lowered forward = lowered(c, f), backward = lowered(c, vjp);
  ADJIT_OK_OR_FAIL(write({forward.get(), backward.get()}, {"f", "df"}));

  void* library = dlopen((directory_ / "libmade.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  using Forward = int (*)(const float*, float*);
  using Backward = int (*)(const float*, const float*, float*);
  const auto run = reinterpret_cast<Forward>(dlsym(library, "f"));
  const auto pull = reinterpret_cast<Backward>(dlsym(library, "df"));
  ASSERT_TRUE(run && pull);
  EXPECT_EQ(dlsym(library, "adjit_export_f_kernel_0"), nullptr);  // hidden
  const Floats x({3, 4}), ones({3, 4}, 1);
  Floats y({3, 4}), dx({3, 4});
  EXPECT_EQ(run(x.data.data(), y.data.data()), 0);
  EXPECT_EQ(pull(x.data.data(), ones.data.data(), dx.data.data()), 0);
  for (size_t k = 0; k < 12; ++k) {
    EXPECT_EQ(y.data[k], x.data[k] * x.data[k] + x.data[k]);
    EXPECT_EQ(dx.data[k], (2 * x.data[k] + 1) * ones.data[k]);
  }
  dlclose(library);
}

TEST_F(ExportApi, RefusesNamesAndFolders) {
  const Context c = context();
  const Computation f = square();
  const Lowered l = lowered(c, f);
  EXPECT_FAILURE(write({l.get()}, {"no-name"}), ADJIT_INVALID, "no-name");
  EXPECT_FAILURE(write({l.get(), l.get()}, {"f", "f"}), ADJIT_INVALID, "two functions");
  EXPECT_FAILURE(write({nullptr}, {"f"}), ADJIT_INVALID, "functions");
  EXPECT_FAILURE(write({l.get()}, {nullptr}), ADJIT_INVALID, "function_names");
  const char* name = "f";
  adjit_lowered* handle = l.get();
  EXPECT_FAILURE(adjit_lowered_export("made", 1, &handle, &name, "/proc/nowhere"), ADJIT_INVALID,
                 "/proc/nowhere");
  EXPECT_FAILURE(adjit_lowered_export("made", -1, &handle, &name, "."), ADJIT_INVALID, "-1");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace adjit_test
