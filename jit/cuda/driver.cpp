// jit/cuda/driver.cpp -- the CUDA driver's library, loaded when it is first needed.
#include "jit/cuda/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "jit/cuda/result.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cuda {
namespace {

// Which process uses the driver. It is touched from before the library is loaded until loading or
// initialising fails: a child that was forked in between has half of a driver.
class DriverOfProcess {
 public:
  DriverOfProcess()
      : handler_({}, {}, [this] {
          forked_ = touched_.load();
          new (&mutex_) std::mutex;  // whoever held it is not here
        }) {}

  const Driver& get() {
    if (forked_) refuse_forked();
    if (const Driver* ready = ready_.load(std::memory_order_acquire)) return *ready;
    const std::lock_guard lock(mutex_);
    if (const Driver* ready = ready_.load(std::memory_order_relaxed)) return *ready;
    touched_ = true;
    try {
      auto loaded = std::make_unique<Driver>(load_driver(driver_library()));
      require(*loaded, loaded->init(0), "cuInit");
      ready_.store(loaded.release(), std::memory_order_release);  // never destroyed
    } catch (...) {
      touched_ = false;
      throw;
    }
    return *ready_.load(std::memory_order_relaxed);
  }

  bool is_ready() const { return !forked_ && ready_.load(std::memory_order_acquire) != nullptr; }

 private:
  std::mutex mutex_;
  std::atomic<const Driver*> ready_ = nullptr;
  std::atomic<bool> touched_ = false, forked_ = false;
  process::ForkHandler handler_;
};

DriverOfProcess& of_process() {
  static DriverOfProcess* const the = new DriverOfProcess;  // a fork may come after destructors
  return *the;
}

}  // namespace

void refuse_forked() {
  throw Error(ErrorCode::Device,
              "CUDA cannot be used in a process that was forked after CUDA was initialised; start "
              "it with the method 'spawn' or 'forkserver', or fork before the first use of a GPU");
}

std::string driver_library() {
  const char* const named = std::getenv("ADJIT_CUDA_LIBRARY");
  return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

Driver load_driver(const std::string& library) {
  Driver driver;
  driver.library = library;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Error(ErrorCode::Device,
                "the CUDA driver '" + library + "' cannot be loaded (" +
                    (reason != nullptr ? reason : "no reason given") +
                    "); install NVIDIA's driver, or name its library in ADJIT_CUDA_LIBRARY");
  }
  std::string missing;
  const auto look_up = [&](const char* symbol) {
    void* found = dlsym(handle, symbol);
    if (found == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    return found;
  };
#define DRIVER_FUNCTION(name, symbol, parameters) \
  driver.name = reinterpret_cast<decltype(driver.name)>(look_up(#symbol));
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
  if (!missing.empty())
    throw Error(ErrorCode::Device, "the CUDA driver '" + library + "' lacks " + missing +
                                       "; adjit needs the driver of CUDA 12.0 (525) or later");
  driver.takes_bitcode = dlsym(handle, "adjit_driver_takes_bitcode") != nullptr;
  return driver;
}

const Driver& driver() { return of_process().get(); }

bool is_driver_initialised() { return of_process().is_ready(); }

}  // namespace adjit::cuda
