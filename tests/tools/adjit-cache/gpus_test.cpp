#include "tools/adjit-cache/gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

class GpusTest : public test::FilledShelf {
 protected:
  void SetUp() override {
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    setenv("ADJIT_PTXAS", "off", 1);
  }
  void TearDown() override { unsetenv("ADJIT_PTXAS"); }
  std::string examined(ExitCode expected = ExitCode::Ok) {
    return printed(
        [&](std::ostream& out) {
          Report report(out);
          found = examine_gpus(report);
          examine_gpu_entries(shelf(), found, report);
          return report.verdict();
        },
        expected);
  }
  std::string add_for(const std::string& sm) {
    cache::Entry entry = test::sample_entry(test::sample_key("for " + sm));
    entry.key.add("sm", sm);
    entry.sections.push_back({"cubin", "code for " + sm});
    return add(entry);
  }
  // A program in place of CUDA's, in a PATH that has only what scripts need.
  void install(const std::string& name, const std::string& does) {
    const std::filesystem::path path = scratch / name;
    std::ofstream(path) << "#!/bin/sh\n" << does << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    setenv("PATH", (scratch.path().string() + ":/usr/bin:/bin").c_str(), 1);
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  std::set<int> found;
};

TEST_F(GpusTest, DriverDevicesAndAssemblerAreALineEach) {
  fake.show_devices(2);
  const std::string text = examined();
  EXPECT_TRUE(contains(text, "' is that of CUDA 12.8\n")) << text;
  EXPECT_TRUE(contains(text, "ok       cuda:1 is Fake GPU, compute capability 9.0, 80.0 GiB\n"))
      << text;
  EXPECT_TRUE(contains(text, "note     no ptxas: the driver assembles")) << text;
  EXPECT_EQ(found, std::set<int>{90});
}

TEST_F(GpusTest, AGpuThatIsTooOldIsSaidToBe) {
  fake.show_devices(1, 75);
  EXPECT_TRUE(contains(examined(), "capability 7.5, 80.0 GiB; adjit needs 8.0 or later"));
  EXPECT_TRUE(found.empty());
}

TEST_F(GpusTest, WithoutADriverThereIsALineAndNoProblem) {
  setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  setenv("CUDA_VISIBLE_DEVICES", "", 0);
  const std::string text = examined();
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_TRUE(text.starts_with("note     no GPU: the CUDA driver '/nowhere/libcuda.so.1'")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST_F(GpusTest, AnAssemblerThatDoesNotRunIsAProblem) {
  setenv("ADJIT_PTXAS", "/nowhere/ptxas", 1);
  EXPECT_TRUE(contains(examined(ExitCode::Findings), "problem  ADJIT_PTXAS is '/nowhere/ptxas'"));
}

TEST_F(GpusTest, EntriesForOtherGpusAreCounted) {
  add("for the CPU");
  add_for("90");
  EXPECT_FALSE(contains(examined(), "entries"));
  add_for("80");
  add_for("120");
  EXPECT_TRUE(contains(examined(), "are for GPUs that are not here (sm_120: 1, sm_80: 1)"));
}

TEST_F(GpusTest, PrintsWhatACubinHoldsAsText) {
  const std::string id = add_for("90");
  const auto sass = [&] {
    return printed([&](std::ostream& out) { return print_section(shelf(), id, "sass", out); });
  };
  install("nvdisasm", "cat \"$1\"; echo ' as text'");
  EXPECT_EQ(sass(), "code for 90 as text\n");
  install("nvdisasm", "echo no cubin >&2; exit 1");
  std::ostringstream out;
  EXPECT_TRUE(contains(
      failure(ExitCode::Findings, [&] { print_section(shelf(), id, "sass", out); }), "no cubin"));
  EXPECT_TRUE(
      contains(failure(ExitCode::Findings, [&] { print_section(shelf(), add("a"), "sass", out); }),
               "no section 'sass'"));
}

}  // namespace
}  // namespace adjit::cache_tool
