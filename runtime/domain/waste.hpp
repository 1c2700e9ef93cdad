// runtime/domain/waste.hpp -- how many iterations of a fibre's loops reach no point.
#pragma once

#include "runtime/domain/fibre.hpp"

namespace adjit::domain {

/// Idle iterations per point of the loops over the free axes, measured on a fixed sample of j; 0
/// without walking where the loops are exact and unguarded. Other orders of the loops are tried
/// only where the natural one idles more than `allowed`. Sets piece.inexact. Deterministic and
/// bounded.
double measure_waste(FibrePiece& piece, double allowed);

}  // namespace adjit::domain
