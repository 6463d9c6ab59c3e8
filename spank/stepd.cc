// SPDX-License-Identifier: Apache-2.0
// The callbacks in slurmstepd itself. They run as root or, in user_init, with the user's effective
// ids: they map nothing, read no file of the user and start no process.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "pmix_hooks/listener.h"
#include "spank/callbacks.h"
#include "spank/environment.h"
#include "spank/farewell.h"
#include "spank/items.h"
#include "spank/prepare.h"
#include "spank/step.h"
#include "spank/tell.h"
#include "spank/trusted_file.h"

namespace ondeloc {
namespace {

bool on(const Step& s) { return s.watch || s.bind; }

Status prepare(spank_t spank, Arguments arguments, Step& s) {
  if (Status good = read_options(spank, arguments, s); !good) return good;
  if (!on(s)) return {};
  if (Status good = read_items(spank, s); !good) return good;
  return make_descriptors(spank, s);
}

// `key` of plugstack.conf is what helps where the plugin was installed elsewhere than it was built
// for.
Status check_file(const std::string& path, int mode, std::string_view key) {
  Status good = check_trusted_file(path, mode);
  if (good || good.error().code() != ENOENT) return good;
  return Error(
      fmt::format("{} ({}= in plugstack.conf says where it is)", good.error().message(), key),
      ENOENT);
}

Status check_files(const Step& s) {
  if (Status good = check_file(s.mapper, X_OK, "libexec"); !good) return good;
  if (!s.watch) return {};
  return check_file(s.rank_lib, R_OK, "rank-lib");
}

// Under contain_spank (24.05) this is a clone with borrowed thread state, no place to register a
// callback from.
Status start_listener(const Step& s) {
  if (getpid() != s.stepd_pid)
    return Error("events: none, SlurmdParameters=contain_spank leaves no place to listen from",
                 ENOENT);
  const std::vector<std::string>& switches = s.site.test_switches;
  if (std::find(switches.begin(), switches.end(), "no-events") != switches.end())
    return Error("events: none, plugstack.conf has test-switch=no-events", ENOENT);
  return listener_start(s.channel.write.get());
}

// Without events the segment alone carries everything, so their lack is no failure; it is told only
// to a user who chose them. Where the site or the launch has none (ENOENT) every step of a site
// with default=online would say so in slurmd's log.
void listen(Step& s) {
  if (!s.watch || s.options.transport == Transport::kShm) return;
  Status good = start_listener(s);
  s.listening = good.ok();
  if (good) return;
  s.no_events = good.error().message();
  const auto log = good.error().code() == ENOENT ? slurm_debug : slurm_info;
  log("ondeloc: %s", s.no_events.c_str());
  if (s.options.transport == Transport::kPmix) tell(good.error().message());
}

}  // namespace

void stepd_init_post_opt(spank_t spank, Arguments arguments) {
  if (!is_normal_step(spank)) return;
  if (Status good = prepare(spank, arguments, step()); !good) fail_open(good.error().message());
}

void stepd_user_init(spank_t spank) {
  Step& s = step();
  drop_left_over(spank);  // batch and interactive steps too: mpirun in them would run unbound
  if (on(s)) {
    Status good = check_files(s);
    if (good) {
      listen(s);
      good = set_environment(spank, s);
    }
    if (!good) fail_open(good.error().message());
  }
  tell_pending();
}

void stepd_task_exit(spank_t spank) {
  Step& s = step();
  if (!s.watch || ++s.exited != s.local_ranks) return;
  send_end(s);
  tell_last_lines(s, item<int>(spank, S_TASK_EXIT_STATUS).value_or(0));
}

// spank_fini unmaps nothing of us (-z nodelete), but the channel closes with the process: no event
// may come after this.
void stepd_exit(spank_t) {
  if (step().listening) listener_stop();
}

}  // namespace ondeloc
