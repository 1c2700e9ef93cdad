// runtime/expr/polygamma.hpp -- the derivatives of log gamma.
#pragma once

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

/// psi^(order)(x), the derivative of digamma of that order (0: digamma itself), to about 1e-15
/// relative, but beside its zeros. At the poles 0, -1, -2, ...: +inf for odd orders; for even
/// ones NaN, but at 0 an infinity with the sign of its side. NaN where the order is no whole number
/// from 0 to 170.
double polygamma(double order, double x);

}  // namespace adjit::expr
