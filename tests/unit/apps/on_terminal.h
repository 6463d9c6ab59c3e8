// SPDX-License-Identifier: Apache-2.0
// Runs a built program on a terminal of its own, for which a test types.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace ondeloc {

class OnTerminal {
 public:
  OnTerminal(std::vector<std::string> words, unsigned short rows, unsigned short columns) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    const winsize size{rows, columns, 0, 0};
    ioctl(master_, TIOCSWINSZ, &size);
    const std::string slave = ptsname(master_);
    pid_ = fork();
    if (pid_ != 0) return;
    setsid();
    for (int fd = 0; fd < 3; ++fd) dup2(open(slave.c_str(), O_RDWR), fd);
    setenv("TERM", "linux", 1);
    unsetenv("LINES");
    unsetenv("COLUMNS");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~OnTerminal() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    if (master_ >= 0) close(master_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  bool is_open() const { return pid_ > 0; }
  bool type(const std::string& keys) const {
    return write(master_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size());
  }

  // True if the program writes this text, behind what it wrote before the last call.
  bool shows(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (std::string out; std::chrono::steady_clock::now() < end;) {
      pollfd ready{master_, POLLIN, 0};
      char piece[4096];
      if (poll(&ready, 1, 100) <= 0) continue;
      const ssize_t got = read(master_, piece, sizeof piece);
      if (got <= 0) return false;
      out.append(piece, static_cast<std::size_t>(got));
      if (out.find(text) != out.npos) return true;
    }
    return false;
  }

 private:
  int master_ = -1;
  pid_t pid_ = -1;
};

}  // namespace ondeloc
