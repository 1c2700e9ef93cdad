// jit/emit/addresses/conditions.hpp -- the conditions of a load as one.
#pragma once

#include <vector>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/scopes/emitted.hpp"

namespace adjit::emit {

/// All conditions as one value: <lanes x i1> or, when not in lanes, i1 (true when any lane is). No
/// value where they hold everywhere.
Emitted conjunction(const BodyContext& context, const std::vector<Emitted>& conditions,
                    bool in_lanes);

}  // namespace adjit::emit
