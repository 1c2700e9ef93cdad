// tests/runtime/diff/table.cpp -- see table.hpp.
#include "tests/runtime/diff/table.hpp"
#include "tests/rooms.hpp"

#include <stdexcept>

namespace adjit::testing {
namespace {

Graph elementwise(Forward& f) {
  const TensorId x = f.input("x", {3, 4}), y = f.input("y", {3, 4});
  return f.returning({f.map("z", {3, 4}, [&](const Axes& i) {
    const Ex a = f.at(x, i), b = f.at(y, i);
    return call(Op::Tanh, a * b + call(Op::Exp, a)) / (b * b + a);
  })});
}

Graph broadcast(Forward& f) {
  const TensorId x = f.input("x", {3, 4}), b = f.input("b", {4}), s = f.input("s", {});
  return f.returning({f.map("z", {3, 4}, [&](const Axes& i) {
    return (f.at(x, i) + f.at(b, {i[1]})) * f.at(s, {}) * f.at(b, {i[1]});
  })});
}

Graph matmul(Forward& f) {
  const TensorId a = f.input("a", {3, 4}), b = f.input("b", {4, 5});
  return f.returning({f.sum("c", {3, 5}, {4}, [&](const Axes& i) {
    return f.at(a, {i[0], i[2]}) * f.at(b, {i[2], i[1]});
  })});
}

Graph gram(Forward& f) {
  const TensorId a = f.input("a", {3, 4});
  return f.returning({f.sum("g", {3, 3}, {4}, [&](const Axes& i) {
    return f.at(a, {i[0], i[2]}) * f.at(a, {i[1], i[2]});
  })});
}

Graph symmetrised(Forward& f) {
  const TensorId a = f.input("a", {4, 4});
  return f.returning({f.map("s", {4, 4}, [&](const Axes& i) {
    return f.at(a, {i[0], i[1]}) * f.at(a, {i[1], i[0]}) + f.at(a, {i[1], i[0]});
  })});
}

Graph conv1d(Forward& f, int64_t n, int64_t k, int64_t stride, int64_t dilation) {
  const int64_t out = (n - (k - 1) * dilation - 1) / stride + 1;
  const TensorId x = f.input("x", {n}), w = f.input("w", {k});
  return f.returning({f.sum("y", {out}, {k}, [&](const Axes& i) {
    return f.at(x, {i[0] * static_cast<double>(stride) + i[1] * static_cast<double>(dilation)}) *
           f.at(w, {i[1]});
  })});
}

Graph softmax(Forward& f) {
  const TensorId x = f.input("x", {3, 5});
  const TensorId m = f.reduce(CombinerKind::Max, "m", {3}, {5},
                              [&](const Axes& i) { return f.at(x, {i[0], i[1]}); });
  f.graph.stages.back().stop_gradient = true;  // any shift gives the same result
  const TensorId e = f.map(
      "e", {3, 5}, [&](const Axes& i) { return call(Op::Exp, f.at(x, i) - f.at(m, {i[0]})); });
  const TensorId s = f.sum("s", {3}, {5}, [&](const Axes& i) { return f.at(e, {i[0], i[1]}); });
  return f.returning(
      {f.map("y", {3, 5}, [&](const Axes& i) { return f.at(e, i) / f.at(s, {i[0]}); })});
}

Graph flatten(Forward& f) {
  const TensorId x = f.input("x", {2, 3, 4}), w = f.input("w", {24});
  return f.returning({f.map("y", {24}, [&](const Axes& i) {
    return f.at(x, {floor_div(i[0], 12), mod(floor_div(i[0], 4), 3), mod(i[0], 4)}) * f.at(w, i);
  })});
}

Graph reshape_incompatible(Forward& f) {
  const TensorId x = f.input("x", {4, 6});
  return f.returning({f.map("y", {8, 3}, [&](const Axes& i) {
    const Ex linear = i[0] * 3.0 + i[1];
    return call(Op::Sin, f.at(x, {floor_div(linear, 6), mod(linear, 6)}));
  })});
}

Graph strided_slice(Forward& f) {
  const TensorId x = f.input("x", {9});
  return f.returning({f.map("y", {3}, [&](const Axes& i) {
    const Ex v = f.at(x, {number(i[0], 7) - i[0] * 3.0});
    return v * v * v;
  })});
}

Graph diagonal(Forward& f) {
  const TensorId x = f.input("x", {4, 4});
  return f.returning({f.map("y", {4}, [&](const Axes& i) {
    return f.at(x, {i[0], i[0]}) * f.at(x, {i[0], number(i[0], 3) - i[0]});
  })});
}

Graph triangular(Forward& f) {
  const TensorId x = f.input("x", {4, 4}), v = f.input("v", {4});
  return f.returning(
      {f.reduce_where(CombinerKind::Sum, "y", {4}, {4},
                      [&](const Axes& i) { return f.at(x, {i[0], i[1]}) * f.at(v, {i[1]}); },
                      {[](const Axes& i) { return i[0] - i[1]; }})});
}

Graph masked(Forward& f) {
  const TensorId x = f.input("x", {4, 4});
  return f.returning({f.map("y", {4, 4}, [&](const Axes& i) {
    const Ex v = f.at(x, i);
    return select(less(i[1], i[0]), call(Op::Sqrt, v), v * v * 0.5) * v;
  })});
}

Graph product(Forward& f) {
  const TensorId x = f.input("x", {2, 4});
  return f.returning({f.reduce(CombinerKind::Product, "y", {2}, {4},
                               [&](const Axes& i) { return f.at(x, {i[0], i[1]}); })});
}

Graph gather_by_data(Forward& f) {
  const TensorId x = f.input("x", {2, 3}), index = f.input("index", {4}, DType::Int64);
  return f.returning({f.map("y", {4, 3}, [&](const Axes& i) {
    const Ex v = f.at(x, {f.at(index, {i[0]}), i[1]});
    return v * v * f.at(x, {number(i[0], 0), i[1]});
  })});
}

Graph stencil(Forward& f) {
  const TensorId x = f.input("x", {8, 8}), w = f.input("w", {9});
  return f.returning({f.map("y", {6, 6}, [&](const Axes& i) {
    Ex total = number(f.at(w, {number(i[0], 0)}), 0);
    for (int t = 0; t < 9; ++t)
      total =
          total + f.at(x, {i[0] + static_cast<double>(t / 3), i[1] + static_cast<double>(t % 3)}) *
                      f.at(w, {number(i[0], t)});
    return call(Op::Tanh, total * 0.2);
  })});
}

Graph circular(Forward& f) {
  const TensorId x = f.input("x", {6}), w = f.input("w", {4});
  return f.returning({f.sum("y", {6}, {4}, [&](const Axes& i) {
    return f.at(x, {mod(i[0] + i[1], 6)}) * f.at(w, {i[1]}) * f.at(x, {i[0]});
  })});
}

Graph two_outputs(Forward& f) {
  const TensorId x = f.input("x", {3});
  const TensorId y = f.map("y", {3}, [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); });
  const TensorId s =
      f.sum("s", {}, {3}, [&](const Axes& i) { return f.at(y, {i[0]}) * f.at(x, {i[0]}); });
  return f.returning({y, s, x});
}

Graph logsumexp(Forward& f) {
  const TensorId x = f.input("x", {2, 4});
  const TensorId m = f.reduce(CombinerKind::Max, "m", {2}, {4},
                              [&](const Axes& i) { return f.at(x, {i[0], i[1]}); });
  const TensorId s = f.sum("s", {2}, {4}, [&](const Axes& i) {
    return call(Op::Exp, f.at(x, {i[0], i[1]}) - f.at(m, {i[0]}));
  });
  return f.returning(
      {f.map("y", {2}, [&](const Axes& i) { return call(Op::Log, f.at(s, i)) + f.at(m, i); })});
}

Graph scattered(Forward& f, CombinerKind kind) {
  const TensorId x = f.input("x", {5}), start = f.input("start", {4});
  const TensorId index = f.input("index", {5}, DType::Int64);
  const TensorId begin = f.map("begin", {4}, [&](const Axes& i) { return f.at(start, i) * 2.0; });
  Stage stage;
  stage.kind = StageKind::Scatter;
  stage.domain.extents = {5};
  stage.combiner.kind = kind;
  const Ex r{&f.graph.pool, f.graph.pool.axis(0)};
  const Ex v = f.at(x, {r});
  stage.bodies = {(v * v * v).id};
  stage.target = {f.at(index, {r}).id};
  stage.initial = begin;
  stage.results = {add_tensor(f.graph, "y", DType::Float64, {4})};
  f.graph.stages.push_back(stage);
  return f.returning({f.graph.stages.back().results[0]});
}

// Padding by rows of the domain.
Graph conv1d_rows(Forward& f) {
  const TensorId x = f.input("x", {7}), w = f.input("w", {3});
  const Body at = [](const Axes& i) { return i[0] * 2.0 + i[1] - 1.0; };
  return f.returning(
      {f.reduce_where(CombinerKind::Sum, "y", {4}, {3},
                      [&](const Axes& i) { return f.at(x, {at(i)}) * f.at(w, {i[1]}); },
                      {at, [&](const Axes& i) { return number(i[0], 6) - at(i); }})});
}

// Convolution, bias, relu, max-pool, flatten, dense, log-softmax, negative log likelihood.
Graph network(Forward& f) {
  const TensorId x = f.input("x", {2, 1, 7, 7}), w = f.input("w", {2, 1, 3, 3});
  const TensorId bias = f.input("bias", {2}), dense = f.input("dense", {3, 8});
  const TensorId label = f.input("label", {2}, DType::Int64);
  const TensorId c = f.sum("c", {2, 2, 5, 5}, {1, 3, 3}, [&](const Axes& i) {
    return f.at(x, {i[0], i[4], i[2] + i[5], i[3] + i[6]}) * f.at(w, {i[1], i[4], i[5], i[6]});
  });
  const TensorId b = f.map("b", {2, 2, 5, 5},
                           [&](const Axes& i) { return f.at(c, i) + f.at(bias, {i[1]}) - 4.0; });
  const TensorId r = f.map("r", {2, 2, 5, 5}, [&](const Axes& i) {
    const Ex v = f.at(b, i);
    return select(call(Op::Le, v, number(v, 0)), number(v, 0), v);
  });
  const TensorId p = f.reduce(
      CombinerKind::Max, "p", {2, 2, 2, 2}, {2, 2},
      [&](const Axes& i) { return f.at(r, {i[0], i[1], i[2] * 2.0 + i[4], i[3] * 2.0 + i[5]}); },
      Ties::First);
  const TensorId flat = f.map("flat", {2, 8}, [&](const Axes& i) {
    return f.at(p, {i[0], floor_div(i[1], 4), mod(floor_div(i[1], 2), 2), mod(i[1], 2)});
  });
  const TensorId z = f.sum("z", {2, 3}, {8}, [&](const Axes& i) {
    return f.at(flat, {i[0], i[2]}) * f.at(dense, {i[1], i[2]});
  });
  const TensorId m = f.reduce(CombinerKind::Max, "m", {2}, {3},
                              [&](const Axes& i) { return f.at(z, {i[0], i[1]}); });
  f.graph.stages.back().stop_gradient = true;
  const TensorId e = f.sum("e", {2}, {3}, [&](const Axes& i) {
    return call(Op::Exp, f.at(z, {i[0], i[1]}) - f.at(m, {i[0]}));
  });
  const TensorId ls = f.map("ls", {2, 3}, [&](const Axes& i) {
    return f.at(z, i) - f.at(m, {i[0]}) - call(Op::Log, f.at(e, {i[0]}));
  });
  return f.returning({f.sum("loss", {}, {2}, [&](const Axes& i) {
    return -f.at(ls, {i[0], f.at(label, {i[0]})}) * 0.5;
  })});
}

}  // namespace

