// SPDX-License-Identifier: Apache-2.0
#include "spank/prepare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "mapcore/segment/channel_layout.h"
#include "mapcore/segment/rank_env.h"
#include "mapcore/segment/segment_create.h"

#include "spank/items.h"
#include "spank/option.h"

namespace ondeloc {
namespace {

static_assert(kDefaultCells == ONDELOC_RECORD_CELLS && kMaxCells == ONDELOC_RECORD_CELLS_MAX);

constexpr int kChannelBytes = 1 << 20;
// Above what shell scripts use for their own redirections (exec 9>file) and below RLIMIT_NOFILE.
constexpr int kSegmentFd = 500;

Status make_pipe(Pipe& pipe, int flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | flags) != 0) return Error::from_errno("pipe");
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return {};
}

// O_NONBLOCK belongs to each end by itself: the mapper may block, slurmstepd never.
Status make_channel(Pipe& channel) {
  if (Status good = make_pipe(channel, 0); !good) return good;
  if (fcntl(channel.write.get(), F_SETFL, O_WRONLY | O_NONBLOCK) != 0)
    return Error::from_errno("pipe: O_NONBLOCK");
  // As root, so the limit of unprivileged pipes does not count. A smaller pipe only drops earlier.
  (void)fcntl(channel.write.get(), F_SETPIPE_SZ, kChannelBytes);
  return {};
}

// slurmstepd keeps no write end, so that end of file means that the mapper has ended: it could not
// close one later, since contain_spank runs the later callbacks in clones with copies of the
// descriptors. start_mapper opens the pipe for writing, as the user, whose it therefore is.
Status make_say(Step& step) {
  Pipe say;
  if (Status good = make_pipe(say, 0); !good) return good;
  if (fcntl(say.read.get(), F_SETFL, O_RDONLY | O_NONBLOCK) != 0)
    return Error::from_errno("pipe: O_NONBLOCK");
  if (fchown(say.read.get(), step.uid, step.gid) != 0) return Error::from_errno("pipe: owner");
  step.say = std::move(say.read);
  return {};
}

Status make_token(Pipe& token) {
  if (Status good = make_pipe(token, O_NONBLOCK); !good) return good;
  const char byte = 0;
  if (write(token.write.get(), &byte, 1) != 1) return Error::from_errno("pipe");
  return {};
}

Result<std::vector<std::uint32_t>> world_ranks_here(spank_t spank, const Step& step) {
  const std::uint32_t count = step.local_ranks;
  if (step.is_part) return std::vector<std::uint32_t>(count, kRankOfTask);
  std::vector<std::uint32_t> world;
  for (std::uint32_t local = 0; local < count; ++local) {
    const auto rank = item<std::uint32_t>(spank, S_JOB_LOCAL_TO_GLOBAL_ID, local);
    if (!rank) return Error("Slurm does not tell the ranks on this node");
    world.push_back(*rank);
  }
  return world;
}

// Inheritance is opened by the task for itself, so that nothing else that slurmstepd runs gets it.
Status make_segment(spank_t spank, Step& step) {
  auto world = world_ranks_here(spank, step);
  if (!world) return std::move(world).error();
  auto segment = create_segment(
      {.world_ranks = step.world_ranks,
       .world_of_local = *world,
       .job_id = step.job_id,
       .step_id = step.step_id,
       .uid = step.uid,
       .gid = step.gid,
       .cpus_per_task = step.cpus_per_task,
       .interval_ms = step.options.interval_ms,
       .record_cells = step.options.mode == Mode::kProfile ? step.options.cells : 0});
  if (!segment) return std::move(segment).error();
  step.segment.reset(fcntl(segment->get(), F_DUPFD_CLOEXEC, kSegmentFd));
  if (!step.segment.valid()) step.segment = std::move(*segment);
  return {};
}

