// SPDX-License-Identifier: Apache-2.0
// Runs the built programs and keeps their output for the test.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/profile/profile_fixture.h"
#include "tests/unit/test_data.h"

namespace ondeloc {

struct Ran {
  int status = -1;  // exit code; 256 + signal
  std::string out, err;
  std::size_t told() const {  // lines on standard error
    return static_cast<std::size_t>(std::count(err.begin(), err.end(), '\n'));
  }
};

// `file_limit`: as `ulimit -f`, in bytes; 0 = none. `input`: standard input, empty = as it is.
// `variables`: "NAME=value", beside those of this process.
inline Ran run_program(const TempDir& dir, const char* program, std::vector<std::string> arguments,
                       rlim_t file_limit = 0, const std::string& input = "",
                       std::vector<std::string> variables = {}) {
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
    for (std::string& variable : variables) putenv(variable.data());
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

// Every command, as --help lists them: "map", "profile info", ...
inline std::vector<std::string> every_command(const TempDir& dir) {
  std::vector<std::string> commands;
  for (const std::string parent : {"", "profile"}) {
    std::vector<std::string> words{"--help"};
    if (!parent.empty()) words.insert(words.begin(), parent);
    std::istringstream help(run_command(dir, words).out);
    bool is_list = false;
    for (std::string line; std::getline(help, line) && !(is_list && line.empty());) {
      if (is_list && line.size() > 3 && line[2] != ' ')
        commands.push_back(parent + (parent.empty() ? "" : " ") +
                           line.substr(2, line.find(' ', 2) - 2));
      is_list = is_list || line == "Subcommands:" || line == "SUBCOMMANDS:";
    }
  }
  return commands;
}

inline std::string npb_file(const std::string& app, const std::string& name) {
  return test_data() + "/npb/" + app + "/" + name;
}

// Writes the intervals of two pairs that talk all the time, 0 with 2 and 1 with 3: on two NUMA
// nodes of two CPUs the ranks 0 to 3 start with both pairs apart.
inline std::string two_pairs(const TempDir& dir, std::uint64_t bytes, int intervals = 12) {
  std::string text = "interval,src,dst,bytes\n";
  for (int i = 0; i < intervals; ++i) {
    for (const char* pair : {",0,2,", ",1,3,"})
      text += std::to_string(i) + pair + std::to_string(bytes) + "\n";
  }
  write_text(dir.file("two_pairs.csv"), text);
  return dir.file("two_pairs.csv");
}

}  // namespace ondeloc
