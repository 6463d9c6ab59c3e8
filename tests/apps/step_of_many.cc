// SPDX-License-Identifier: Apache-2.0
// step_of_many RANKS RANK_LIBRARY PROGRAM [ARGUMENT...]
// Runs an MPI program under mpiexec.mpich (or STEP_LAUNCHER) as a step of RANKS ranks on one node,
// without Slurm: a real segment, the environment that the plugin sets, the rank library preloaded
// (behind what STEP_PRELOAD names and in front of STEP_BEHIND). Then prints one line for each cell
// that is not empty, "src dst bytes messages", or "src from dst bytes messages" for what src
// fetched from dst, and one line for each rank, "rank N library L notes X modelled BYTES MESSAGES".
// Exit status: the launcher's. The launcher starts this program again for each rank.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "mapcore/segment/rank_env.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/segment_view.h"

namespace {

constexpr char kSegment[] = "STEP_OF_MANY_SEGMENT";

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

ondeloc::Result<ondeloc::UniqueFd> make_segment(std::uint32_t ranks) {
  static std::vector<std::uint32_t> world(ranks);
  std::iota(world.begin(), world.end(), 0);
  ondeloc::SegmentPlan plan;
  plan.world_ranks = ranks;
  plan.world_of_local = world;
  plan.uid = getuid();
  plan.gid = getgid();
  return ondeloc::create_segment(plan);
}

[[noreturn]] void become(char** command) {
  execvp(command[0], command);
  std::perror(command[0]);
  _exit(127);
}

// The rank library leaves alone what another launcher than Slurm has started by PMIx.
void hide_namespace() {
  const std::string name = variable("PMIX_NAMESPACE", "");
  if (name.empty()) return;
  setenv("STEP_NAMESPACE", name.c_str(), 1);
  unsetenv("PMIX_NAMESPACE");
}

// In a rank: `words` are RANKS RANK_LIBRARY PROGRAM ...
[[noreturn]] void join(char** words) {
  const int fd = open(variable(kSegment, "").c_str(), O_RDWR);
  if (fd < 0) std::perror("step_of_many: the segment"), _exit(127);
  const std::string rank = variable("PMI_RANK", variable("PMIX_RANK", "0").c_str()),
                    before = variable("STEP_PRELOAD", ""), behind = variable("STEP_BEHIND", "");
  hide_namespace();
  const std::string step = std::string(ONDELOC_ENV_STEP_VERSION) + " fd=" + std::to_string(fd) +
                           " transport=auto interval_ms=500 job=1 step=0 local_ranks=" + words[0] +
                           " world_ranks=" + words[0];
  setenv(ONDELOC_ENV_STEP, step.c_str(), 1);
  setenv("SLURM_PROCID", rank.c_str(), 1);
  setenv("SLURM_LOCALID", rank.c_str(), 1);
  setenv("LD_PRELOAD", (before + " " + words[1] + " " + behind).c_str(), 1);
  become(words + 2);
}

[[noreturn]] void launch(char** argv, int fd) {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(fd);
  setenv(kSegment, path.c_str(), 1);
  std::vector<std::string> words{variable("STEP_LAUNCHER", "mpiexec.mpich"), "-n", argv[1],
                                 argv[0]};
  std::vector<char*> command;
  for (std::string& word : words) command.push_back(word.data());
  for (char** word = argv + 1; *word != nullptr; ++word) command.push_back(*word);
  command.push_back(nullptr);
  become(command.data());
}

void print_cell(std::uint32_t rank, const char* how, std::uint32_t peer, const ondeloc_cell& cell) {
  if (cell.messages != 0)
    std::printf("%u %s%u %llu %llu\n", rank, how, peer, static_cast<unsigned long long>(cell.bytes),
                static_cast<unsigned long long>(cell.messages));
}

void print_rank(const ondeloc::SegmentView& view, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<ondeloc_cell> row(ranks + 1);
  const ondeloc_slot slot = view.slot(rank);
  view.read_row(rank, row);
  std::printf("rank %u library %s notes %u modelled %llu %llu\n", rank, slot.library, slot.notes,
              static_cast<unsigned long long>(slot.modelled_bytes),
              static_cast<unsigned long long>(slot.modelled_messages));
  for (std::uint32_t peer = 0; peer <= ranks; ++peer) print_cell(rank, "", peer, row[peer]);
  if (view.fetches(static_cast<int>(rank)))
    for (std::uint32_t peer = 0; peer < ranks; ++peer)
      print_cell(rank, "from ", peer, view.fetched(static_cast<int>(rank), static_cast<int>(peer)));
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(kSegment) != nullptr) join(argv + 1);
  const auto ranks = static_cast<std::uint32_t>(argc > 3 ? std::atoi(argv[1]) : 0);
  if (ranks == 0) return std::fprintf(stderr, "step_of_many: no ranks or no program\n"), 2;
  auto fd = make_segment(ranks);
  if (!fd.ok()) return std::fprintf(stderr, "%s\n", fd.error().message().c_str()), 2;
  const pid_t child = fork();
  if (child == 0) launch(argv, fd->get());
  int status = 0;
  waitpid(child, &status, 0);
  auto view = ondeloc::SegmentView::open(fd->get());
  for (std::uint32_t rank = 0; view.ok() && rank < ranks; ++rank) print_rank(*view, rank, ranks);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
