// tests/bindings/c/control_test.cpp -- scans, loops, checkpoints, gradients of one's own, forward
// mode and batching.
#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

void run_once(const Computation& f, std::vector<const void*> inputs, std::vector<void*> outputs) {
  const Context c = context();
  const Executable e = compiled(lowered(c, f));
  ASSERT_TRUE(e);
  ASSERT_EQ(adjit_executable_run_raw(e.get(), inputs.data(), outputs.data()), ADJIT_OK)
      << adjit_last_error_message();
}

// (c, x) -> (c + x, c * x) over 2 elements.
Computation step() {
  const Trace t = trace("step");
  const adjit_tensor c = input(t, {2}), x = input(t, {2});
  return finish(t, {apply(t, "add", {c, x}), apply(t, "multiply", {c, x})});
}

adjit_scan_options scan_options() {
  adjit_scan_options o{};
  o.struct_size = sizeof o;
  o.carries = 1;
  o.scanned = 1;
  o.steps = 3;
  return o;
}

TEST(ScanApi, RunsForwardsAndBackwards) {
  const Computation body = step();
  for (const bool reverse : {false, true}) {
    const Trace t = trace();
    const adjit_tensor operands[] = {input(t, {2}), input(t, {3, 2})};
    adjit_tensor results[2] = {kUntouched, kUntouched};
    adjit_scan_options options = scan_options();
    options.reverse = reverse;
    ADJIT_OK_OR_FAIL(adjit_trace_scan(t.get(), body.get(), &options, 2, operands, 2, results));
    const float c[] = {1, 2}, x[] = {0, 1, 2, 3, 4, 5};
    float last[2] = {}, stacked[6] = {};
    run_once(finish(t, {results[0], results[1]}), {c, x}, {last, stacked});
    EXPECT_EQ(last[0], 7);
    EXPECT_EQ(last[1], 11);
    EXPECT_EQ(stacked[5], reverse ? 10 : 30);
    EXPECT_EQ(stacked[0], reverse ? 0 : 0);
    EXPECT_EQ(stacked[3], reverse ? 21 : 9);
  }
}

TEST(ScanApi, RefusesWhatDoesNotFit) {
  const Computation body = step();
  const Trace t = trace();
  const adjit_tensor operands[] = {input(t, {2}), input(t, {3, 2})};
  const adjit_tensor narrow[] = {input(t, {3}), operands[1]},
                     shorter[] = {operands[0], input(t, {2, 2})};
  adjit_tensor results[2] = {kUntouched, kUntouched};
  const auto scan = [&](const adjit_scan_options& options, int32_t count,
                        const adjit_tensor* from) {
    return adjit_trace_scan(t.get(), body.get(), &options, count, from, 2, results);
  };
  adjit_scan_options options = scan_options();
  EXPECT_FAILURE(scan(options, 2, narrow), ADJIT_SHAPE, "");
  EXPECT_FAILURE(scan(options, 2, shorter), ADJIT_SHAPE, "");
  EXPECT_NE(scan(options, 1, operands), ADJIT_OK);
  EXPECT_FAILURE(scan(options, 2, nullptr), ADJIT_INVALID, "");
  EXPECT_FAILURE(scan(options, -1, operands), ADJIT_INVALID, "-1");
  for (const auto change :
       {+[](adjit_scan_options& o) { o.struct_size = 0; },
        +[](adjit_scan_options& o) { o.carries = -1; },
        +[](adjit_scan_options& o) { o.carries = 5; },
        +[](adjit_scan_options& o) { o.scanned = -1; },
        +[](adjit_scan_options& o) { o.scanned = 7; }, +[](adjit_scan_options& o) { o.steps = -3; },
        +[](adjit_scan_options& o) { o.segment = -1; }}) {
    options = scan_options();
    change(options);
    EXPECT_NE(scan(options, 2, operands), ADJIT_OK);
  }
  options = scan_options();
  EXPECT_FAILURE(adjit_trace_scan(nullptr, body.get(), &options, 2, operands, 2, results),
                 ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_scan(t.get(), nullptr, &options, 2, operands, 2, results),
                 ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_trace_scan(t.get(), body.get(), nullptr, 2, operands, 2, results),
                 ADJIT_INVALID, "options");
  EXPECT_FAILURE(adjit_trace_scan(t.get(), body.get(), &options, 2, operands, 2, nullptr),
                 ADJIT_INVALID, "results");
  EXPECT_FAILURE(adjit_trace_scan(t.get(), body.get(), &options, 2, operands, 1, results),
                 ADJIT_INVALID, "");
  EXPECT_EQ(results[0], kUntouched);
  EXPECT_EQ(results[1], kUntouched);
}

