// SPDX-License-Identifier: Apache-2.0
#include "spank/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <span>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {
namespace {

// The data that a child needs between fork and exec, made before the fork.
struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<int> kept;  // ascending
  std::span<const std::uint64_t> cpus;
  UniqueFd null;
  int errors = -1;  // becomes descriptor 2; -1: /dev/null
  bool ignore_job_signals = false;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// The result points into `program`.
Result<Prepared> prepare(const Program& program) {
  Prepared p;
  p.argv = pointers(program.arguments);
  p.argv.insert(p.argv.begin(), const_cast<char*>(program.path.c_str()));
  p.envp = pointers(program.environment);
  p.kept = program.kept;
  std::sort(p.kept.begin(), p.kept.end());
  p.cpus = program.cpus.words();
  p.errors = program.errors;
  p.null.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!p.null.valid()) return Error::from_errno("/dev/null");
  return p;
}

// The functions from here to exec_program run in the forked child: async-signal-safe calls only.

// The value of a decimal file name, or UINT_MAX for "." and "..".
unsigned number_of(const char* name) {
  unsigned number = 0;
  for (; *name >= '0' && *name <= '9'; ++name)
    number = 10 * number + static_cast<unsigned>(*name - '0');
  return *name == '\0' ? number : UINT_MAX;
}

// False if /proc does not tell. A daemon without a limit may have a billion possible descriptors,
// of which ten are open. readdir(3) allocates, so this reads the directory itself.
bool close_listed(unsigned first, unsigned last) {
  const int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list < 0) return false;
  alignas(dirent64) char buffer[4096];
  long got = 0;
  while ((got = syscall(SYS_getdents64, list, buffer, sizeof(buffer))) > 0) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      const unsigned fd = number_of(entry->d_name);
      if (fd >= first && fd <= last && fd != static_cast<unsigned>(list))
        close(static_cast<int>(fd));
      at += entry->d_reclen;
    }
  }
  close(list);
  return got == 0;
}

void close_between(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0U) == 0) return;
  if (close_listed(first, last)) return;  // kernels before 5.9
  const long most = sysconf(_SC_OPEN_MAX);
  for (unsigned fd = first; fd <= last && static_cast<long>(fd) < most; ++fd)
    close(static_cast<int>(fd));
}

void arrange_descriptors(const Prepared& p) {
  dup2(p.null.get(), 0);
  dup2(p.null.get(), 1);
  dup2(p.errors >= 0 ? p.errors : p.null.get(), 2);
  unsigned next = 3;
  for (const int fd : p.kept) {
    fcntl(fd, F_SETFD, 0);
    if (static_cast<unsigned>(fd) > next) close_between(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_between(next, UINT_MAX);
}

void reset_signals(bool ignore_job_signals) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE})
    if (ignore_job_signals) sigaction(signal, &ignore, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void exec_program(const Prepared& p) {
  reset_signals(p.ignore_job_signals);
  arrange_descriptors(p);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!p.cpus.empty()) syscall(SYS_sched_setaffinity, 0, p.cpus.size_bytes(), p.cpus.data());
  execve(p.argv[0], p.argv.data(), p.envp.data());
  // The reader of standard error takes this for the program's sentence.
  constexpr char kFault[] = ": this file cannot be executed (is it damaged?)\n";
  (void)!write(2, p.argv[0], std::strlen(p.argv[0]));
  (void)!write(2, kFault, sizeof(kFault) - 1);
  _exit(127);
}

pid_t wait_for_child(pid_t pid, int* status) {
  pid_t got = 0;
  do {
    got = waitpid(pid, status, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Reads what the child writes until it closes its end. False if the child takes too long.
bool read_all(int fd, std::string& text) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(30);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left > 0 ? poll(&wanted, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char piece[512];
    const ssize_t got = read(fd, piece, sizeof(piece));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0 && text.size() < 4096) text.append(piece, static_cast<std::size_t>(got));
  }
}

}  // namespace

Status start_detached(const Program& program) {
  auto prepared = prepare(program);
  if (!prepared) return std::move(prepared).error();
  prepared->ignore_job_signals = true;
  const pid_t child = fork();
  if (child < 0) return Error::from_errno("fork");
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      // A signal that a task sends to its own group (kill 0) must not reach the mapper. A session
      // of its own would be a scheduling group with as large a share of the CPUs as all ranks
      // together.
      setpgid(0, 0);
      exec_program(*prepared);
    }
    _exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  if (wait_for_child(child, &status) == child && WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return Error("fork: no process left for the mapper");
  return {};
}

Result<Outcome> run_and_wait(const Program& program) {
  auto prepared = prepare(program);
  if (!prepared) return std::move(prepared).error();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  prepared->errors = to.get();
  const pid_t child = fork();
  if (child < 0) return Error::from_errno("fork");
  if (child == 0) exec_program(*prepared);
  to.reset();
  Outcome outcome;
  // The child has not been waited for, so no other process can have its pid.
  if (!read_all(from.get(), outcome.sentence)) {
    kill(child, SIGKILL);
    outcome.sentence = "no answer within 30 s";
  }
  int status = 0;
  if (wait_for_child(child, &status) == child && WIFEXITED(status))
    outcome.exit_status = WEXITSTATUS(status);
  outcome.sentence.resize(std::min(outcome.sentence.find('\n'), outcome.sentence.size()));
  return outcome;
}

}  // namespace ondeloc
