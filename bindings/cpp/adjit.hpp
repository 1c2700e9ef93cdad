// adjit/adjit.hpp -- the C++20 layer over adjit.h: header only, nothing to link but libadjit.
//
//   adjit::Trace t("loss");
//   const adjit::Tensor a = t.input("a", adjit::DType::Float32, {m, k});
//   const adjit::Tensor b = t.input("b", adjit::DType::Float32, {k, n});
//   const adjit::Axis r = t.axis(k);
//   const adjit::Tensor c = t.compute({m, n}, [&](adjit::Axis i, adjit::Axis j) {
//     return adjit::sum(a(i, r) * b(r, j), r);
//   });
//   const adjit::Computation loss = t.finish({adjit::sum(c * c)});
//
//   const adjit::Context context;
//   const adjit::Executable slope = loss.gradient({0, 1}).compile(context);
//   const std::vector<adjit::Array> d = slope(adjit::ConstView(a_data, {m, k}),
//                                             adjit::ConstView(b_data, {k, n}));
//
// Ownership: handles (Context, Trace, Computation, Lowered, Executable, TextModule) share; copies
// are the same object. Tensors, axes and expressions keep their trace alive. Views borrow memory,
// Arrays own it. Strings are copies.
// Threads: a trace and what hangs on it is used by one thread at a time; all else by any number.
// Errors: adjit::Error, by status (error.hpp). Failed calls change nothing.
#pragma once

#include "array.hpp"
#include "attributes.hpp"
#include "computation.hpp"
#include "control.hpp"
#include "error.hpp"
#include "index_notation.hpp"
#include "operators.hpp"
#include "tensor.hpp"