// s doubles while it is below 100.
Computation doubling() {
  const Trace t = trace("doubling");
  const adjit_tensor s = input(t, {}), go = input(t, {}, ADJIT_BOOL);
  static_cast<void>(go);
  const adjit_tensor twice = apply(t, "multiply", {s}, R"({"scalars": [null, 2]})");
  return finish(t, {twice, apply(t, "less", {twice}, R"({"scalars": [null, 100]})")});
}

TEST(WhileApi, RunsUntilItsBoolIsFalse) {
  const Computation body = doubling();
  const Trace t = trace();
  const adjit_tensor operands[] = {input(t, {}), input(t, {}, ADJIT_BOOL)};
  adjit_tensor results[2] = {kUntouched, kUntouched};
  ADJIT_OK_OR_FAIL(adjit_trace_while(t.get(), body.get(), 2, 2, operands, 2, results));
  const Computation f = finish(t, {results[0], results[1]});
  for (const auto& [start, expected] : {std::pair{3.0f, 192.0f}, {60.0f, 120.0f}}) {
    const float s = start;
    const bool go = true, stop = false;
    float last = 0;
    bool flag = true;
    run_once(f, {&s, &go}, {&last, &flag});
    EXPECT_EQ(last, expected);
    EXPECT_FALSE(flag);
    run_once(f, {&s, &stop}, {&last, &flag});
    EXPECT_EQ(last, start) << "no step at all";
  }
}

TEST(WhileApi, RefusesWhatDoesNotFit) {
  const Computation body = doubling(), other = step();
  const Trace t = trace();
  const adjit_tensor operands[] = {input(t, {}), input(t, {}, ADJIT_BOOL)};
  adjit_tensor results[2] = {kUntouched, kUntouched};
  EXPECT_NE(adjit_trace_while(t.get(), other.get(), 2, 2, operands, 2, results), ADJIT_OK);
  EXPECT_NE(adjit_trace_while(t.get(), body.get(), 1, 2, operands, 2, results), ADJIT_OK);
  EXPECT_NE(adjit_trace_while(t.get(), body.get(), -2, 2, operands, 2, results), ADJIT_OK);
  EXPECT_NE(adjit_trace_while(t.get(), body.get(), 2, 1, operands, 2, results), ADJIT_OK);
  EXPECT_FAILURE(adjit_trace_while(t.get(), body.get(), 2, 2, nullptr, 2, results), ADJIT_INVALID,
                 "");
  EXPECT_FAILURE(adjit_trace_while(t.get(), body.get(), 2, 2, operands, 2, nullptr), ADJIT_INVALID,
                 "results");
  EXPECT_FAILURE(adjit_trace_while(t.get(), nullptr, 2, 2, operands, 2, results), ADJIT_INVALID,
                 "");
  EXPECT_FAILURE(adjit_trace_while(nullptr, body.get(), 2, 2, operands, 2, results), ADJIT_INVALID,
                 "trace");
  EXPECT_EQ(results[0], kUntouched);
}

TEST(CheckpointApi, ChangesNoDerivative) {
  const Computation inner = square();
  const Trace t = trace();
  const adjit_tensor x = input(t, {3, 4});
  adjit_tensor y = kUntouched;
  EXPECT_FAILURE(adjit_trace_checkpoint(nullptr, inner.get(), 1, &x, 1, &y), ADJIT_INVALID,
                 "trace");
  EXPECT_FAILURE(adjit_trace_checkpoint(t.get(), nullptr, 1, &x, 1, &y), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_trace_checkpoint(t.get(), inner.get(), 1, nullptr, 1, &y), ADJIT_INVALID,
                 "");
  EXPECT_FAILURE(adjit_trace_checkpoint(t.get(), inner.get(), 1, &x, 3, &y), ADJIT_INVALID, "");
  EXPECT_EQ(y, kUntouched);
  ADJIT_OK_OR_FAIL(adjit_trace_checkpoint(t.get(), inner.get(), 1, &x, 1, &y));
  const Computation f = finish(t, {y});
  const int32_t zero = 0;
  adjit_computation* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_vjp(f.get(), 1, &zero, 1, &zero, 0, &made));
  Floats in({3, 4}), dy({3, 4}, 1), dx({3, 4});
  run_once(Computation(made), {in.data.data(), dy.data.data()}, {dx.data.data()});
  EXPECT_EQ(dx.data[5], 6 * 11);
}

