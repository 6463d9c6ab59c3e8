// SPDX-License-Identifier: Apache-2.0
// with_segment [--transport T] [--print] RANK_LIBRARY PROGRAM [ARGUMENT...]
// Runs one MPI program without a launcher (a singleton) as the only rank of a step, with a real
// segment, the environment that the plugin sets, and the rank library preloaded. With --print, it
// prints the rank's state and row at the end. Its exit status is that of the program.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "mapcore/segment/rank_env.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/segment_view.h"

namespace {

ondeloc::Result<ondeloc::UniqueFd> make_segment() {
  static const std::array<std::uint32_t, 1> world{0};
  ondeloc::SegmentPlan plan;
  plan.world_ranks = 1;
  plan.world_of_local = world;
  plan.uid = getuid();
  plan.gid = getgid();
  return ondeloc::create_segment(plan);
}

[[noreturn]] void run(char** command, int fd, const std::string& transport) {
  const std::string step = std::string(ONDELOC_ENV_STEP_VERSION) + " fd=" + std::to_string(fd) +
                           " transport=" + transport +
                           " interval_ms=500 local_ranks=1 world_ranks=1 job=1 step=0";
  setenv(ONDELOC_ENV_STEP, step.c_str(), 1);
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_LOCALID", "0", 1);
  setenv("LD_PRELOAD", command[0], 1);
  fcntl(fd, F_SETFD, 0);
  execvp(command[1], command + 1);
  std::perror(command[1]);
  _exit(127);
}

void print(int fd) {
  auto view = ondeloc::SegmentView::open(fd);
  if (!view.ok()) return;
  std::array<ondeloc_cell, 2> row{};
  const ondeloc_slot slot = view->slot(0);
  view->read_row(0, row);
  std::printf("library \"%s\" state %u notes %u self %llu bytes %llu messages\n", slot.library,
              slot.rank_state, slot.notes, static_cast<unsigned long long>(row[0].bytes),
              static_cast<unsigned long long>(row[0].messages));
}

}  // namespace

int main(int argc, char** argv) {
  std::string transport = "auto";
  bool printing = false;
  int at = 1;
  for (; at < argc && argv[at][0] == '-'; ++at) {
    const std::string word = argv[at];
    if (word == "--print") printing = true;
    if (word == "--transport" && at + 1 < argc) transport = argv[++at];
  }
  if (argc - at < 2) return std::fprintf(stderr, "with_segment: no program\n"), 2;
  auto fd = make_segment();
  if (!fd.ok()) return std::fprintf(stderr, "%s\n", fd.error().message().c_str()), 2;
  const pid_t child = fork();
  if (child == 0) run(argv + at, fd->get(), transport);
  int status = 0;
  waitpid(child, &status, 0);
  if (printing) print(fd->get());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
