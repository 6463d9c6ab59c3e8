// SPDX-License-Identifier: Apache-2.0
// ondeloc threads record.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/text.h"
#include "mapcore/threads/follow.h"

namespace ondeloc::cli {
namespace {

struct RecordCommand {
  FollowOptions follow;
  double table = 256U << 20, llc = 32U << 20;
};

std::string with_rank(std::string pattern, const std::string& rank) {
  for (std::size_t at = 0; (at = pattern.find("%t", at)) != pattern.npos; at += rank.size())
    pattern.replace(at, 2, rank);
  return pattern;
}

// "app.%t.prof": the ranks of a step write a file each. The ranks of mpirun in a batch script
// inherit the script's own SLURM_PROCID, so the variables of MPI are asked first.
Result<std::string> output_of_rank(const std::string& pattern) {
  if (pattern.find("%t") == pattern.npos) return pattern;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(name)) return with_rank(pattern, rank);
  }
  return Error(
      fmt::format("--output: '{}' has %t, and no variable tells the rank of this process; "
                  "start it with srun or mpirun, or leave %t out",
                  shorten_path(pattern)));
}

std::string default_output(const std::string& program) {
  return program.substr(program.rfind('/') + 1) + ".prof";
}

// The status of the program, as a shell gives it.
int exit_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<std::string> run_record(const RecordCommand& command) {
  FollowOptions follow = command.follow;
  follow.table_bytes = static_cast<std::uint64_t>(command.table);
  follow.llc_bytes = static_cast<std::uint64_t>(command.llc);
  if (follow.output == "-")
    return Error("--output: standard output is that of the program; name a file");
  if (follow.output.empty()) follow.output = default_output(follow.command.front());
  auto output = output_of_rank(follow.output);
  if (!output) return std::move(output).error();
  follow.output = *std::move(output);
  const auto followed = follow_threads(follow, [](const std::string& sentence) { say(sentence); });
  if (!followed) return Error(followed.error()).within("threads record");
  say(fmt::format(
      "threads record: {} read {} of each other in {} of emulated run; see "
      "'ondeloc profile info {}'",
      counted(followed->threads, "thread"), bytes_text(static_cast<double>(followed->bytes)),
      seconds_text(followed->seconds), shorten_path(follow.output)));
  // Scripts see the status of their program, as with time(1).
  if (const int status = exit_status(followed->status); status != 0) {
    say(fmt::format("threads record: the program ended with status {}", status));
    std::exit(status);
  }
  return std::string();
}

void add_record(CLI::App& threads, Job& job) {
  CLI::App* command = threads.add_subcommand(
      "record", "run a program under QEMU and record which threads read what others wrote");
  auto options = std::make_shared<RecordCommand>();
  command
      ->add_option("-o,--output", options->follow.output,
                   "the profile to write; %t is the rank of the process (default: the program's "
                   "name and .prof)")
      ->check(not_empty());
  command
      ->add_option("--sample", options->follow.sample,
                   "follow one line of N, chosen at random, and count it for N: faster, and a "
                   "table lasts for N times the memory (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  add_quantity(*command, "--table", options->table, Quantity::kBytes, 64 << 10, 1ULL << 40,
               "memory for the table of written lines, 16 bytes each (default: 256MiB, which lasts "
               "for 1 GiB that the program writes)");
  add_quantity(*command, "--llc", options->llc, Quantity::kBytes, 64 << 10, 1ULL << 36,
               "size of the modelled last-level cache that all threads share (default: 32MiB)");
  add_quantity(*command, "--progress", options->follow.tell_every_s, Quantity::kSeconds, 0, 1e6,
               "say how far the run is each time this has passed; 0s: never (default: 10s)");
  command->add_option("COMMAND", options->follow.command, "after --: the program and its arguments")
      ->required();
  command->positionals_at_end();
  command->footer(
      examples({"ondeloc threads record -o app.prof -- ./app", "ondeloc profile info app.prof",
                "srun ondeloc threads record -o app.%t.prof -- ./app"}));
  command->callback([options, &job] { job = [options] { return run_record(*options); }; });
}

}  // namespace

void add_threads(CLI::App& app, Job& job) {
  CLI::App* threads =
      app.add_subcommand("threads", "record how the threads of a program share memory");
  threads->require_subcommand(1);
  add_record(*threads, job);
}

}  // namespace ondeloc::cli
