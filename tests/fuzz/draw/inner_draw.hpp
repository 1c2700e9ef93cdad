// tests/fuzz/draw/inner_draw.hpp -- programs inside programs: scans, calls, branches, batches,
// derivatives.
#pragma once

#include "tests/fuzz/draw/scope.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Adds a few operations to a scope (program_draw.cpp).
void draw_operations(Scope& scope, int count, int depth, bool while_loops);

class InnerDraw {
 public:
  InnerDraw(Scope& scope, int depth, bool while_loops)
      : scope_(scope), random_(scope.random()), depth_(depth), while_loops_(while_loops) {}

  /// One of them; false where it was refused.
  bool draw();

 private:
  struct Body {
    Graph graph;
    bool fine = false;
  };
  /// A program on these values, with as many results as asked for; where `like` names a shape, the
  /// k-th result is a float64 of that shape.
  Body body(const std::vector<WideArray>& inputs, const std::vector<std::vector<int64_t>>& like,
            size_t others);
  std::vector<TensorId> operands(size_t count);
  std::vector<WideArray> values_of(const std::vector<TensorId>& tensors) const;
  bool scan();
  bool while_loop();
  bool recomputed();
  bool custom();
  bool branches();
  bool batched();
  bool derived();
  bool through_text();

  Scope& scope_;
  Random& random_;
  int depth_;
  bool while_loops_;
};

}  // namespace adjit::testing
