// runtime/diff/reverse/calls.hpp -- calls of sub-graphs: their derivatives, and their end.
//
// A call with a body (struct Call) stays one stage through every derivative, so that a gradient by
// hand is found where it was put, and what is to be recomputed is. expand_calls puts the stages in
// its place when nothing more is to be derived.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/diff/rules/accumulate.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Appends the derivative of graph.stages[stage], a Call, given one cotangent per result, and
/// reports the gradient of every operand for which `active` answers true.
///  - custom: the stage runs the call's forward from here on (residuals become results), and the
///    stages of its backward are appended;
///  - recompute: one more call, of the body's derivative; its residuals are the operands;
///  - neither: the stages of the body's derivative are appended.
/// ErrorCode::NotDifferentiable for an opaque call, and where a gradient would have to reach what a
/// custom call closes over.
void derive_call(Graph& graph, size_t stage, std::span<const Cotangent> cotangents,
                 const std::function<bool(TensorId)>& active,
                 const std::function<void(TensorId operand, TensorId gradient)>& report);

/// What is left of graph.stages[stage] for later derivatives where reverse mode leaves it as it is,
/// as it does where no cotangent arrives: a call with a gradient by hand that depends on marked
/// tensors becomes a call of its forward, also inside scans and calls to recompute. The derivative
/// is a function of these forwards, so that forward mode applies to it (as in JAX). `marked` has
/// one flag per tensor and is closed under dependence (dependence.hpp).
void run_forwards(Graph& graph, size_t stage, const std::vector<char>& marked);

/// The graph with every call that has a body replaced by the body's stages, inside scans too. The
/// stages of a call to recompute get a region of their own, so that merging equal stages does not
/// undo it.
Graph expand_calls(const Graph& graph);

/// The same for calls that are neither custom nor to recompute.
Graph expand_plain_calls(const Graph& graph);

}  // namespace adjit::diff
