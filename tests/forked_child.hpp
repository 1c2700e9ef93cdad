// tests/forked_child.hpp -- bodies run in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace adjit::test {

/// Starts `body` in a forked child, which SIGALRM ends after 20 s.
template <class Body>
pid_t start_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  return child;
}

/// The child's exit status; 128 + signal if one killed it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Body>
int in_child(Body&& body) {
  return wait_for(start_child(std::forward<Body>(body)));
}

}  // namespace adjit::test
