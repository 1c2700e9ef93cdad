// bindings/c/interpreter.cpp -- signals of an interpreter that waits for a call.
#include <pthread.h>

#include "bindings/c/adjit.h"

extern "C" int adjit_interpreter_cancel(void* user) {
  auto& interpreter = *static_cast<adjit_interpreter*>(user);
  // Another thread would have nothing to run; and one that outlives its interpreter must not touch
  // its lock.
  if (interpreter.thread != static_cast<uint64_t>(pthread_self())) return 0;
  const int state = interpreter.acquire();
  const bool raised = interpreter.check_signals() != 0;
  if (raised) {
    interpreter.take(&interpreter.exception[0], &interpreter.exception[1],
                     &interpreter.exception[2]);
    interpreter.raised = 1;
  }
  interpreter.release(state);
  return raised;
}