const std::vector<ForwardCase>& forward_table() {
  static const std::vector<ForwardCase> list{
      {"elementwise", elementwise},
      {"broadcast", broadcast},
      {"matmul", matmul},
      {"gram", gram},
      {"symmetrised", symmetrised},
      {"conv1d", [](Forward& f) { return conv1d(f, 8, 3, 1, 1); }},
      {"conv1d_stride2", [](Forward& f) { return conv1d(f, 9, 3, 2, 1); }},
      {"conv1d_stride3_dilation2", [](Forward& f) { return conv1d(f, 14, 3, 3, 2); }},
      {"conv2d", [](Forward& f) { return conv2d(f, {}); }},
      {"conv2d_stride2_padded", [](Forward& f) { return conv2d(f, {.stride = 2, .padding = 1}); }},
      {"conv2d_dilated", [](Forward& f) { return conv2d(f, {.size = 9, .dilation = 2}); }},
      {"conv2d_groups",
       [](Forward& f) {
         return conv2d(f, {.channels = 4, .filters = 4, .groups = 2, .padding = 1});
       }},
      {"max_pool_first",
       [](Forward& f) { return pool(f, CombinerKind::Max, Ties::First, 7, 2, 2); }},
      {"max_pool_overlap",
       [](Forward& f) { return pool(f, CombinerKind::Max, Ties::First, 7, 2, 3); }},
      {"max_pool_even", [](Forward& f) { return pool(f, CombinerKind::Max, Ties::Even, 7, 2, 3); }},
      {"min_pool_gap", [](Forward& f) { return pool(f, CombinerKind::Min, Ties::First, 7, 3, 2); }},
      {"sum_pool", [](Forward& f) { return pool(f, CombinerKind::Sum, Ties::First, 7, 2, 3); }},
      {"softmax", softmax},
      {"logsumexp", logsumexp},
      {"flatten", flatten},
      {"reshape_incompatible", reshape_incompatible},
      {"strided_slice", strided_slice},
      {"diagonal", diagonal},
      {"triangular", triangular},
      {"masked", masked},
      {"product", product},
      {"gather_by_data", gather_by_data},
      {"conv1d_rows", conv1d_rows},
      {"network", network},
      {"stencil", stencil},
      {"circular", circular},
      {"two_outputs", two_outputs},
      {"scatter_sum", [](Forward& f) { return scattered(f, CombinerKind::Sum); }},
      {"scatter_assign", [](Forward& f) { return scattered(f, CombinerKind::None); }},
  };
  return list;
}

