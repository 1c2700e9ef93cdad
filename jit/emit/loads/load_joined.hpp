// jit/emit/loads/load_joined.hpp -- a point of a join as one load, from the tensor that its
// position names.
//
// Part k's element lies at pointer[k] + sum over variables of coefficient[k][variable] * variable
// + constant[k]. What differs between parts is looked up by the part's number, which is computed
// where the position is known: outside of inner loops over other axes.
#pragma once

#include <map>
#include <vector>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/shape/join.hpp"

namespace adjit::emit {

class JoinedLoads {
 public:
  explicit JoinedLoads(const BodyContext& context) : context_(context) {}

  Emitted operator()(const Join& join, const Point& point);

 private:
  struct Parts {
    std::vector<int64_t> slots, constants;           // per part
    std::vector<std::vector<int64_t>> coefficients;  // per variable: of each part's address
    size_t written = 0;                              // scope from which on all may be read
  };
  Parts parts_of(const Join& join) const;
  Emitted part_number(const Join& join);
  Emitted quotient(const Join& join, const Affine& position, int64_t width);
  Emitted last_begun(const Join& join, const Affine& position);
  Emitted moved_along(size_t variable, const std::vector<int64_t>& coefficients,
                      llvm::Type* element, const Emitted& pointer, const Emitted& part);
  Emitted load_at(const Emitted& pointer, const Affine& form, DType dtype, size_t written,
                  const Point& point);
  llvm::Value* of_part(const std::vector<int64_t>& numbers, llvm::Value* part);
  llvm::Value* looked_up(llvm::Type* element, llvm::Value* array, llvm::Value* part);
  llvm::Value* constant_table(const std::vector<int64_t>& numbers);

  const BodyContext context_;
  std::map<std::vector<int64_t>, llvm::Value*> tables_;  // in the module
};

}  // namespace adjit::emit
