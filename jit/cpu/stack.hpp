// jit/cpu/stack.hpp -- room for the local buffers of kernels, which live on the stack.
#pragma once

#include <cstddef>

#include "runtime/process/rooms.hpp"

namespace adjit::cpu {

/// Bytes of the calling thread's stack that lie below the caller's frame; SIZE_MAX where that is
/// not known (a stack that the thread did not start with). The first call of a thread asks the
/// system.
size_t stack_left();

/// Calls run(context) where at least `bytes` of stack are left: here, or, if the caller's thread
/// was given a smaller stack (threads may be: 128 kB is musl's default), in a thread of its own,
/// for which it waits. Exceptions come back to the caller.
void with_stack(size_t bytes, void (*run)(void*), void* context);

}  // namespace adjit::cpu
