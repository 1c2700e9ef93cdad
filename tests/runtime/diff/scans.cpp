// tests/runtime/diff/scans.cpp -- see scans.hpp.
#include "tests/runtime/diff/scans.hpp"

#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"

namespace adjit::testing {
namespace {

// h' = tanh(w h + u x_t), y_t = h' * h; a step counter (int64) beside it scales y.
std::shared_ptr<const Graph> cell() {
  Forward f;
  const TensorId h = f.input("h", {3}), n = f.input("n", {}, DType::Int64);
  const TensorId x = f.input("x", {2}), w = f.input("w", {3, 3}), u = f.input("u", {3, 2});
  const TensorId a =
      f.sum("a", {3}, {3}, [&](const Axes& i) { return f.at(w, {i[0], i[1]}) * f.at(h, {i[1]}); });
  const TensorId b =
      f.sum("b", {3}, {2}, [&](const Axes& i) { return f.at(u, {i[0], i[1]}) * f.at(x, {i[1]}); });
  const TensorId next =
      f.map("next", {3}, [&](const Axes& i) { return call(Op::Tanh, f.at(a, i) + f.at(b, i)); });
  const TensorId count = f.map("count", {}, [&](const Axes&) { return f.at(n, {}) + 1.0; });
  const TensorId y = f.map("y", {3}, [&](const Axes& i) {
    const Ex scale{&f.graph.pool, f.graph.pool.cast(f.at(n, {}).id, DType::Float64)};
    return f.at(next, i) * f.at(h, i) * (scale + 0.5);
  });
  return std::make_shared<const Graph>(f.returning({next, count, y}));
}

}  // namespace

Graph recurrent(bool reverse) {
  Forward f;
  const TensorId h = f.input("h0", {3}), xs = f.input("xs", {4, 2}), w = f.input("w", {3, 3}),
                 u = f.input("u", {3, 2});
  const TensorId n =
      f.map("n0", {}, [&](const Axes&) { return Ex{&f.graph.pool, f.graph.pool.constant_int(1)}; });
  const TensorId start = f.map("start", {3}, [&](const Axes& i) { return f.at(h, i) * 2.0; });
  Scan scan;
  scan.body = cell();
  scan.trips = 4;
  scan.carries = 2;
  scan.scanned = 1;
  scan.fixed = 2;
  scan.stacked = 1;
  scan.reverse = reverse;
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.scan = std::make_shared<const Scan>(scan);
  stage.operands = {start, n, xs, w, u};
  stage.results = {add_tensor(f.graph, "last", DType::Float64, {3}),
                   add_tensor(f.graph, "steps", DType::Int64, {}),
                   add_tensor(f.graph, "ys", DType::Float64, {4, 3})};
  stage.lines = {{"model.py", 3, "scan"}};
  f.graph.stages.push_back(stage);
  const TensorId z = f.map("z", {4, 3}, [&](const Axes& i) {
    return f.at(stage.results[2], i) * f.at(w, {i[1], i[1]});
  });
  return f.returning({stage.results[0], z});
}

Graph newton() {
  Forward step, f;
  const TensorId x0 = step.input("x", {3}), n0 = step.input("n", {}, DType::Int64);
  step.input("on", {}, DType::Bool);
  const TensorId a0 = step.input("a", {3}), m0 = step.input("m", {}, DType::Int64);
  const TensorId next = step.map("next", {3}, [&](const Axes& i) {
    return (step.at(x0, i) + step.at(a0, i) / step.at(x0, i)) * 0.5;
  });
  const TensorId count = step.map("count", {}, [&](const Axes&) { return step.at(n0, {}) + 1.0; });
  const TensorId going =
      step.map("going", {}, [&](const Axes&) { return less(step.at(count, {}), step.at(m0, {})); });
  const TensorId x = f.input("x", {3}), a = f.input("a", {3}), m = f.input("m", {}, DType::Int64);
  const auto zero_value = [&] { return Ex{&f.graph.pool, f.graph.pool.constant_int(0)}; };
  const TensorId zero = f.map("zero", {}, [&](const Axes&) { return zero_value(); });
  const TensorId first =
      f.map("first", {}, [&](const Axes&) { return less(zero_value(), f.at(m, {})); });
  Scan scan;
  scan.body = std::make_shared<const Graph>(step.returning({next, count, going}));
  scan.carries = 3;
  scan.fixed = 2;
  scan.conditional = true;
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  stage.operands = {x, zero, first, a, m};
  stage.results = {add_tensor(f.graph, "root", DType::Float64, {3}),
                   add_tensor(f.graph, "steps", DType::Int64, {}),
                   add_tensor(f.graph, "on", DType::Bool, {})};
  f.graph.stages.push_back(stage);
  return f.returning({stage.results[0], stage.results[1]});
}

Graph called(bool by_hand) {
  const auto body = [](bool residuals) {
    Forward f;
    const TensorId x = f.input("x", {3}), w = f.input("w", {3});
    const TensorId y =
        f.map("y", {3}, [&](const Axes& i) { return call(Op::Sin, f.at(x, i)) * f.at(w, i); });
    return std::make_shared<const Graph>(
        f.returning(residuals ? std::vector{y, x, w} : std::vector{y}));
  };
  Call call_stage;
  call_stage.body = body(false);
  call_stage.recompute = !by_hand;
  if (by_hand) {
    Forward f;
    const TensorId x = f.input("x", {3}), w = f.input("w", {3}), d = f.input("d", {3});
    const TensorId dx = f.map("dx", {3}, [&](const Axes& i) {
      return call(Op::Cos, f.at(x, i)) * f.at(w, i) * f.at(d, i) * 3.0;
    });
    const TensorId dw = f.map(
        "dw", {3}, [&](const Axes& i) { return call(Op::Sin, f.at(x, i)) * f.at(d, i) * 3.0; });
    call_stage.forward = body(true);
    call_stage.backward = std::make_shared<const Graph>(f.returning({dx, dw}));
  }
  Forward f;
  const TensorId x = f.input("x", {3}), w = f.input("w", {3});
  Stage stage;
  stage.kind = StageKind::Call;
  stage.callee = "f";
  stage.call = std::make_shared<const Call>(std::move(call_stage));
  stage.operands = {x, w};
  stage.results = {add_tensor(f.graph, "y", DType::Float64, {3})};
  stage.lines = {{"model.py", 11, "f"}};
  f.graph.stages.push_back(stage);
  const TensorId y = stage.results[0];
  return f.returning({f.map("z", {3}, [&](const Axes& i) { return f.at(y, i) * f.at(y, i); })});
}

}  // namespace adjit::testing
