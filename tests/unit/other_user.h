// SPDX-License-Identifier: Apache-2.0
// Acting as two ordinary users, which needs root, and a folder that both may write to.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/unit/temp_dir.h"

namespace ondeloc {

inline constexpr uid_t kVictim = 65534, kAttacker = 65533;

inline bool can_change_user() { return ::geteuid() == 0; }

// Runs `action` in a child process of that user; true if it returned true.
template <class Action>
bool as_user(uid_t user, Action action) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(2);
    ::_exit(action() ? 0 : 1);
  }
  int state = 0;
  return ::waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

// A folder like /tmp, with a folder inside that belongs to the victim alone.
class SharedDir {
 public:
  SharedDir() {
    ::chmod(dir_.path().c_str(), 01777);
    ::mkdir(dir_.file("own").c_str(), 0755);
    if (::chown(dir_.file("own").c_str(), kVictim, kVictim) != 0) ::abort();
  }
  std::string file(const std::string& name) const { return dir_.file(name); }
  std::string own(const std::string& name) const { return dir_.file("own/" + name); }

 private:
  TempDir dir_;
};

}  // namespace ondeloc
