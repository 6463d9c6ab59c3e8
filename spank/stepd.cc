// SPDX-License-Identifier: Apache-2.0
// The callbacks in slurmstepd itself. They run as root or, in user_init, with the user's effective
// ids: they map nothing, read no file of the user, send no signal and start no process.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pmix_hooks/listener.h"
#include "spank/callbacks.h"
#include "spank/environment.h"
#include "spank/nic.h"
#include "spank/prepare.h"
#include "spank/spank_items.h"
#include "spank/step.h"
#include "spank/step_end.h"
#include "spank/trusted_file.h"
#include "spank/user_log.h"

namespace ondeloc {
namespace {

bool is_on(const Step& step) { return step.request.watch || step.request.bind; }

Status prepare(spank_t spank, Arguments arguments, Step& step) {
  if (Status good = read_request(spank, arguments, step); !good) return good;
  if (!is_on(step)) return {};
  if (Status good = read_identity(spank, step); !good) return good;
  if (Status good = check_user(step); !good || !is_on(step)) return good;
  if (Status good = check_leave(step); !good || !is_on(step)) return good;
  return make_descriptors(spank, step);
}

// `key`: the word of plugstack.conf that helps if the plugin was installed elsewhere than it was
// built for.
Status check_file(const std::string& path, int mode, std::string_view key) {
  Status good = check_trusted_file(path, mode);
  if (good || good.error().code() != ENOENT) return good;
  return Error(
      fmt::format("{} ({}= in plugstack.conf says where it is)", good.error().message(), key),
      ENOENT);
}

Status check_files(const Request& request) {
  if (Status good = check_file(request.mapper_path, X_OK, "libexec"); !good) return good;
  if (!request.watch) return {};
  return check_file(request.rank_library, R_OK, "rank-lib");
}

// In PMIx's progress thread.
void read_energy_again() { the_step().state.energy.sample(); }

// Under contain_spank (24.05) this process is a clone with borrowed thread state: a callback cannot
// be registered from it.
Status start_listener(const Step& step) {
  if (getpid() != step.identity.stepd_pid)
    return Error("events: none, SlurmdParameters=contain_spank leaves no place to listen from",
                 ENOENT);
  const std::vector<std::string>& switches = step.request.site.test_switches;
  if (std::find(switches.begin(), switches.end(), kSwitchNoEvents) != switches.end())
    return Error("events: none, plugstack.conf has test-switch=no-events", ENOENT);
  return listener_start(step.fds.channel.write.get(), read_energy_again);
}

// The segment alone can carry all records, so a step without events has not failed. Only a user
// that chose events is told. ENOENT: the site or the launch has no events; with default=online,
// every step would repeat that in slurmd's log.
void listen(Step& step) {
  const Transport transport = step.request.options.transport;
  if (!step.request.watch || transport == Transport::kShm) return;
  Status good = start_listener(step);
  step.state.listening = good.ok();
  if (good) return;
  step.state.no_events = good.error().message();
  const auto log = good.error().code() == ENOENT ? slurm_debug : slurm_info;
  log("ondeloc: %s", step.state.no_events.c_str());
  if (transport == Transport::kPmix) log_to_user(step.state.no_events);
}

Status start_watching(spank_t spank, Step& step) {
  if (Status good = check_files(step.request); !good) return good;
  listen(step);
  return set_environment(spank, step);
}

}  // namespace

void stepd_init_post_opt(spank_t spank, Arguments arguments, Step& step) {
  if (!is_normal_step(spank)) return;
  if (Status good = prepare(spank, arguments, step); !good) fail_open(step, good.error().message());
}

void stepd_user_init(spank_t spank, Step& step) {
  // In batch and interactive steps too: mpirun in them would not bind its ranks.
  remove_inherited(spank);
  const Status good = is_on(step) ? start_watching(spank, step) : Status();
  if (good && is_on(step)) find_adapters(spank, step);
  if (!good) fail_open(step, good.error().message());
  flush_pending(step);
}

// Slurm calls this after it has forked all tasks of the node, once for each. They still wait.
void stepd_task_post_fork(Step& step) {
  if (!step.request.watch || step.state.energy.is_started()) return;
  step.state.energy.start(powercap_of(step.request.site), energy_pause_of(step.request.site));
}

void stepd_task_exit(spank_t spank, Step& step) {
  if (!step.request.watch || ++step.state.exited_tasks != step.identity.local_ranks) return;
  send_end(step);
  relay_mapper_messages(step, item<int>(spank, S_TASK_EXIT_STATUS).value_or(0));
}

// By now Slurm has ended those processes of the step that its proctrack plugin finds. spank_fini
// leaves the plugin mapped (-z nodelete), but the channel closes with the process, so no event may
// come after this.
void stepd_exit(spank_t, Step& step) {
  if (step.state.listening) listener_stop();
  step.fds.kill_switch.write.reset();
}

}  // namespace ondeloc
