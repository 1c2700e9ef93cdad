// runtime/expr/op.cpp -- the table of operations.
#include "runtime/expr/op.hpp"

#include <array>

namespace adjit::expr {
namespace {

constexpr std::array kOps{
#define ADJIT_OP_ROW(id, name, arity, rule) OpInfo{#id, name, arity, TypeRule::rule},
    ADJIT_OPS(ADJIT_OP_ROW)
#undef ADJIT_OP_ROW
};

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
int op_count() { return static_cast<int>(kOps.size()); }

}  // namespace adjit::expr
