// tests/jit/engine/fork_storm_test.cpp -- children forked beside threads that derive, compile, load
// and run: each must be able to do the same. ADJIT_FORK_STORM is how many (2,000 in tools/test
// --long).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/forked_child.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::testing {
namespace {

// Under a sanitizer none: only the busy threads run. The address sanitizer's allocator keeps, in
// the child, locks that other threads held at the fork (g++ 12; one child of some 500 hung in it),
// and its search for leaks takes what those threads held for lost; the thread sanitizer ends a
// child that starts a thread.
int forks() {
  if (test::kSanitized) return 0;
  const char* wanted = std::getenv("ADJIT_FORK_STORM");
  return wanted ? std::atoi(wanted) : 60;
}

// Of n elements; no two numbers give the same program.
Graph scaled(int n, int number) {
  const std::string size = std::to_string(n), factor = std::to_string(number) + ".5";
  return parse_graph("def main(float(" + size + ") A) -> (S) {\n  S() +=! exp(A(r_i) * 0.001) * " +
                     factor + " where r_i in 0:" + size + "\n}\n");
}

std::shared_ptr<const Computation> slope(int n, int number) {
  Transformation gradient;
  gradient.kind = Transformation::Kind::Gradient;
  gradient.wrt = {0};
  gradient.outputs = {0};
  gradient.keep = true;
  return Computation::transformed(Computation(scaled(n, number)), gradient);
}

Request request_of_computation(std::shared_ptr<const Computation> computation) {
  Request request;
  request.computation = std::move(computation);
  for (const Computation::Tensor& input : request.computation->inputs())
    request.layouts.push_back(contiguous_layout(input.shape));
  return request;
}

bool right(Engine& engine, const Request& request, int n, int number) {
  const Array ones = Array::zeros(DType::Float32, {n});
  const std::vector<Array> found = run_compiled(engine, request, {ones});
  const double wanted = n * (number + 0.5);
  return std::abs(found[0].at(0) - wanted) < 1e-4 * wanted &&
         std::abs(found[1].at(n - 1) - 0.001 * (number + 0.5)) < 1e-4;
}

// Makes a new program again and again, in the background.
class Busy {
 public:
  template <class Step>
  explicit Busy(Step step)
      : thread_([this, step] {
          for (int k = 0; !stop_; ++k) step(k);
        }) {}
  ~Busy() {
    stop_ = true;
    thread_.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(ForkStorm, ChildrenOfABusyProcessCompileAndRun) {
  std::string directory = (std::filesystem::temp_directory_path() / "adjit-storm-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    EngineOptions options = memory_only(2);
    options.store.mode = cache::Mode::ReadWrite;
    options.store.directory = directory;
    Engine engine(options);
    const int large = 1 << 20;  // worth two threads
    const Request shared = request_of_computation(slope(7, 100000));
    const Request parallel = request_of_computation(slope(large, 3));
    ASSERT_TRUE(right(engine, parallel, large, 3));
    std::atomic<int> wrong{0};
    {
      const auto compiling = [&](int first) {
        return [&engine, &wrong, first](int k) {
          wrong += !right(engine, request_of_computation(slope(5, first + k)), 5, first + k);
        };
      };
      const Busy one(compiling(1000)), other(compiling(50000));
      const Busy running([&](int) { wrong += !right(engine, parallel, large, 3); });
      for (int n = 0; n < forks(); ++n) {
        std::fflush(stdout);  // what is buffered is not the child's to write
        const int status = test::in_child([&] {
          if (!right(engine, shared, 7, 100000)) return 1;
          if (!right(engine, request_of_computation(slope(6, n)), 6, n)) return 2;
          if (n % 4 == 0 && !right(engine, parallel, large, 3)) return 3;
          engine.store().flush();
          if (n % 4 == 1) std::exit(0);  // as a program ends, with what it does then
          return 0;
        });
        ASSERT_EQ(status, 0) << "child " << n << " (142: it hung)";
      }
    }
    EXPECT_EQ(wrong, 0);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace adjit::testing
