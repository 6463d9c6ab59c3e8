// SPDX-License-Identifier: Apache-2.0
// Runs the built programs and looks at what a user sees of them.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/profile/profile_fixture.h"

namespace ondeloc {

struct Ran {
  int status = -1;  // exit code; 256 + signal
  std::string out, err;
  std::size_t told() const {  // lines on standard error
    return static_cast<std::size_t>(std::count(err.begin(), err.end(), '\n'));
  }
};

// `file_limit`: as `ulimit -f`, in bytes; 0 = none. `input`: standard input, empty = as it is.
inline Ran run_program(const TempDir& dir, const char* program, std::vector<std::string> arguments,
                       rlim_t file_limit = 0, const std::string& input = "") {
  arguments.insert(arguments.begin(), program);
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    dup2(open(dir.file("stdout").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(dir.file("stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    if (!input.empty()) dup2(open(input.c_str(), O_RDONLY), STDIN_FILENO);
    const rlimit limit{file_limit, file_limit};
    if (file_limit != 0) setrlimit(RLIMIT_FSIZE, &limit);
    execv(words[0], words.data());
    _exit(127);
  }
  Ran ran;
  int status = 0;
  waitpid(pid, &status, 0);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  ran.out = read_text(dir.file("stdout"));
  ran.err = read_text(dir.file("stderr"));
  return ran;
}

inline Ran run_command(const TempDir& dir, std::vector<std::string> arguments,
                       rlim_t file_limit = 0, const std::string& input = "") {
  return run_program(dir, ONDELOC_COMMAND, std::move(arguments), file_limit, input);
}

inline std::string npb_file(const std::string& app, const std::string& name) {
  return std::string(ONDELOC_TEST_DATA) + "/npb/" + app + "/" + name;
}

}  // namespace ondeloc
