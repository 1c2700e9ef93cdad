// tests/bindings/c/interpreter_test.cpp -- an interpreter's functions, as the hook calls them.
#include <pthread.h>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

// An interpreter's functions, in the order in which they must be called.
std::string called;
void* raised = &called;

TEST(Interpreter, IsAskedForItsSignalsUnderItsLockByItsOwnThread) {
  adjit_interpreter interpreter{};
  interpreter.struct_size = sizeof interpreter;
  interpreter.acquire = [] {
    called += "acquire ";
    return 5;
  };
  interpreter.release = [](int state) { called += "release " + std::to_string(state); };
  interpreter.check_signals = [] {
    called += "check ";
    return raised ? -1 : 0;
  };
  interpreter.take = [](void** type, void** value, void** traceback) {
    called += "take ";
    *type = *value = *traceback = raised;
  };
  EXPECT_EQ(adjit_interpreter_cancel(&interpreter), 0);
  EXPECT_EQ(called, "");  // another thread's
  interpreter.thread = static_cast<uint64_t>(pthread_self());
  EXPECT_NE(adjit_interpreter_cancel(&interpreter), 0);
  EXPECT_EQ(called, "acquire check take release 5");
  EXPECT_EQ(interpreter.raised, 1);
  EXPECT_EQ(interpreter.exception[1], raised);
  called.clear();
  raised = nullptr;
  EXPECT_EQ(adjit_interpreter_cancel(&interpreter), 0);
  EXPECT_EQ(called, "acquire check release 5");
}

}  // namespace
}  // namespace adjit_test
