// SPDX-License-Identifier: Apache-2.0
// ondeloc top: the running steps of the user on this node, live in a terminal or once for a script.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/terminal.h"
#include "mapcore/apps/top_text.h"
#include "mapcore/base/text.h"

namespace ondeloc::cli {
namespace {

struct TopCommand {
  std::string step;
  std::string format = "text";
  bool once = false, list = false;
  double delay = 2;  // seconds
};

constexpr auto kLoadTime = std::chrono::milliseconds(250);  // long enough to tell a load

Error no_such_step(const WantedStep& wanted, const std::string& text, const LiveSteps& live) {
  return Error(fmt::format(
      "top: {} {}{} runs here{}{}; 'ondeloc top --list' names the steps that do",
      wanted.step ? "no step" : "no step of job", shorten(text), wanted.step ? " of yours" : "",
      live.starting > 0 ? ", or its first interval is not over" : "",
      live.unread.empty() ? "" : ", or its report is of another version"));
}

Result<std::string> top_once(const WantedStep& wanted, const TopCommand& options) {
  Load load{cpu_times(), {}};
  std::this_thread::sleep_for(kLoadTime);
  load.after = cpu_times();
  const LiveSteps live = live_steps(wanted);
  const bool is_missing = wanted.job && live.steps.empty();
  // The text has these sentences.
  if (is_missing || options.format == "json")
    for (const std::string& sentence : live.unread) say(sentence);
  if (is_missing) return no_such_step(wanted, options.step, live);
  if (options.format == "json") return top_json(live, load);
  return fmt::format("{}\n", fmt::join(top_lines(live, load), "\n"));
}

// For the completion of shells.
std::string step_list(const LiveSteps& live) {
  std::string text;
  for (const ReportRun& run : live.steps) text += fmt::format("{}.{}\n", run.job, run.step);
  return text;
}

Result<std::string> top_live(const WantedStep& wanted, const TopCommand& options) {
  auto screen = Terminal::open();
  if (!screen) return std::move(screen).error();
  Load load{cpu_times(), {}};
  std::this_thread::sleep_for(kLoadTime);
  while (true) {
    load.after = cpu_times();
    screen->show(top_lines(live_steps(wanted), load),
                 "q: end   arrows, page up, page down: scroll");
    load.before = std::move(load.after);
    if (screen->wait_for_end(options.delay)) return std::string();
  }
}

Result<std::string> run_top(const TopCommand& options) {
  const auto wanted = parse_step(options.step);
  if (!wanted) return wanted.error();
  if (options.list) return step_list(live_steps(*wanted));
  if (options.once) return top_once(*wanted, options);
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return Error("top: standard input and output are not a terminal; use --once, or srun --pty");
  return top_live(*wanted, options);
}

}  // namespace

void add_top(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("top", "watch your running steps on this node");
  auto options = std::make_shared<TopCommand>();
  command->add_option("STEP", options->step, "only this job, or this step: JOBID or JOBID.STEP");
  CLI::Option* once = command->add_flag("--once", options->once, "print once and end");
  command->add_flag("--list", options->list, "print JOBID.STEP of each step and end")
      ->excludes(once);
  command->add_option("-f,--format", options->format, "with --once: text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->needs(once);
  add_quantity(*command, "-d,--delay", options->delay, Quantity::kSeconds, 0.1, 3600,
               "time between two views (default: 2s)");
  command->footer(examples({"ondeloc top", "ondeloc top 1234.0 --once -f json",
                            "srun --overlap --jobid=1234 --pty ondeloc top"}));
  command->callback([options, &job] { job = [options] { return run_top(*options); }; });
}

}  // namespace ondeloc::cli
