// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/follow.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/writer.h"
#include "mapcore/threads/counts_file.h"
#include "mapcore/threads/program.h"
#include "mapcore/threads/recording.h"

namespace ondeloc {
namespace {

constexpr int kForwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr int kOfTerminal[] = {SIGINT, SIGQUIT};  // the program gets them itself

volatile std::sig_atomic_t running_child = 0;

void pass_on(int signal) {
  if (running_child > 0) ::kill(static_cast<pid_t>(running_child), signal);
}

// QEMU takes a comma as the end of a word; two stand for one.
std::string with_commas_doubled(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == ',' ? std::string(",,") : std::string(1, c);
  return out;
}

Result<std::vector<std::string>> words_for_qemu(const FollowOptions& options, int counts_fd) {
  const auto emulator = find_emulator();
  if (!emulator) return emulator.error();
  const auto plugin = find_threads_plugin();
  if (!plugin) return plugin.error();
  const auto program = find_program(options.command.front());
  if (!program) return program.error();
  // QEMU reads a program's symbols only if it logs something.
  std::vector<std::string> words = {
      *emulator,
      "-d",
      "plugin",
      "-D",
      "/dev/null",
      "-plugin",
      fmt::format("{},fd={},table={},llc={},sample={}", with_commas_doubled(*plugin), counts_fd,
                  options.table_bytes, options.llc_bytes, options.sample),
      "-0",
      options.command.front(),
      *program};
  words.insert(words.end(), options.command.begin() + 1, options.command.end());
  return words;
}

Result<pid_t> spawn(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);  // this program ignores it
  std::signal(SIGCHLD, SIG_DFL);  // an ignored one would hide how the program ended
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setsigdefault(&how, &defaults);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failed = posix_spawn(&child, pointers[0], nullptr, &how, pointers.data(), environ);
  posix_spawnattr_destroy(&how);
  if (failed != 0) return Error::from_errno(fmt::format("{} cannot be started", words[0]), failed);
  return child;
}

class Run {
 public:
  Run(pid_t child, ThreadRecording& recording, const FollowOptions& options, const Tell& tell)
      : child_(child),
        ended_(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))),
        recording_(recording),
        options_(options),
        tell_(tell),
        begin_ns_(monotonic_ns()) {}

  Result<int> wait() {
    int status = 0;
    for (;;) {
      const pid_t got = ::waitpid(child_, &status, WNOHANG);
      if (got == child_) break;
      if (got < 0 && errno != EINTR)
        return Error::from_errno("the kernel does not tell how the program ended");
      recording_.look(monotonic_ns());
      say_progress();
      pause();
    }
    recording_.look(monotonic_ns());
    return status;
  }
  double seconds() const { return static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9; }

 private:
  // A descriptor of -1, on old kernels, is only a pause.
  void pause() {
    constexpr std::uint64_t kMostPause = 20'000'000;  // without a descriptor the end is seen late
    std::uint64_t pause = recording_.pause_ns();
    if (!ended_.valid()) pause = std::min(pause, kMostPause);
    pollfd end{ended_.get(), POLLIN, 0};
    (void)::poll(&end, 1, static_cast<int>(pause / 1'000'000));
  }

  void say_progress() {
    if (options_.tell_every_s <= 0 || seconds() < next_s_ + options_.tell_every_s) return;
    next_s_ = seconds();
    tell_(fmt::format("threads record: running for {}, {}, {} read of other threads",
                      seconds_text(seconds()), counted(recording_.threads(), "thread"),
                      bytes_text(static_cast<double>(recording_.bytes()))));
  }

  pid_t child_;
  UniqueFd ended_;
  ThreadRecording& recording_;
  const FollowOptions& options_;
  const Tell& tell_;
  std::uint64_t begin_ns_;
  double next_s_ = 0;
};

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// The signals go to the program while it runs. The program ignores those that nohup or a shell's
// '&' has this process ignore: they are passed on to nobody.
class SignalsToChild {
 public:
  explicit SignalsToChild(pid_t child) {
    running_child = child;
    for (const int signal : kForwarded)
      if (!is_ignored(signal)) std::signal(signal, pass_on);
    for (const int signal : kOfTerminal) std::signal(signal, SIG_IGN);
  }
  SignalsToChild(const SignalsToChild&) = delete;
  SignalsToChild& operator=(const SignalsToChild&) = delete;
  ~SignalsToChild() { running_child = 0; }  // the signals stay ignored: the profile is written now
};

// Notes why the plugin did not see the end of the program, if it did not.
std::vector<std::string> notes_of_end(const ondeloc_threads::SharedCounts& counts, int status,
                                      const Tell& tell) {
  if (counts.ended.load(std::memory_order_relaxed) != 0) return {};
  if (WIFSIGNALED(status))
    return {"the program was killed; names of threads that lived then are missing"};
  const std::string executed =
      "the program called exec and was not followed after that; name the program itself after "
      "'--', and put env, numactl or taskset before 'ondeloc'";
  tell(fmt::format("threads record: {}", executed));
  return {executed};
}

Status check_loaded(const ondeloc_threads::SharedCounts& counts) {
  const std::uint64_t magic = counts.magic.load(std::memory_order_acquire);
  if (magic == ondeloc_threads::kMagic) return {};
  if (magic == ondeloc_threads::kRefused)
    return Error("the program was not started, for the reason that the plugin for QEMU gave");
  return Error(
      "QEMU did not load the plugin that follows threads; use a qemu-x86_64 that has plugins, "
      "such as that of Debian's package qemu-user");
}

}  // namespace

Result<Followed> follow_threads(const FollowOptions& options, const Tell& tell) {
  if (Status good = ProfileWriter::check(options.output); !good) return std::move(good).error();
  auto file = CountsFile::create();
  if (!file) return std::move(file).error();
  const auto words = words_for_qemu(options, file->fd());
  if (!words) return words.error();
  auto recording = ThreadRecording::start(file->counts(), options.sample);
  if (!recording) return std::move(recording).error();
  const auto child = spawn(*words);
  if (!child) return child.error();
  const SignalsToChild signals(*child);
  Run run(*child, *recording, options, tell);
  Followed followed;
  const auto status = run.wait();
  if (!status) return status.error();
  followed.status = *status;
  followed.seconds = run.seconds();
  if (Status loaded = check_loaded(file->counts()); !loaded) return std::move(loaded).error();
  followed.threads = recording->threads();
  followed.bytes = recording->bytes();
  followed.events = recording->events();
  if (Status written =
          recording->write(options.output, notes_of_end(file->counts(), *status, tell));
      !written)
    return std::move(written).error();
  return followed;
}

}  // namespace ondeloc
