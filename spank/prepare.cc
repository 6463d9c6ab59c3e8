// SPDX-License-Identifier: Apache-2.0
#include "spank/prepare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "mapcore/segment/channel_layout.h"
#include "mapcore/segment/rank_env.h"
#include "mapcore/segment/segment_create.h"

#include "spank/option.h"
#include "spank/spank_items.h"

namespace ondeloc {
namespace {

static_assert(kDefaultCells == ONDELOC_RECORD_CELLS && kMaxCells == ONDELOC_RECORD_CELLS_MAX);

constexpr int kChannelBytes = 1 << 20;
// Shell scripts use lower numbers for their own redirections (exec 9>file).
constexpr int kSegmentFd = 500;

Status make_pipe(Pipe& pipe, int flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | flags) != 0) return Error::from_errno("pipe");
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return {};
}

// Each end has its own O_NONBLOCK: the mapper may block, slurmstepd must not.
Status make_channel(Pipe& channel) {
  if (Status good = make_pipe(channel, 0); !good) return good;
  if (fcntl(channel.write.get(), F_SETFL, O_WRONLY | O_NONBLOCK) != 0)
    return Error::from_errno("pipe: O_NONBLOCK");
  // Root is exempt from the limit of unprivileged pipes. In a smaller pipe events drop earlier.
  (void)fcntl(channel.write.get(), F_SETPIPE_SZ, kChannelBytes);
  return {};
}

// slurmstepd keeps no write end, so that end of file means that the mapper has ended. It could not
// close one later: contain_spank runs the later callbacks in clones with copies of the
// descriptors. start_mapper opens the pipe for writing as the user, so the user must own it.
Status make_messages(Step& step) {
  Pipe messages;
  if (Status good = make_pipe(messages, 0); !good) return good;
  const int fd = messages.read.get();
  if (fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK) != 0) return Error::from_errno("pipe: O_NONBLOCK");
  if (fchown(fd, step.identity.uid, step.identity.gid) != 0)
    return Error::from_errno("pipe: owner");
  step.fds.messages = std::move(messages.read);
  return {};
}

Status make_token(Pipe& token) {
  if (Status good = make_pipe(token, O_NONBLOCK); !good) return good;
  const char byte = 0;
  if (write(token.write.get(), &byte, 1) != 1) return Error::from_errno("pipe");
  return {};
}

// Each process of the user that the kill switch ends opens it anew (end_with_step). Its owner is
// root, so the user can open it for reading only, and cannot keep it from closing.
Status make_kill_switch(Pipe& kill_switch) {
  if (Status good = make_pipe(kill_switch, O_NONBLOCK); !good) return good;
  if (fchmod(kill_switch.read.get(), 0444) != 0) return Error::from_errno("pipe: mode");
  return {};
}

Result<std::vector<std::uint32_t>> world_ranks_here(spank_t spank, const StepIdentity& identity) {
  const std::uint32_t count = identity.local_ranks;
  if (identity.is_component) return std::vector<std::uint32_t>(count, kRankOfTask);
  std::vector<std::uint32_t> world;
  for (std::uint32_t local = 0; local < count; ++local) {
    const auto rank = item<std::uint32_t>(spank, S_JOB_LOCAL_TO_GLOBAL_ID, local);
    if (!rank) return Error("Slurm does not say which ranks run on this node");
    world.push_back(*rank);
  }
  return world;
}

// The segment is CLOEXEC: each task makes it inheritable for itself, so that nothing else that
// slurmstepd executes gets it.
Status make_segment(spank_t spank, Step& step) {
  const StepIdentity& identity = step.identity;
  const Options& options = step.request.options;
  auto world = world_ranks_here(spank, identity);
  if (!world) return std::move(world).error();
  auto segment =
      create_segment({.world_ranks = identity.world_ranks,
                      .world_of_local = *world,
                      .job_id = identity.world_job_id,
                      .step_id = identity.step_id,
                      .uid = identity.uid,
                      .gid = identity.gid,
                      .cpus_per_task = identity.cpus_per_task,
                      .interval_ms = options.interval_ms,
                      .record_cells = options.mode == Mode::kProfile ? options.cells : 0});
  if (!segment) return std::move(segment).error();
  step.fds.segment.reset(fcntl(segment->get(), F_DUPFD_CLOEXEC, kSegmentFd));
  // Under a low limit of descriptors kSegmentFd does not exist.
  if (!step.fds.segment.valid()) step.fds.segment = std::move(*segment);
  return {};
}

// Each component of a heterogeneous step has its own slurmstepd, and all share MPI_COMM_WORLD.
// Slurm's items describe the component; only the job's environment, which srun has set, describes
// the whole. In a heterogeneous job each component is a job, and the world has the first one's id.
// A wrong value costs the counts and nothing else: each rank compares the size of its world and the
// name of its job.
void read_whole_of_components(spank_t spank, StepIdentity& identity) {
  const std::uint32_t whole = job_env_number(spank, "SLURM_STEP_NUM_TASKS").value_or(0);
  identity.is_component = whole > identity.world_ranks;
  identity.world_ranks = std::max(identity.world_ranks, whole);
  if (job_env_number(spank, "SLURM_HET_SIZE").value_or(0) < 2) return;
  identity.world_job_id = job_env_number(spank, "SLURM_JOB_ID").value_or(identity.job_id);
}

