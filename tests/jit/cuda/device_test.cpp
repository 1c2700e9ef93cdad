// tests/jit/cuda/device_test.cpp -- the GPUs that the driver shows, in numbers.
#include "jit/cuda/device.hpp"

#include <gtest/gtest.h>

#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::cuda {
namespace {

class Devices : public testing::Test {
 protected:
  void SetUp() override { require(driver, driver.init(0), "cuInit"); }

  std::string refusal(const std::string& target, ErrorCode code = ErrorCode::Device) const {
    try {
      device_named(driver, target);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "";
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
};

TEST_F(Devices, AreListedWithTheirFacts) {
  fake.show_devices(2);
  const std::vector<DeviceFacts> found = devices(driver);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].ordinal, 1);
  EXPECT_EQ(found[0].name, "Fake GPU");
  EXPECT_EQ(found[0].capability, 90);
  EXPECT_EQ(found[0].multiprocessors, 132);
  EXPECT_EQ(found[0].block_shared_bytes, 227 << 10);
  EXPECT_EQ(found[0].l2_bytes, 50 << 20);
  EXPECT_EQ(found[0].memory_bytes, int64_t{80} << 30);
  EXPECT_DOUBLE_EQ(found[0].ghz, 1.98);
  EXPECT_NEAR(found[0].memory_gb, 3352, 1) << "two transfers of 640 bytes a clock";
  EXPECT_TRUE(found[0].cooperative && found[0].memory_pools);
}

TEST_F(Devices, AreFoundByTheNameOfATarget) {
  fake.show_devices(3);
  EXPECT_EQ(device_named(driver, "cuda").ordinal, 0);
  EXPECT_EQ(device_named(driver, "cuda:2").ordinal, 2);
}

TEST_F(Devices, WrongNamesAreRefusedWithTheRightOnes) {
  for (const char* target :
       {"cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda1", "gpu", "cuda:99999999999999999999"})
    EXPECT_NE(refusal(target).find("or, by its number, \"cuda:1\""), std::string::npos) << target;
}

TEST_F(Devices, ANumberThatIsNotThereIsRefusedWithTheLastOne) {
  fake.show_devices(2);
  EXPECT_NE(refusal("cuda:2").find("the last visible GPU is cuda:1"), std::string::npos);
  fake.show_devices(0);
  EXPECT_NE(refusal("cuda").find("no GPU is visible"), std::string::npos);
}

TEST_F(Devices, OldOnesAreRefusedByName) {
  fake.show_devices(1, 75);
  const std::string said = refusal("cuda");
  EXPECT_NE(said.find("Fake GPU has compute capability 7.5"), std::string::npos) << said;
  EXPECT_NE(said.find("8.0"), std::string::npos) << said;
}

TEST_F(Devices, TheOneOfAnArrayIsKnownByItsMemory) {
  fake.show_devices(2);
  for (const int device : {1, 0}) {
    void* const block = fake.allocate(100, device);
    const auto address = static_cast<DevicePointer>(reinterpret_cast<uintptr_t>(block));
    EXPECT_EQ(device_of(driver, address), device);
    EXPECT_EQ(device_of(driver, address + 99), device);
    try {
      device_of(driver, address + 100);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      EXPECT_NE(std::string(error.what()).find("has given out no memory"), std::string::npos);
    }
    fake.give_back(block);
  }
}

TEST_F(Devices, EveryFailureOfTheDriverIsAnErrorThatNamesTheCall) {
  for (const char* symbol : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                             "cuDeviceGetAttribute", "cuDeviceTotalMem"}) {
    const std::string exported =
        std::string(symbol) == "cuDeviceTotalMem" ? "cuDeviceTotalMem_v2" : symbol;
    fake.fail(exported, result::kOutOfMemory);
    EXPECT_NE(refusal("cuda", ErrorCode::Memory).find(symbol), std::string::npos) << symbol;
  }
  EXPECT_EQ(refusal("cuda"), "");
}

}  // namespace
}  // namespace adjit::cuda