TEST(CustomVjpApi, RunsTheGradientItWasGiven) {
  const Computation primal = square();
  const Trace forward = trace("forward");
  const adjit_tensor x = input(forward, {3, 4});
  const Computation first =
      finish(forward, {apply(forward, "add", {apply(forward, "multiply", {x, x}), x}), x});
  const Trace backward = trace("backward");
  const adjit_tensor residual = input(backward, {3, 4}), dy = input(backward, {3, 4});
  const Computation second = finish(backward, {apply(backward, "subtract", {dy, residual})});
  const Trace t = trace();
  const adjit_tensor z = input(t, {3, 4});
  adjit_tensor y = kUntouched;
  const auto call = [&](const Computation& a, const Computation& b, const Computation& c,
                        int32_t closed) {
    return adjit_trace_custom_vjp(t.get(), a.get(), b.get(), c.get(), closed, 1, &z, 1, &y);
  };
  const Computation none;
  EXPECT_FAILURE(call(none, first, second, 0), ADJIT_INVALID, "");
  EXPECT_FAILURE(call(primal, none, second, 0), ADJIT_INVALID, "");
  EXPECT_FAILURE(call(primal, first, none, 0), ADJIT_INVALID, "");
  EXPECT_NE(call(primal, primal, first, 0), ADJIT_OK) << "three that do not fit together";
  EXPECT_NE(call(primal, first, second, -1), ADJIT_OK);
  EXPECT_NE(call(primal, first, second, 2), ADJIT_OK);
  EXPECT_EQ(y, kUntouched);
  ADJIT_OK_OR_FAIL(call(primal, first, second, 0));
  const Computation f = finish(t, {y});
  const int32_t zero = 0;
  adjit_computation* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_vjp(f.get(), 1, &zero, 1, &zero, 0, &made));
  Floats in({3, 4}), cotangent({3, 4}, 100), dx({3, 4});
  run_once(Computation(made), {in.data.data(), cotangent.data.data()}, {dx.data.data()});
  EXPECT_EQ(dx.data[7], 107 - 7);
}

TEST(JvpApi, TangentsAlongsideTheResult) {
  const Computation f = square();
  const int32_t wrt[] = {0, 0}, beyond[] = {1}, negative[] = {-1};
  adjit_computation* made = untouched<adjit_computation>();
  EXPECT_FAILURE(adjit_computation_jvp(nullptr, 1, wrt, 1, &made), ADJIT_INVALID, "computation");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), 1, nullptr, 1, &made), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), 1, beyond, 1, &made), ADJIT_INVALID, "1");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), 1, negative, 1, &made), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), -1, wrt, 1, &made), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), 2, wrt, 1, &made), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_computation_jvp(f.get(), 1, wrt, 1, nullptr), ADJIT_INVALID, "result");
  EXPECT_EQ(made, untouched<adjit_computation>());
  ADJIT_OK_OR_FAIL(adjit_computation_jvp(f.get(), 1, wrt, 1, &made));
  Floats x({3, 4}), dx({3, 4}, 1), y({3, 4}), dy({3, 4});
  run_once(Computation(made), {x.data.data(), dx.data.data()}, {y.data.data(), dy.data.data()});
  EXPECT_EQ(y.data[5], 30);
  EXPECT_EQ(dy.data[5], 11 * 6);
}

TEST(VmapApi, OneMoreAxis) {
  const Computation f = square();
  const int32_t first = 0, last = 2, far = 9, two[] = {0, 0};
  adjit_computation* made = untouched<adjit_computation>();
  const auto batched = [&](const int32_t* in, int64_t size, const int32_t* out) {
    return adjit_computation_vmap(f.get(), 1, in, size, 1, out, &made);
  };
  EXPECT_FAILURE(adjit_computation_vmap(nullptr, 1, &first, 5, 1, &first, &made), ADJIT_INVALID,
                 "computation");
  EXPECT_FAILURE(adjit_computation_vmap(f.get(), 1, &first, 5, 1, &first, nullptr), ADJIT_INVALID,
                 "result");
  EXPECT_FAILURE(adjit_computation_vmap(f.get(), 2, two, 5, 1, &first, &made), ADJIT_INVALID, "");
  EXPECT_FAILURE(batched(nullptr, 5, &first), ADJIT_INVALID, "");
  EXPECT_FAILURE(batched(&first, 5, nullptr), ADJIT_INVALID, "");
  EXPECT_NE(batched(&far, 5, &first), ADJIT_OK);
  EXPECT_NE(batched(&first, 5, &far), ADJIT_OK);
  EXPECT_NE(batched(&first, -5, &first), ADJIT_OK);
  EXPECT_EQ(made, untouched<adjit_computation>());
  ADJIT_OK_OR_FAIL(batched(&first, 5, &last));
  Floats x({5, 3, 4}), y({3, 4, 5});
  run_once(Computation(made), {x.data.data()}, {y.data.data()});
  const float at = 2 * 12 + 1 * 4 + 3;  // x[2, 1, 3]
  EXPECT_EQ(y.data[(1 * 4 + 3) * 5 + 2], at * at + at);
}

}  // namespace
}  // namespace adjit_test
