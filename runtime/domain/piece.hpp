// runtime/domain/piece.hpp -- a solved fibre system as a domain: tight, without redundant rows.
#pragma once

#include <optional>

#include "runtime/domain/fibre.hpp"
#include "runtime/domain/fibre_system.hpp"

namespace adjit::domain {

/// The domain of a system whose basis is chosen. Free columns become reduction axes in the order of
/// their home axes, shifted to start at 0, with tight extents; those of one value vanish. Rows that
/// are implied and divisions that nothing uses are dropped. std::nullopt when the piece is provably
/// empty.
std::optional<FibrePiece> make_piece(const FibreSystem& system);

}  // namespace adjit::domain
