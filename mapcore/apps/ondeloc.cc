// SPDX-License-Identifier: Apache-2.0
// The command `ondeloc`: puts the commands of cmd_*.cc together, and its exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/narrow_help.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/usage.h"

namespace {

int tell_lost_output() {
  std::perror("ondeloc: standard output");
  return 1;
}

int print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return tell_lost_output();
  return 0;
}

// If a standard stream is closed, the next file that is opened takes its number, and messages would
// go into that file. Each closed one is opened the wrong way round: using it stays an error.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void add_commands(CLI::App& app, ondeloc::cli::Job& job) {
  ondeloc::cli::add_map(app, job);
  ondeloc::cli::add_evaluate(app, job);
  ondeloc::cli::add_compare(app, job);
  ondeloc::cli::add_place(app, job);
  ondeloc::cli::add_replay(app, job);
  ondeloc::cli::add_report(app, job);
  ondeloc::cli::add_explain(app, job);
  ondeloc::cli::add_top(app, job);
  ondeloc::cli::add_site(app, job);
  ondeloc::cli::add_heatmap(app, job);
  ondeloc::cli::add_algorithms(app, job);
  ondeloc::cli::add_topology(app, job);
  ondeloc::cli::add_measure(app, job);
  ondeloc::cli::add_profile(app, job);
  ondeloc::cli::add_threads(app, job);
}

int run(int argc, char** argv) {
  CLI::App app("Compute, compare and explain mappings of MPI ranks to CPUs.", "ondeloc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ondeloc " ONDELOC_VERSION, "Print the version and exit");
  app.formatter(ondeloc::cli::narrow_help());
  ondeloc::cli::Job job;
  add_commands(app, job);
  // Set after the commands: a command that is added later would inherit the footer.
  app.footer(
      "'ondeloc help COMMAND' tells more; the manual is ondeloc(1).\n"
      "Exit status: 0 done, 1 bad input, 2 wrong usage.");
  const std::vector<std::string> words = ondeloc::cli::command_words(argc, argv);
  if (words.empty() || (words.size() == 1 && std::string(argv[1]) == "help"))
    return print(ondeloc::cli::overview(app));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return ondeloc::cli::tell_usage(app, error, words);
  }
  const auto text = job();
  if (!text) {
    ondeloc::cli::say(text.error().message());
    return 1;
  }
  return print(*text);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f` is an error like a full disk
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ondeloc: out of memory\n", stderr);
  } catch (const std::exception& failure) {
    ondeloc::cli::say(failure.what());
  }
  return 1;
}
