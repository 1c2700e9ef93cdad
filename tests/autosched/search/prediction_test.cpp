// tests/autosched/search/prediction_test.cpp -- times are predicted for the machine that a target
// is.
#include "autosched/search/prediction.hpp"

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/search/explain.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Prediction, IsThatOfTheMachine) {
  const Graph graph = softmax_graph(512, 1024);
  const CpuMachine cpu{.cores = 2};
  const GpuMachine gpu;
  const Program on_cpu = default_schedule(graph, Target(cpu)),
                on_gpu = default_schedule(graph, Target(gpu));
  EXPECT_EQ(predict(on_cpu, Target(cpu)).microseconds, predict(on_cpu, cpu).microseconds);
  const Prediction predicted = predict(on_gpu, Target(gpu));
  EXPECT_EQ(predicted.microseconds, predict(on_gpu, gpu).microseconds);
  ASSERT_EQ(predicted.kernels.size(), on_gpu.kernels.size());
  EXPECT_EQ(predicted.kernels[0], predict(on_gpu, gpu).kernels[0].microseconds);
  EXPECT_EQ(print_prediction(on_cpu, cpu), print(predict(on_cpu, cpu), cpu));
  EXPECT_TRUE(print_prediction(on_gpu, gpu).starts_with("predicted "));
  EXPECT_NE(print_prediction(on_gpu, gpu).find("us: launch 2.30"), std::string::npos)
      << print_prediction(on_gpu, gpu);
}

TEST(Prediction, RooflinesAreThoseOfTheMachine) {
  const Program small = plain(softmax_graph(8, 8)), large = plain(softmax_graph(8192, 8192));
  const CpuMachine cpu;
  EXPECT_EQ(roofline_of(small, cpu)(1e6, 1e6), roofline(1e6, 1e6, cpu, false));
  EXPECT_EQ(roofline_of(large, cpu)(1e6, 1e6), roofline(1e6, 1e6, cpu, true));
  const GpuMachine gpu;
  EXPECT_EQ(roofline_of(small, gpu)(1e6, 1e6), roofline(1e6, 1e6, gpu, false));
  EXPECT_EQ(roofline_of(large, gpu)(1e6, 1e6), roofline(1e6, 1e6, gpu, true));
}

}  // namespace
}  // namespace adjit::sched
