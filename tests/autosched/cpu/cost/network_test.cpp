// The learned part of the cost model: its arithmetic by hand, its file, and that it computes what
// the trainer computed.
#include "autosched/cpu/cost/network.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include "autosched/cpu/cost/network_inputs.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/json.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Json plain_weights() {
  const size_t inputs = network_input_names().size();
  return {{"vector_bits", 512},
          {"mean", std::vector<double>(inputs, 0)},
          {"scale", std::vector<double>(inputs, 1)},
          {"layers", Json::array()},
          {"entry", {{"call", 1}, {"pool", 1}, {"task", 1}}}};
}

Json file_of(const Json& networks) {
  return {{"format", 2}, {"inputs", network_input_names()}, {"networks", networks}};
}

ErrorCode refusal(const Json& file) {
  try {
    read_networks(file.dump());
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::Internal;
}

TEST(CostNetwork, FactorsArePositive) {
  EXPECT_EQ(factor_of(0), 1);
  EXPECT_EQ(factor_of(2), 3);
  EXPECT_EQ(factor_of(-2), 1.0 / 3);
  EXPECT_GT(factor_of(-1e6), 0);
}

TEST(CostNetwork, WithoutLayersTheModelIsAnalytic) {
  const CostNetwork network(plain_weights());
  const Program program = default_schedule(matmul_graph(100, 60, 70), kOneCore);
  EXPECT_EQ(predict(program, kOneCore, &network).microseconds,
            predict(program, kOneCore, nullptr).microseconds);
}

TEST(CostNetwork, LayersByHand) {
  Json weights = plain_weights();
  const size_t inputs = network_input_names().size();
  std::vector<double> first(inputs, 0);
  first[0] = 1;
  weights["mean"][0] = 2.0;
  weights["scale"][0] = 0.5;
  weights["layers"].push_back({{"weights", {first, first}}, {"bias", {0.0, -10.0}}});
  Json last = {{"weights", Json::array()}, {"bias", Json::array()}};
  for (size_t t = 0; t <= kCostTerms; ++t) {
    last["weights"].push_back({t == 0 ? 2.0 : 0.0, t == 1 ? 1.0 : 0.0});
    last["bias"].push_back(t == kCostTerms ? 0.5 : 0.0);
  }
  weights["layers"].push_back(last);
  const CostNetwork network(weights);
  std::vector<double> x(inputs, 0);
  x[0] = 4;  // normalised: 1
  Corrections found = network(x);
  EXPECT_DOUBLE_EQ(found.terms[0], 3);                  // 1 + 2 * 1
  EXPECT_DOUBLE_EQ(found.terms[1], 1 / (1 + 0.1 * 9));  // the leak of 1 - 10
  EXPECT_DOUBLE_EQ(found.terms[2], 1);
  EXPECT_DOUBLE_EQ(found.nest, 1.5);
  x[0] = 1000;  // no farther than three deviations
  EXPECT_DOUBLE_EQ(network(x).terms[0], 7);
}

TEST(CostNetwork, EveryWidthHasItsOwn) {
  Json narrow = plain_weights(), wide = plain_weights();
  narrow["vector_bits"] = 128;
  narrow["entry"]["call"] = 3;
  const std::map<int, CostNetwork> networks =
      read_networks(file_of(Json::array({narrow, wide})).dump());
  ASSERT_EQ(networks.size(), 2U);
  EXPECT_EQ(networks.at(128).call(), 3);
  EXPECT_EQ(networks.at(512).call(), 1);
  for (const int shipped : {256, 512})
    EXPECT_NE(CostNetwork::shipped_for({1, shipped}), nullptr) << shipped;
  EXPECT_EQ(CostNetwork::shipped_for({1, 128}), nullptr) << "nobody measured those";
}

TEST(CostNetwork, RefusesOtherFiles) {
  EXPECT_EQ(refusal(Json("text")), ErrorCode::Parse);
  const Json plain = plain_weights();
  Json file = file_of(Json::array({plain}));
  file["format"] = 1;
  EXPECT_EQ(refusal(file), ErrorCode::Parse);
  file = file_of(Json::array({plain}));
  file["inputs"][3] = "another";
  EXPECT_EQ(refusal(file), ErrorCode::Parse);
  EXPECT_EQ(refusal(file_of(Json::array({plain, plain}))), ErrorCode::Parse) << "two for one width";
  Json weights = plain;
  weights["mean"].erase(0);
  EXPECT_EQ(refusal(file_of(Json::array({weights}))), ErrorCode::Parse);
  weights = plain;
  weights["layers"].push_back({{"weights", {{1.0, 2.0}}}, {"bias", {0.0}}});
  EXPECT_EQ(refusal(file_of(Json::array({weights}))), ErrorCode::Parse);
  weights = plain;
  weights.erase("entry");
  EXPECT_EQ(refusal(file_of(Json::array({weights}))), ErrorCode::Parse);
  weights = plain;
  weights.erase("vector_bits");
  EXPECT_EQ(refusal(file_of(Json::array({weights}))), ErrorCode::Parse);
  EXPECT_EQ(refusal(file_of(Json::array({plain}))), ErrorCode::Internal)
      << "nothing is wrong with this one";
}

// golden/corrections.json: by width of vectors, inputs of measured nests, and what the trainer's
// copy of the network (tools/costmodel/fit.py) makes of them with the weights that it wrote.
TEST(CostNetwork, ComputesWhatTheTrainerComputed) {
  std::ifstream file(ADJIT_TEST_SOURCE_DIR "/golden/corrections.json");
  const Json golden = Json::parse(file);
  for (const auto& [vector_bits, cases] : golden.items()) {
    const CostNetwork* network = CostNetwork::shipped_for({1, std::stoi(vector_bits)});
    ASSERT_TRUE(network) << vector_bits;
    ASSERT_GT(cases.size(), 20U);
    bool corrects = false;
    for (const Json& one : cases) {
      const Corrections found = (*network)(one.at("inputs").get<std::vector<double>>());
      const auto expected = one.at("corrections").get<std::vector<double>>();
      ASSERT_EQ(expected.size(), kCostTerms + 1);
      for (size_t t = 0; t < kCostTerms; ++t)
        EXPECT_NEAR(found.terms[t], expected[t], 1e-6 * expected[t]);
      EXPECT_NEAR(found.nest, expected[kCostTerms], 1e-6 * expected[kCostTerms]);
      corrects = corrects || std::abs(found.nest - 1) > 0.05;
    }
    EXPECT_TRUE(corrects);
  }
  EXPECT_TRUE(golden.contains("256") && golden.contains("512"));
}

// The learned model may be off, but not so far that it says nothing of size.
TEST(CostNetwork, CostStillGrowsWithWork) {
  for (int64_t n : {64, 128, 256}) {
    const auto cost = [](const Graph& g) {
      return predict(default_schedule(g, kOneCore), kOneCore).microseconds;
    };
    EXPECT_GT(cost(matmul_graph(2 * n, 256, 256)), 1.3 * cost(matmul_graph(n, 256, 256)));
    EXPECT_LT(cost(matmul_graph(2 * n, 256, 256)), 3 * cost(matmul_graph(n, 256, 256)));
    EXPECT_GT(cost(softmax_graph(64 * n, 256)), 1.3 * cost(softmax_graph(32 * n, 256)));
  }
}

}  // namespace
}  // namespace adjit::sched
