#include <cstdlib>

#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

class DoctorTest : public test::FilledShelf {
 protected:
  std::string examine(ExitCode expected) {
    return printed([&](std::ostream& out) { return doctor(options, out); }, expected);
  }
  void SetUp() override {
    options.directory = scratch.path();
    setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
  }
  cache::StoreOptions options;
};

TEST_F(DoctorTest, AHealthyCache) {
  add("a");
  const std::string text = examine(ExitCode::Ok);
  EXPECT_FALSE(contains(text, "problem")) << text;
  EXPECT_TRUE(contains(text, "1 entries, none damaged")) << text;
}

TEST_F(DoctorTest, NotMadeYetIsNoProblem) {
  options.directory = scratch / "none";
  EXPECT_TRUE(contains(examine(ExitCode::Ok), "does not exist yet"));
}

TEST_F(DoctorTest, NoDirectoryIsAProblem) {
  options.directory.clear();
  EXPECT_TRUE(contains(examine(ExitCode::Findings), "ADJIT_CACHE_DIR"));
}

TEST_F(DoctorTest, AnOpenDirectoryIsAProblemWithItsRemedy) {
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  EXPECT_TRUE(contains(examine(ExitCode::Findings), "chmod 700"));
}

TEST_F(DoctorTest, DamageIsAProblemStrangersAreNot) {
  cache::test::write_file(scratch / "notes.txt", "");
  cache::test::write_file(scratch / (std::string(cache::kTemporaryStem) + "x"), "");
  const std::string text = examine(ExitCode::Ok);
  EXPECT_TRUE(contains(text, "note     'notes.txt'")) << text;
  EXPECT_TRUE(contains(text, "1 files are being written")) << text;
  cache::test::write_file(scratch / (std::string(32, '0') + ".entry"), "x");
  EXPECT_TRUE(contains(examine(ExitCode::Findings), "1 of 1 entries are damaged"));
}

TEST_F(DoctorTest, ExaminesModeSizeAndSharedDirectory) {
  add("a");
  options.max_bytes = 10;
  options.mode = cache::Mode::ReadOnly;
  options.shared_directory = scratch / "shared";
  std::string text = examine(ExitCode::Findings);
  EXPECT_TRUE(contains(text, "read only")) << text;
  EXPECT_TRUE(contains(text, "exceed the limit of 10 B")) << text;
  EXPECT_TRUE(contains(text, "shared' does not exist")) << text;
  std::filesystem::create_directory(options.shared_directory);
  ASSERT_EQ(chmod(options.shared_directory.c_str(), 0777), 0);
  EXPECT_TRUE(contains(examine(ExitCode::Findings), "chmod go-w"));
  ASSERT_EQ(chmod(options.shared_directory.c_str(), 0755), 0);
  EXPECT_TRUE(contains(examine(ExitCode::Ok), "can be read"));
}

}  // namespace
}  // namespace adjit::cache_tool