void fill_paths(Request& request) {
  const SiteOptions& site = request.site;
  request.mapper_path =
      (site.libexec.empty() ? ONDELOC_LIBEXEC_DIR : site.libexec) + "/ondeloc-mapper";
  request.rank_library =
      site.rank_lib.empty() ? ONDELOC_RANK_LIB_DIR "/" ONDELOC_RANK_LIBRARY_NAME : site.rank_lib;
}

// The user's value of the option, empty if there is none.
Result<std::string> requested_text(spank_t spank) {
  if (given_option()) return *given_option();
  // The variable in srun's environment, or the value that --export gives it for the step.
  const auto variable = job_env_whole(spank, kDefaultVariable, kMaxOptionLength);
  if (!variable) return variable.error();
  if (*variable && !(*variable)->empty()) return **variable;
  return env_default().value_or("");
}

}  // namespace

bool is_normal_step(spank_t spank) {
  const auto id = item<std::uint32_t>(spank, S_JOB_STEPID);
  return id && *id <= SLURM_MAX_NORMAL_STEP_ID;
}

Status read_request(spank_t spank, Arguments arguments, Step& step) {
  Request& request = step.request;
  auto text = requested_text(spank);
  request.user_requested = !text || !text->empty();
  if (!text) return std::move(text).error();
  request.text = *std::move(text);
  // A user who wants nothing is not told that plugstack.conf is wrong.
  auto options = parse_options(request.text);
  if (options && options->mode == Mode::kOff) return {};
  auto site = parse_site_options({arguments.begin(), arguments.end()});
  if (!site) return std::move(site).error().within("plugstack.conf");
  request.site = std::move(*site);
  if (!request.user_requested) {
    request.text = request.site.default_options;
    options = parse_options(request.text);
  }
  if (!options) return std::move(options).error();
  // Here and not only in the mapper: the ranks' events, which slurmstepd passes on, follow it too.
  request.options = with_least_interval(std::move(*options), request.site.min_interval_ms);
  const Mode mode = request.options.mode;
  request.bind = mode == Mode::kStatic;
  request.watch = mode == Mode::kOnline || mode == Mode::kProfile ||
                  (request.bind && !request.options.report.empty());
  fill_paths(request);
  return {};
}

Status read_identity(spank_t spank, Step& step) {
  const auto uid = item<uid_t>(spank, S_JOB_UID);
  const auto gid = item<gid_t>(spank, S_JOB_GID);
  const auto job = item<std::uint32_t>(spank, S_JOB_ID);
  const auto step_id = item<std::uint32_t>(spank, S_JOB_STEPID);
  const auto local = item<std::uint32_t>(spank, S_JOB_LOCAL_TASK_COUNT);
  const auto world = item<std::uint32_t>(spank, S_JOB_TOTAL_TASK_COUNT);
  if (!uid || !gid || !job || !step_id || !local || !world)
    return Error("Slurm does not say which ids and sizes the step has");
  step.identity = {.stepd_pid = getpid(),
                   .uid = *uid,
                   .gid = *gid,
                   .job_id = *job,
                   .world_job_id = *job,
                   .step_id = *step_id,
                   .local_ranks = *local,
                   .world_ranks = *world,
                   .is_component = false,
                   .cpus_per_task = item<std::uint32_t>(spank, S_STEP_CPUS_PER_TASK).value_or(1)};
  read_whole_of_components(spank, step.identity);
  return {};
}

Status check_user(Step& step) {
  const std::uint32_t least = step.request.site.min_uid;
  if (step.identity.uid >= least) return {};
  step.request.watch = step.request.bind = false;
  if (!step.request.user_requested) return {};
  return Error(
      fmt::format("off for user {}: min-uid={} in plugstack.conf", step.identity.uid, least));
}

Status check_leave(Step& step) {
  Request& request = step.request;
  Status good = check_allowed(request.options, step.identity.world_ranks, request.site.allow);
  if (good) return good;
  request.watch = request.bind = false;
  return request.user_requested ? std::move(good) : Status();
}

Status make_descriptors(spank_t spank, Step& step) {
  Descriptors& fds = step.fds;
  if (Status good = make_kill_switch(fds.kill_switch); !good) return good;
  if (Status good = make_token(fds.failure_token); !good) return good;
  if (step.request.bind || step.request.needs_profile()) {
    for (Pipe* token : {&fds.error_token, &fds.warning_token})
      if (Status good = make_token(*token); !good) return good;
    if (Status good = make_pipe(fds.ending, O_NONBLOCK); !good) return good;
  }
  if (!step.request.watch) return {};
  if (Status good = make_channel(fds.channel); !good) return good;
  if (Status good = make_messages(step); !good) return good;
  return make_segment(spank, step);
}

}  // namespace ondeloc