// The components of a heterogeneous step have a slurmstepd each, and one MPI_COMM_WORLD. Slurm's
// items tell of the component alone; of the whole srun tells in the job's environment. In a
// heterogeneous job they are jobs of their own, and the world has the id of the first. Should that
// be wrong, nobody is counted: ranks compare the size of their world and the name of their job.
void read_whole_of_parts(spank_t spank, Step& step) {
  const std::uint32_t whole = job_env_number(spank, "SLURM_STEP_NUM_TASKS").value_or(0);
  step.is_part = whole > step.world_ranks;
  step.world_ranks = std::max(step.world_ranks, whole);
  if (job_env_number(spank, "SLURM_HET_SIZE").value_or(0) < 2) return;
  step.job_id = job_env_number(spank, "SLURM_JOB_ID").value_or(step.job_id);
}

void fill_paths(Step& step) {
  const SiteOptions& site = step.site;
  step.mapper = (site.libexec.empty() ? ONDELOC_LIBEXEC_DIR : site.libexec) + "/ondeloc-mapper";
  step.rank_lib =
      site.rank_lib.empty() ? ONDELOC_RANK_LIB_DIR "/" ONDELOC_RANK_LIBRARY_NAME : site.rank_lib;
}

}  // namespace

bool is_normal_step(spank_t spank) {
  const auto id = item<std::uint32_t>(spank, S_JOB_STEPID);
  return id && *id <= SLURM_MAX_NORMAL_STEP_ID;
}

Status read_options(spank_t spank, Arguments arguments, Step& step) {
  const auto variable = job_env(spank, kDefaultVariable, kMaxOptionLength);
  if (given_option()) {
    step.text = *given_option();
  } else if (variable && !variable->empty()) {
    step.text = *variable;  // srun's, or what --export says that it is to be
  } else if (lent_variable()) {
    step.text = *lent_variable();
  }
  step.asked = !step.text.empty();
  auto site = parse_site_options({arguments.begin(), arguments.end()});
  if (!site) return std::move(site).error().within("plugstack.conf");
  step.site = std::move(*site);
  if (!step.asked) step.text = step.site.default_mode == Mode::kOnline ? "online" : "off";
  auto options = parse_options(step.text);
  if (!options) return std::move(options).error();
  step.options = std::move(*options);
  // Of the events too, which slurmstepd passes on.
  step.options.interval_ms = std::max(step.options.interval_ms, step.site.min_interval_ms);
  step.bind = step.options.mode == Mode::kStatic;
  step.watch = step.options.mode == Mode::kOnline || step.options.mode == Mode::kProfile ||
               (step.bind && !step.options.report.empty());
  fill_paths(step);
  return {};
}

Status read_items(spank_t spank, Step& step) {
  const auto uid = item<uid_t>(spank, S_JOB_UID);
  const auto gid = item<gid_t>(spank, S_JOB_GID);
  const auto job = item<std::uint32_t>(spank, S_JOB_ID);
  const auto step_id = item<std::uint32_t>(spank, S_JOB_STEPID);
  const auto local = item<std::uint32_t>(spank, S_JOB_LOCAL_TASK_COUNT);
  const auto world = item<std::uint32_t>(spank, S_JOB_TOTAL_TASK_COUNT);
  if (!uid || !gid || !job || !step_id || !local || !world)
    return Error("Slurm does not tell what the step is");
  step.uid = *uid;
  step.gid = *gid;
  step.job_id = *job;
  step.step_id = *step_id;
  step.local_ranks = *local;
  step.world_ranks = *world;
  step.cpus_per_task = item<std::uint32_t>(spank, S_STEP_CPUS_PER_TASK).value_or(1);
  step.stepd_pid = getpid();
  read_whole_of_parts(spank, step);
  return {};
}

Status make_descriptors(spank_t spank, Step& step) {
  if (step.bind) {
    if (Status good = make_token(step.token); !good) return good;
    if (Status good = make_pipe(step.ended, O_NONBLOCK); !good) return good;
  }
  if (!step.watch) return {};
  if (Status good = make_channel(step.channel); !good) return good;
  if (Status good = make_say(step); !good) return good;
  return make_segment(spank, step);
}

}  // namespace ondeloc
