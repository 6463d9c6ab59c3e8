// SPDX-License-Identifier: Apache-2.0
// ondeloc-mapper: one process per node and step, started by the plugin, as the user. Its command
// line is described in mapcore/mapper/command_line.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/mapper/bind_static.h"
#include "mapcore/mapper/recorder.h"
#include "mapcore/mapper/run.h"

namespace ondeloc {
namespace {

constexpr int kUserError = 1;
constexpr int kInternalError = 2;

class Arguments {
 public:
  // Keys with their last value; --relative and --version have none. Errors name the key.
  static Result<Arguments> parse(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
      const std::string key = argv[i];
      if (!key.starts_with("--")) return Error(fmt::format("'{}' is not an option", shorten(key)));
      const bool is_flag = key == "--relative" || key == "--version";
      if (!is_flag && i + 1 >= argc)
        return Error(fmt::format("option {} needs a value", shorten(key)));
      arguments.values_[key.substr(2)].push_back(is_flag ? "" : argv[++i]);
    }
    return arguments;
  }

  bool has(const char* key) const { return values_.contains(key); }
  std::string text(const char* key) const {
    return has(key) ? values_.at(key).back() : std::string();
  }
  int number(const char* key, int missing) const {
    const auto value = parse_unsigned(text(key), INT32_MAX);
    return value ? static_cast<int>(*value) : missing;
  }
  bool has_switch(std::string_view name) const {
    if (!has("test-switch")) return false;
    const auto& switches = values_.at("test-switch");
    return std::find(switches.begin(), switches.end(), name) != switches.end();
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int run_static(const Arguments& arguments) {
  StaticRequest request;
  request.file = arguments.text("bind");
  request.rank = WorldRank(arguments.number("rank", -1));
  request.ranks = arguments.number("ranks", 0);
  request.pid = arguments.number("pid", 0);
  request.node = arguments.text("node");
  request.node_index = arguments.number("node-index", 0);
  request.relative = arguments.has("relative");
  request.topology = arguments.text("topology");
  request.cpu_bind_type = environment("SLURM_CPU_BIND_TYPE");
  request.cpu_bind_list = environment("SLURM_CPU_BIND_LIST");
  if (request.rank.value < 0 || request.ranks <= 0 || request.pid <= 0) {
    fmt::print(stderr, "ondeloc-mapper: --bind needs --rank, --ranks and --pid\n");
    return kInternalError;
  }
  const StaticOutcome outcome = bind_static(request);
  if (outcome.fault == Fault::kNone) return 0;
  fmt::print(stderr, "{}\n", outcome.sentence);
  return outcome.fault == Fault::kUser ? kUserError : kInternalError;
}

// The step's signals are for the ranks: the mapper ends when they have ended. SIGXFSZ: a limit
// of file sizes is an error like a full disk then.
void ignore_job_signals() {
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGTSTP, SIGXFSZ}) {
    std::signal(signal, SIG_IGN);
  }
}

// An empty line, which says that the mapper ended by itself, and whole lines, at most what the
// reader's buffer takes. A reader that is gone is nobody to tell.
void say(int fd, const std::vector<std::string>& lines) {
  constexpr std::size_t kMost = 2048;
  std::string text = "\n";
  for (const std::string& line : lines) {
    if (text.size() + line.size() < kMost) text += line + "\n";
  }
  if (fd >= 0 && write(fd, text.data(), text.size()) < 0) return;
}

// Slurm hands on the user's limit; a pidfd per rank, and with profile some descriptors per thread,
// need more than the usual one on large nodes.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// Where a limit of memory or the machine's is reached, the kernel ends this before any rank, whose
// end would be that of the job.
void end_first_where_memory_is_out() {
  const UniqueFd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.valid() && write(file.get(), "1000", 4) < 0) return;
}

int run_online(const Arguments& arguments) {
  ignore_job_signals();
  raise_descriptor_limit();
  end_first_where_memory_is_out();
  prctl(PR_SET_NAME, "ondeloc-mapper");
  const int say_fd = arguments.number("say", -1);
  auto options = parse_options(arguments.text("options"));
  if (!options) {
    say(say_fd, {options.error().message()});
    return 0;
  }
  MapperConfig config;
  config.options = *std::move(options);
  config.segment_fd = arguments.number("segment", -1);
  config.channel_fd = arguments.number("channel", -1);
  if (config.channel_fd >= 0) fcntl(config.channel_fd, F_SETFL, O_NONBLOCK);
  config.node = arguments.text("node");
  config.topology = arguments.text("topology");
  config.min_interval_ms = static_cast<std::uint32_t>(arguments.number("min-interval", 100));
  config.no_events = arguments.text("no-events");
  config.read_rows = !arguments.has_switch("no-rows");
  say(say_fd, config.options.mode == Mode::kProfile ? run_recorder(config) : run_mapper(config));
  return 0;
}

int run(int argc, char** argv) {
  const auto arguments = Arguments::parse(argc, argv);
  if (!arguments) {
    fmt::print(stderr, "ondeloc-mapper: {}\n", arguments.error().message());
    return kInternalError;
  }
  if (arguments->has("bind")) return run_static(*arguments);
  if (arguments->has("segment")) return run_online(*arguments);
  if (arguments->has("version")) {
    fmt::print("ondeloc-mapper {}\n", ONDELOC_VERSION);
    return 0;
  }
  fmt::print(stderr, "ondeloc-mapper is started by the ondeloc plugin of Slurm; see ondeloc(7)\n");
  return kInternalError;
}

}  // namespace
}  // namespace ondeloc

int main(int argc, char** argv) {
  try {
    return ondeloc::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "ondeloc-mapper: %s\n", failure.what());
    return ondeloc::kInternalError;
  }
}
