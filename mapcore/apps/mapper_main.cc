// SPDX-License-Identifier: Apache-2.0
// ondeloc-mapper: the plugin starts one process per node and step, as the user, and one per task
// for static:FILE. mapcore/options/mapper_arguments.h describes both calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "mapcore/apps/mapper_setup.h"
#include "mapcore/apps/mapper_threads.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/mapper/bind_static.h"
#include "mapcore/mapper/cpu_seconds.h"
#include "mapcore/mapper/run.h"
#include "mapcore/options/mapper_arguments.h"
#include "mapcore/options/mapper_messages.h"
#include "mapcore/recorder/recorder.h"

namespace ondeloc {
namespace {

int status_of(MapperExit exit) { return static_cast<int>(exit); }

int fail(const std::string& sentence) {
  fmt::print(stderr, "ondeloc-mapper: {}\n", sentence);
  return status_of(MapperExit::kInternalError);
}

int run_bind(const ProgramWords& words) {
  const auto call = BindArguments::parse(words);
  if (!call) return fail(call.error().message());
  forbid_unneeded_calls();
  StaticOutcome outcome = bind_static(*call);
  if (!outcome.threads.empty()) {
    const Status followed = start_thread_follower(
        call->pid, ThreadPlaces(std::move(outcome.threads), std::move(outcome.cpus)),
        call->kill_switch_fd);
    if (!followed) return fail("threads: " + followed.error().message());
  }
  if (!outcome.sentence.empty()) fmt::print(stderr, "{}\n", outcome.sentence);
  if (outcome.fault == Fault::kNone) return status_of(MapperExit::kDone);
  return status_of(outcome.fault == Fault::kUser ? MapperExit::kUserError
                                                 : MapperExit::kInternalError);
}

// One write(2), so that the reader finds all of it or nothing. If the reader is gone, there is
// nobody to tell.
void send_messages(int fd, const std::vector<std::string>& lines) {
  const std::string text = encode_messages(lines);
  if (fd >= 0 && write(fd, text.data(), text.size()) < 0) return;
}

// Libraries may print, and nobody reads the pipe of the messages while the step runs.
void silence_standard_error() {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.valid()) dup2(null.get(), STDERR_FILENO);
}

MapperConfig config_of(const MapperArguments& call, Options options) {
  MapperConfig config;
  config.raised_interval = raised_interval(options, call.min_interval_ms);
  config.options = with_least_interval(std::move(options), call.min_interval_ms);
  config.segment_fd = call.segment_fd;
  config.channel_fd = call.channel_fd;
  config.node = call.node;
  config.topology = call.topology;
  config.machine_file = config.options.machine.empty() ? call.machine : config.options.machine;
  config.report_dir = call.report_dir;
  config.partition = call.partition;
  config.restarts = static_cast<std::uint32_t>(std::max(call.restarts, 0));
  config.rank_library = call.rank_library;
  config.log = call.log;
  // To start the program has taken no less than its CPU time.
  config.born -= std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * cpu_seconds()));
  config.no_events = call.no_events;
  config.read_rows = std::find(call.test_switches.begin(), call.test_switches.end(),
                               kSwitchNoRows) == call.test_switches.end();
  return config;
}

std::vector<std::string> watch_step(const MapperArguments& call) {
  auto options = parse_options(call.options);
  if (!options) return {options.error().message()};
  const MapperConfig config = config_of(call, *std::move(options));
  const bool records = config.options.mode == Mode::kProfile;
  // By the name `ondeloc top` finds the mappers, which publish the state of their step.
  prctl(PR_SET_NAME, records ? "ondeloc-record" : "ondeloc-mapper");
  return records ? run_recorder(config) : run_mapper(config);
}

int run_check(const MapperArguments& call) {
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f` is an error like a full disk
  forbid_unneeded_calls();
  auto options = parse_options(call.options);
  if (!options) return fail(options.error().message());
  const Status good = check_recording(config_of(call, *std::move(options)));
  if (good) return status_of(MapperExit::kDone);
  fmt::print(stderr, "{}\n", good.error().message());
  return status_of(MapperExit::kUserError);
}

int run_watch(const ProgramWords& words) {
  const auto call = MapperArguments::parse(words);
  if (!call) return fail(call.error().message());
  if (call->check_only) return run_check(*call);
  silence_standard_error();
  keep_freed_memory();
  ignore_job_signals();
  raise_descriptor_limit();
  if (call->oom == OomPolicy::kFirst) become_first_oom_victim();
  if (call->kill_switch_fd >= 0) end_with_step(call->kill_switch_fd);
  forbid_unneeded_calls();
  if (call->channel_fd >= 0) fcntl(call->channel_fd, F_SETFL, O_NONBLOCK);
  send_messages(call->messages_fd, watch_step(*call));
  return status_of(MapperExit::kDone);
}

int run(int argc, char** argv) {
  const ProgramWords words = program_words(argc, argv, environ);
  const std::string form = words.arguments.empty() ? "" : words.arguments.front();
  if (form == BindArguments::kForm) return run_bind(words);
  if (form == MapperArguments::kForm) return run_watch(words);
  if (form == "--version") {
    fmt::print("ondeloc-mapper {}\n", ONDELOC_VERSION);
    return status_of(MapperExit::kDone);
  }
  return fail("the ondeloc plugin of Slurm starts this program; see ondeloc(7)");
}

}  // namespace
}  // namespace ondeloc

int main(int argc, char** argv) {
  try {
    return ondeloc::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "ondeloc-mapper: %s\n", failure.what());
    return static_cast<int>(ondeloc::MapperExit::kInternalError);
  }
}
