// SPDX-License-Identifier: Apache-2.0
// ondeloc site: the account of all reports that a site has collected, and their rotation.
#include <fmt/format.h>
#include <pwd.h>

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/container_help.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/new_file.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/site/account_text.h"
#include "mapcore/site/read_directory.h"
#include "mapcore/site/rotation.h"
#include "mapcore/site/when.h"

namespace ondeloc::cli {
namespace {

struct SiteCommand {
  std::string directory;
  std::string since;  // empty: all
  std::string format = "text";
  std::string output;
  std::string cluster;
  std::size_t top = 20;
  std::string older;       // empty: no file goes for its age
  double most_bytes = -1;  // < 0: no file goes for its size
  bool containers = false;
  std::optional<std::uint32_t> verdicts_of;  // a job
  std::uint32_t user = 0;                    // of this job
};

// Looks each user up once: a directory service may be slow.
class UserNames {
 public:
  std::string operator()(uid_t user) {
    auto [at, is_new] = names_.try_emplace(user);
    if (is_new) at->second = look_up(user);
    return at->second;
  }

 private:
  static std::string look_up(uid_t user) {
    const passwd* entry = ::getpwuid(user);
    if (entry == nullptr || *entry->pw_name == '\0') return fmt::format("{}", user);
    return printable(entry->pw_name);
  }
  std::map<uid_t, std::string> names_;
};

Result<Rotation> rotation_of(const SiteCommand& options) {
  Rotation rule;
  if (!options.older.empty()) {
    const auto age = parse_age(options.older);
    if (!age) return Error(age.error()).within("--remove-older");
    rule.oldest = std::time(nullptr) - *age;
  }
  if (options.most_bytes >= 0) rule.most_bytes = static_cast<std::uint64_t>(options.most_bytes);
  return rule;
}

Status rotate(const SiteCommand& options) {
  const auto rule = rotation_of(options);
  if (!rule) return rule.error();
  if (!rule->oldest && !rule->most_bytes) return {};
  const auto done = rotate_reports(options.directory, *rule);
  if (!done) return done.error();
  if (done->removed > 0)
    say(fmt::format("{} of {} removed", counted(done->removed, "report"),
                    bytes_text(static_cast<double>(done->bytes))));
  if (done->failed > 0)
    return Error(fmt::format("{}; {} left; run this as the owner of the directory", done->why,
                             counted(done->failed, "old report")));
  return {};
}

// With text the reasons are part of the account.
void tell_skipped(const SiteFiles& files, std::string_view format) {
  if (files.skipped == 0 || format == "text") return;
  say(fmt::format("{} skipped: {}", counted(files.skipped, "file"),
                  files.faults.empty() ? "" : files.faults.front()));
}

std::string text_of(const SiteView& view, std::string_view format) {
  if (format == "json") return site_json(view);
  if (format == "influx") return site_influx(view);
  return format == "text" ? site_text(view) : site_prometheus(view);
}

Result<std::string> site_account(const SiteCommand& options) {
  std::time_t since = 0;
  if (!options.since.empty()) {
    const auto parsed = parse_since(options.since, std::time(nullptr));
    if (!parsed) return Error(parsed.error()).within("--since");
    since = *parsed;
  }
  if (Status rotated = rotate(options); !rotated) return std::move(rotated).error();
  const auto files = read_site_directory(options.directory, since);
  if (!files) return files.error();
  tell_skipped(*files, options.format);
  const SiteAccount account = account_of(steps_of(files->reports));
  return text_of({*files, account, UserNames(), options.cluster, options.top}, options.format);
}

// A line for each.
Result<std::string> verdicts_text(const std::string& directory, const JobOfUser& job) {
  const auto found = verdicts_of_job(directory, job);
  if (!found) return found.error();
  if (found->left_out > 0)
    say(
        fmt::format("{} of job {} left out: the verdicts are those of the first {} reports; "
                    "'ondeloc report' tells the verdict of each",
                    counted(found->left_out, "file"), job.job, kMostReportsOfJob));
  std::string text;
  for (const std::string& verdict : found->verdicts) text += verdict + "\n";
  return text;
}

Result<std::string> made_by(const SiteCommand& options) {
  if (options.containers) return container_help(container_paths());
  if (options.verdicts_of)
    return verdicts_text(options.directory, {*options.verdicts_of, options.user});
  return site_account(options);
}

Result<std::string> run_site(const SiteCommand& options) {
  if (!options.containers && options.directory.empty())
    return Error("DIR: missing; name the directory of the reports");
  const auto made = made_by(options);
  if (!made || options.output.empty()) return made;
  const std::string& text = *made;
  if (Status written = write_new_file(options.output, text); !written)
    return std::move(written).error();
  return std::string();
}

void add_job_options(CLI::App& command, SiteCommand& options) {
  CLI::Option* verdicts = command.add_option(
      "--verdicts", options.verdicts_of,
      "instead: print the verdicts of this job, from files of the user that --user names");
  CLI::Option* user =
      command.add_option("--user", options.user, "number of the user whose job --verdicts names");
  verdicts->type_name("JOB")->needs(user);
  user->type_name("UID")->needs(verdicts);
}

// A timer whose --remove-older was ignored would let the directory grow.
void refuse_options_of_account(CLI::App& command) {
  CLI::Option *verdicts = command.get_option("--verdicts"),
              *containers = command.get_option("--containers");
  verdicts->excludes(containers);
  for (const char* name :
       {"--since", "--format", "--cluster", "--top", "--remove-older", "--remove-above"}) {
    verdicts->excludes(command.get_option(name));
    containers->excludes(command.get_option(name));
  }
}

void add_removal_options(CLI::App& command, SiteCommand& options) {
  command
      .add_option("--remove-older", options.older,
                  "first remove reports that are older than this age, such as 90d")
      ->check(not_empty())
      ->type_name("AGE");
  add_quantity(command, "--remove-above", options.most_bytes, Quantity::kBytes, 0, 1e18,
               "first remove files too large for a report, then the oldest reports, until all take "
               "this size at most, such as 10GB");
}

}  // namespace

void add_site(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("site", "account of all jobs: who gained, what it cost, what failed");
  auto options = std::make_shared<SiteCommand>();
  command->add_option("DIR", options->directory,
                      "directory of reports, such as that of report-dir= in plugstack.conf");
  command->add_flag("--containers", options->containers,
                    "instead: print the mounts that a container needs, for the administrator");
  command
      ->add_option("--since", options->since,
                   "only reports written since then: an age (30d, 36h) or a date (2026-11-25)")
      ->check(not_empty())
      ->type_name("WHEN");
  command
      ->add_option("-f,--format", options->format,
                   "text, json, prometheus (file for node_exporter) or influx (lines as "
                   "ClusterCockpit reads them) (default: text)")
      ->check(CLI::IsMember({"text", "json", "prometheus", "prom", "influx"}));
  command
      ->add_option("-o,--output", options->output,
                   "write to this file (default: -, standard output)")
      ->check(not_empty());
  command->add_option("--cluster", options->cluster, "tag cluster of each line of influx")
      ->check(not_empty());
  command->add_option("--top", options->top, "rows of each table (default: 20)")
      ->check(CLI::Range(1, 1 << 20));
  add_removal_options(*command, *options);
  add_job_options(*command, *options);
  refuse_options_of_account(*command);
  command->footer(examples(
      {"ondeloc site reports --since 7d", "ondeloc site reports -f prometheus -o ondeloc.prom",
       "ondeloc site reports --remove-older 90d", "ondeloc site reports --verdicts 12 --user 1000",
       "ondeloc site --containers"}));
  command->callback([options, &job] { job = [options] { return run_site(*options); }; });
}

}  // namespace ondeloc::cli
