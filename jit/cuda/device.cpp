// jit/cuda/device.cpp -- the GPUs that the driver shows, in numbers.
#include "jit/cuda/device.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"

namespace adjit::cuda {
namespace {

DeviceFacts facts_of(const Driver& driver, int ordinal) {
  const std::string which = "of device " + std::to_string(ordinal);
  DeviceHandle device = 0;
  require(driver, driver.device(&device, ordinal), "cuDeviceGet " + which);
  const auto asked = [&](int number) {
    int value = 0;
    require(driver, driver.device_attribute(&value, number, device),
            "cuDeviceGetAttribute(" + std::to_string(number) + ") " + which);
    return value;
  };
  DeviceFacts facts;
  facts.ordinal = ordinal;
  std::array<char, 256> name{};
  require(driver, driver.device_name(name.data(), name.size() - 1, device),
          "cuDeviceGetName " + which);
  facts.name = name.data();
  facts.capability = 10 * asked(attribute::kCapabilityMajor) + asked(attribute::kCapabilityMinor);
  facts.multiprocessors = asked(attribute::kMultiprocessors);
  facts.threads = asked(attribute::kThreads);
  facts.block_threads = asked(attribute::kBlockThreads);
  facts.registers = asked(attribute::kRegisters);
  facts.shared_bytes = asked(attribute::kSharedBytes);
  facts.block_shared_bytes = asked(attribute::kBlockSharedBytes);
  facts.l2_bytes = asked(attribute::kL2Bytes);
  facts.ghz = 1e-6 * asked(attribute::kClockKhz);
  // Two transfers a clock.
  facts.memory_gb = 2e-6 * asked(attribute::kMemoryClockKhz) * asked(attribute::kMemoryBusBits) / 8;
  facts.cooperative = asked(attribute::kCooperative) != 0;
  facts.memory_pools = asked(attribute::kMemoryPools) != 0;
  size_t bytes = 0;
  require(driver, driver.device_memory(&bytes, device), "cuDeviceTotalMem " + which);
  facts.memory_bytes = static_cast<int64_t>(bytes);
  return facts;
}

int count_of(const Driver& driver) {
  int count = 0;
  require(driver, driver.device_count(&count), "cuDeviceGetCount");
  return count;
}

}  // namespace

std::vector<DeviceFacts> devices(const Driver& driver) {
  std::vector<DeviceFacts> found;
  const int count = count_of(driver);
  for (int ordinal = 0; ordinal < count; ++ordinal) found.push_back(facts_of(driver, ordinal));
  return found;
}

DeviceFacts device_named(const Driver& driver, const std::string& target) {
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = 0;
  if (target != "cuda") {
    const char* end = target.data() + target.size();
    const bool numbered = target.starts_with(kPrefix) && target.size() > kPrefix.size();
    const auto [stop, error] =
        numbered ? std::from_chars(target.data() + kPrefix.size(), end, ordinal)
                 : std::from_chars_result{target.data(), std::errc::invalid_argument};
    if (error != std::errc() || stop != end || ordinal < 0)
      throw Error(ErrorCode::Device, "there is no target '" + target +
                                         "'; a GPU is \"cuda\" or, by its number, \"cuda:1\"");
  }
  const int count = count_of(driver);
  if (ordinal >= count)
    throw Error(ErrorCode::Device,
                "target '" + target + "': " +
                    (count == 0 ? "no GPU is visible"
                                : "the last visible GPU is cuda:" + std::to_string(count - 1)) +
                    "; look at nvidia-smi and CUDA_VISIBLE_DEVICES");
  DeviceFacts facts = facts_of(driver, ordinal);
  if (facts.capability < kLeastCapability)
    throw Error(ErrorCode::Device, "target '" + target + "': " + facts.name +
                                       " has compute capability " +
                                       std::to_string(facts.capability / 10) + "." +
                                       std::to_string(facts.capability % 10) +
                                       "; adjit needs 8.0 (Ampere) or later; "
                                       "use another GPU (\"cuda:1\"), or the target \"cpu\"");
  return facts;
}

int device_of(const Driver& driver, DevicePointer address) {
  int ordinal = 0;
  const Result result =
      driver.pointer_attribute(static_cast<void*>(&ordinal), kDeviceOrdinal, address);
  if (result == result::kInvalidValue)
    throw Error(ErrorCode::Device, "an array is said to lie on a GPU at address " +
                                       std::to_string(address) +
                                       ", where the CUDA driver has given out no memory");
  require(driver, result, "cuPointerGetAttribute");
  return ordinal;
}

}  // namespace adjit::cuda
