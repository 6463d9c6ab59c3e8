// SPDX-License-Identifier: Apache-2.0
// The command line of ondeloc: composition and exit codes; the subcommands stand in cmd_*.cc.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/narrow_help.h"
#include "mapcore/base/text.h"

namespace {

const CLI::App* subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* known : app.get_subcommands({})) {
    if (known->get_name() == name) return known;
  }
  return nullptr;
}

int tell_lost_output() {
  std::perror("ondeloc: standard output");
  return 1;
}

std::string failure_message(const CLI::App*, const CLI::Error& error) {
  return std::string("ondeloc: ") + error.what() + "\nRun with --help for more information.\n";
}

// CLI11 misses what is required before it sees what nobody knows: of `map --matirx FILE` it would
// say that --matrix is required.
std::string unknown_option(const CLI::App& at) {
  for (const std::string& word : at.remaining()) {
    if (word.size() > 1 && word.front() == '-') return word;
  }
  return "";
}

int tell_unknown(const std::string& option) {
  std::fprintf(stderr,
               "ondeloc: '%s' is not an option here\nRun with --help for more information.\n",
               ondeloc::shorten(option).c_str());
  return 2;
}

// "A subcommand is required" where none was given; which one is not known where one was.
int tell_usage(CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* at = &app;
  int i = 1;
  for (const CLI::App* next = at; i < argc && (next = subcommand(*at, argv[i])) != nullptr; ++i)
    at = next;
  const bool misses = error.get_name() == "RequiredError";
  if (!misses || i == argc || argv[i][0] == '-' || at->get_subcommands({}).empty()) {
    const std::string word = misses ? unknown_option(*at) : "";
    if (!word.empty()) return tell_unknown(word);
    if (app.exit(error) != 0) return 2;
    return std::cout.flush() ? 0 : tell_lost_output();
  }
  std::string names;
  for (const CLI::App* known : at->get_subcommands({}))
    names += (names.empty() ? "" : ", ") + known->get_name();
  std::fprintf(stderr, "ondeloc: '%s' is not a command: use one of %s\n",
               ondeloc::shorten(argv[i]).c_str(), names.c_str());
  return 2;
}

// Started with one of them closed, the next file opened would be it, and what is told on standard
// error would go into that file. Each is opened the wrong way round: using it stays an error.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Where MPI ranks should run: compute, compare and inspect mappings.", "ondeloc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ondeloc " ONDELOC_VERSION, "Print the version and exit");
  app.formatter(ondeloc::cli::narrow_help());
  app.failure_message(failure_message);
  ondeloc::cli::Job job;
  ondeloc::cli::add_map(app, job);
  ondeloc::cli::add_evaluate(app, job);
  ondeloc::cli::add_compare(app, job);
  ondeloc::cli::add_replay(app, job);
  ondeloc::cli::add_algorithms(app, job);
  ondeloc::cli::add_topology(app, job);
  ondeloc::cli::add_profile(app, job);
  // After the commands: those that are added later inherit it.
  app.footer(
      "'ondeloc COMMAND --help' tells more; the manual is ondeloc(1).\n"
      "Exit status: 0 done, 1 bad input, 2 wrong usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return tell_usage(app, error, argc, argv);
  }
  const auto text = job();
  if (!text) {
    std::fprintf(stderr, "ondeloc: %s\n", text.error().message().c_str());
    return 1;
  }
  if (std::fwrite(text->data(), 1, text->size(), stdout) != text->size() ||
      std::fflush(stdout) != 0)
    return tell_lost_output();
  return 0;
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
    std::fprintf(stderr, "ondeloc: %s\n", failure.what());
  }
  return 1;
}
