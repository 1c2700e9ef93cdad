// tests/gpu_emulator/fibre.cpp -- threads of execution that one thread of the process runs in turn.
#include "tests/gpu_emulator/fibre.hpp"

#include <cstdint>

// Saves the registers that a call keeps, and the stack pointer in *from; then those of `to`.
extern "C" void adjit_switch_stack(void** from, void* to);
__asm__(R"(
.text
.type adjit_switch_stack, @function
adjit_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size adjit_switch_stack, . - adjit_switch_stack
.section .note.GNU-stack,"",@progbits
.text
)");

namespace adjit::tests {
namespace {

// The first thing that runs on a new stack: what the switch "returns" to. r12 holds the fibre,
// r13 the function.
extern "C" void adjit_begin_stack();
__asm__(R"(
.text
.type adjit_begin_stack, @function
adjit_begin_stack:
  subq $8, %rsp
  movq %r12, %rdi
  callq *%r13
  ud2
.size adjit_begin_stack, . - adjit_begin_stack
)");

}  // namespace

Fibre::Fibre(void (*work)(void*), void* argument)
    : work_(work), argument_(argument), stack_(new std::byte[kStackBytes]) {
  std::byte* top = stack_.get() + kStackBytes;
  top -= reinterpret_cast<uintptr_t>(top) % 16;
  auto* at = reinterpret_cast<uintptr_t*>(top);
  *--at = 0;  // where begin_stack would return to
  *--at = reinterpret_cast<uintptr_t>(&adjit_begin_stack);
  *--at = 0;                                    // rbp
  *--at = 0;                                    // rbx
  *--at = reinterpret_cast<uintptr_t>(this);    // r12
  *--at = reinterpret_cast<uintptr_t>(&begin);  // r13
  *--at = 0;                                    // r14
  *--at = 0;                                    // r15
  inside_ = at;
}

void Fibre::begin(Fibre* self) {
  self->work_(self->argument_);
  self->leave();
}

void Fibre::enter() { adjit_switch_stack(&outside_, inside_); }
void Fibre::leave() { adjit_switch_stack(&inside_, outside_); }

}  // namespace adjit::tests
