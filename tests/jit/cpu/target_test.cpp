#include "jit/cpu/target.hpp"

#include <gtest/gtest.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "runtime/expr/error.hpp"

namespace adjit::cpu {
namespace {

TEST(CpuTarget, HostIsDescribedCompletely) {
  const CpuTarget host = cpu_target("native");
  EXPECT_NE(host.triple.find("x86_64"), std::string::npos);
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_NE(host.features.find("+sse2"), std::string::npos);
  EXPECT_EQ(host.vector.vector_bits, from_feature_string(host.features).vector_bits);
}

TEST(CpuTarget, LevelsRestrictTheFeatures) {
  const CpuTarget v2 = cpu_target("x86-64-v2");
  EXPECT_EQ(v2.vector.vector_bits, 128);
  EXPECT_FALSE(v2.vector.fma);
  EXPECT_TRUE(v2.vector.sse41);
  EXPECT_EQ(v2.features.find("+avx"), std::string::npos);
  EXPECT_NE(v2, cpu_target("x86-64"));
}

TEST(CpuTarget, FeaturesMayFollowTheName) {
  const CpuTarget narrow = cpu_target("native,-avx512f");
  EXPECT_LE(narrow.vector.vector_bits, 256);
  EXPECT_EQ(narrow.features.find("+avx512f"), std::string::npos);
  EXPECT_EQ(narrow.cpu, cpu_target("native").cpu);
  EXPECT_TRUE(!cpu_target("x86-64-v2,-sse4.1").vector.sse41);
  EXPECT_NE(cpu_target("x86-64-v2,-sse4.1").features, cpu_target("x86-64-v2").features);
}

TEST(CpuTarget, AModelThatAHypervisorMadeUpGivesWayToTheFeatures) {
  const auto named = [](const char* model, std::initializer_list<std::string_view> features) {
    return processor_of(model, [&](const char* feature) {
      return std::ranges::find(features, feature) != features.end();
    });
  };
  EXPECT_EQ(named("rocketlake", {"avx512f", "avx512fp16", "amx-tile"}), "sapphirerapids");
  EXPECT_EQ(named("rocketlake", {"avx512f", "amx-tile", "amx-fp16"}), "graniterapids");
  EXPECT_EQ(named("znver2", {"sse4a", "avx512f", "avx512vp2intersect"}), "znver5");
  EXPECT_EQ(named("rocketlake", {"avx512f"}), "rocketlake");
  EXPECT_EQ(named("znver3", {"sse4a", "avx2"}), "znver3");
  EXPECT_EQ(named("emeraldrapids", {"amx-tile", "avx512fp16"}), "emeraldrapids");
  EXPECT_EQ(named("znver4", {"sse4a"}), "znver4");
}

/// ADJIT_CPU for as long as it lives.
class Environment {
 public:
  explicit Environment(const char* value) { ::setenv("ADJIT_CPU", value, 1); }
  ~Environment() { before_ ? ::setenv("ADJIT_CPU", before_->c_str(), 1) : ::unsetenv("ADJIT_CPU"); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const std::optional<std::string> before_ =
      std::getenv("ADJIT_CPU") ? std::optional<std::string>(std::getenv("ADJIT_CPU"))
                               : std::nullopt;
};

TEST(CpuTarget, TheEnvironmentSpeaksWhereNoNameIsGiven) {
  {
    const Environment v2("x86-64-v2");
    EXPECT_EQ(cpu_target(), cpu_target("x86-64-v2"));
    EXPECT_EQ(cpu_target("x86-64").cpu, "x86-64");
  }
  const Environment empty("");
  EXPECT_EQ(cpu_target(), cpu_target("native"));
}

std::string refusal(std::string_view name) {
  try {
    cpu_target(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Invalid);
    return error.what();
  }
  return "accepted";
}

TEST(CpuTarget, RefusalsNameWhereTheNameCameFrom) {
  const Environment wrong("pentium-q");
  EXPECT_NE(refusal("").find("ADJIT_CPU is 'pentium-q'"), std::string::npos) << refusal("");
  EXPECT_NE(refusal("native,-avx1024").find("'-avx1024'"), std::string::npos);
  EXPECT_NE(refusal("native,avx2").find("write +name or -name"), std::string::npos);
}

TEST(CpuTarget, UnknownNamesAreRefused) {
  try {
    cpu_target("z80");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Invalid);
    EXPECT_NE(std::string(error.what()).find("'z80'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("x86-64-v3"), std::string::npos);
  }
}

// No CPU has both Intel's and AMD's extensions: one of the two is refused by name of a feature.
TEST(CpuTarget, CpusWithFeaturesThatThisOneLacksAreRefused) {
  int refused = 0;
  for (const char* name : {"sapphirerapids", "bdver4"}) {
    try {
      cpu_target(name);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.code(), ErrorCode::Invalid);
      const std::string text = error.what();
      EXPECT_NE(text.find("which this CPU lacks"), std::string::npos) << text;
      // The name that the message ends with is taken: all that is missing is left out of it.
      const size_t begin = text.rfind("or '") + 4;
      EXPECT_NO_THROW((void)cpu_target(text.substr(begin, text.rfind('\'') - begin))) << text;
    }
  }
  EXPECT_GE(refused, 1);
}

TEST(TargetMachines, AMachineIsReusedAfterItsLease) {
  TargetMachines machines(cpu_target());
  const llvm::TargetMachine* first = &*machines.lease(CodegenLevel::Fast);
  EXPECT_EQ(&*machines.lease(CodegenLevel::Fast), first);
  const auto less = machines.lease(CodegenLevel::Less);
  EXPECT_NE(&*less, first);
  EXPECT_EQ(less->getOptLevel(), llvm::CodeGenOptLevel::Less);
}

TEST(TargetMachines, LeasesAtOnceAreDifferentMachines) {
  TargetMachines machines(cpu_target());
  const auto a = machines.lease(CodegenLevel::Fast), b = machines.lease(CodegenLevel::Fast);
  EXPECT_NE(&*a, &*b);
}

TEST(TargetMachines, AnAbandonedMachineIsNotUsedAgain) {
  TargetMachines machines(cpu_target());
  auto lease = machines.lease(CodegenLevel::Fast);
  std::unique_ptr<llvm::TargetMachine> abandoned(&*lease);
  lease.abandon();
  EXPECT_NE(&*machines.lease(CodegenLevel::Fast), abandoned.get());
}

TEST(TargetMachines, MultipliesAndAddsAreNeverFused) {
  TargetMachines machines(cpu_target());
  for (CodegenLevel level : {CodegenLevel::Fast, CodegenLevel::Less})
    EXPECT_EQ(machines.lease(level)->Options.AllowFPOpFusion, llvm::FPOpFusion::Strict);
}

TEST(Level, AccumulatorsAndFewRegistersGetRegisterAllocation) {
  TargetFeatures features;
  EXPECT_EQ(codegen_level(false, features), CodegenLevel::Less);
  features.avx512f = true;
  EXPECT_EQ(codegen_level(false, features), CodegenLevel::Fast);
  EXPECT_EQ(codegen_level(true, features), CodegenLevel::Less);
}

}  // namespace
}  // namespace adjit::cpu