Graph conv2d(Forward& f, const ConvSize& s, DType dtype) {
  const TensorId x = f.input("x", {s.n, s.channels, s.size, s.size}, dtype);
  const TensorId w = f.input("w", {s.filters, s.channels / s.groups, s.kernel, s.kernel}, dtype);
  const Shape shape{s.n, s.filters, s.out(), s.out()};
  return f.returning(
      {f.sum("y", shape, {s.channels / s.groups, s.kernel, s.kernel}, [&](const Axes& i) {
        const auto at = [&](Ex p, Ex r) {
          return p * static_cast<double>(s.stride) + r * static_cast<double>(s.dilation) -
                 static_cast<double>(s.padding);
        };
        const Ex row = at(i[2], i[5]), column = at(i[3], i[6]);
        const Ex group = floor_div(i[1], s.filters / s.groups);
        const Ex channel = group * static_cast<double>(s.channels / s.groups) + i[4];
        const Ex weight = f.at(w, {i[1], i[4], i[5], i[6]});
        if (s.padding == 0)
          return f.at(x, {i[0], s.groups == 1 ? i[4] : channel, row, column}) * weight;
        const auto inside = [&](Ex e) {
          return both(call(Op::Le, number(e, 0), e),
                      less(e, number(e, static_cast<double>(s.size))));
        };
        return f.at(x, {i[0], s.groups == 1 ? i[4] : channel, row, column},
                    both(inside(row), inside(column))) *
               weight;
      })});
}

Graph pool(Forward& f, CombinerKind kind, Ties ties, int64_t size, int64_t stride, int64_t kernel,
           DType dtype) {
  const int64_t out = (size - kernel) / stride + 1;
  const TensorId x = f.input("x", {2, size, size}, dtype);
  return f.returning({f.reduce(
      kind, "y", {2, out, out}, {kernel, kernel},
      [&](const Axes& i) {
        return f.at(x, {i[0], i[1] * static_cast<double>(stride) + i[3],
                        i[2] * static_cast<double>(stride) + i[4]});
      },
      ties)});
}

Graph forward_named(const std::string& name) {
  for (const ForwardCase& c : forward_table()) {
    Forward f;
    if (c.name == name) return c.build(f);
  }
  throw std::out_of_range(name);
}

}  // namespace adjit::testing
