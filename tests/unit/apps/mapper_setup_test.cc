// SPDX-License-Identifier: Apache-2.0
// ondeloc-mapper gives up its rights, and the kernel ends it with slurmstepd.
#include "mapcore/apps/mapper_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "mapcore/base/unique_fd.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// The exit status of `work` in a child process; -1 if it did not exit by itself.
template <class Work>
int in_child(Work work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Switch {
  UniqueFd read, write;
  Switch() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
};

}  // namespace

TEST_CASE("the mapper can execute no program, open no socket and trace no process") {
  const auto refused = [](auto call) {
    return in_child([&] {
      if (!forbid_unneeded_calls()) return 2;
      errno = 0;
      return call() < 0 && errno == EPERM ? 0 : 1;
    });
  };
  char* const none[] = {nullptr};
  CHECK(refused([&] { return execve("/bin/true", none, none); }) == 0);
  CHECK(refused([&] { return fexecve(open("/bin/true", O_RDONLY), none, none); }) == 0);
  CHECK(refused([] { return socket(AF_INET, SOCK_STREAM, 0); }) == 0);
  CHECK(refused([] { return socket(AF_UNIX, SOCK_STREAM, 0); }) == 0);
  CHECK(refused([] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }) == 0);
  // The calls that the mapper needs stay allowed.
  CHECK(in_child([] {
          return forbid_unneeded_calls() && open("/proc/self/stat", O_RDONLY) >= 0 && fork() >= 0
                     ? 0
                     : 1;
        }) == 0);
}

TEST_CASE("the end of the step kills a mapper, even a stopped one") {
  for (const bool stopped : {false, true}) {
    Switch kill_switch, armed;
    const pid_t pid = fork();
    if (pid == 0) {
      kill_switch.write.reset();
      if (!end_with_step(kill_switch.read.get())) _exit(1);
      (void)!write(armed.write.get(), "a", 1);
      if (stopped) raise(SIGSTOP);
      for (;;) pause();
    }
    char byte;
    REQUIRE(read(armed.read.get(), &byte, 1) == 1);
    int status = 0;
    if (stopped) {
      REQUIRE(waitpid(pid, &status, WUNTRACED) == pid);
      REQUIRE(WIFSTOPPED(status));
    } else {
      REQUIRE(waitpid(pid, &status, WNOHANG) == 0);
    }
    kill_switch.write.reset();
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
  }
}

TEST_CASE("the end of the step kills each process that has the pipe") {
  Switch kill_switch, armed;
  pid_t pids[2];
  for (pid_t& pid : pids) {
    pid = fork();
    if (pid == 0) {
      kill_switch.write.reset();
      if (!end_with_step(kill_switch.read.get())) _exit(1);
      (void)!write(armed.write.get(), "a", 1);
      for (;;) pause();
    }
    char byte;
    REQUIRE(read(armed.read.get(), &byte, 1) == 1);
  }
  kill_switch.write.reset();
  for (const pid_t pid : pids) {
    // The kernel has sent SIGKILL by now: a process that ends by SIGTERM did not get it.
    kill(pid, SIGTERM);
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
  }
}

TEST_CASE("a mapper that starts after the end of the step ends at once") {
  Switch kill_switch;
  kill_switch.write.reset();
  CHECK(in_child([&] {
          end_with_step(kill_switch.read.get());
          return 1;
        }) == 0);
}
