// SPDX-License-Identifier: Apache-2.0
// The words in plugstack.conf. Slurm splits the line at blanks and has no quotes, so '+' stands for
// a blank in topology= ("numa:2+core:1+pu:1").
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mapcore/base/text.h"
#include "mapcore/options/allowed.h"
#include "mapcore/options/option_table.h"
#include "mapcore/options/powercap_switch.h"

namespace ondeloc {
namespace {

Status set_default(SiteOptions& site, std::string_view value) {
  const auto options = parse_options(value);
  if (!options) return options.error();
  if (options->mode != Mode::kOff && options->mode != Mode::kOnline)
    return Error(
        fmt::format("mode '{}' is not for all steps; use off or online", mode_name(options->mode)));
  site.default_options = value;
  return {};
}

Status set_log(SiteOptions& site, std::string_view value) {
  const auto log = parse_enum<SiteLog>(value);
  if (!log)
    return Error(fmt::format("'{}' is not known; use {}", shorten(value),
                             names_of(named_values(SiteLog{}))));
  site.log = *log;
  return {};
}

Status set_site_nic(SiteOptions& site, std::string_view value) {
  if (Status good = check_nic(value); !good) return good;
  if (value == "site") return Error("'site' is for users; use auto, off, rail or rail:node");
  site.nic = value;
  return {};
}

Status set_min_interval(SiteOptions& site, std::string_view value) {
  auto time = parse_interval(value);
  if (!time) return std::move(time).error();
  site.min_interval_ms = *time;
  return {};
}

Status set_min_uid(SiteOptions& site, std::string_view value) {
  const auto uid = parse_unsigned(value, UINT32_MAX);
  if (!uid) return Error(fmt::format("'{}' is not a user id; use a number", shorten(value)));
  site.min_uid = static_cast<std::uint32_t>(*uid);
  return {};
}

Status set_oom(SiteOptions& site, std::string_view value) {
  const auto policy = parse_enum<OomPolicy>(value);
  if (!policy)
    return Error(fmt::format("'{}' is not known; use {}", shorten(value), enum_names<OomPolicy>()));
  site.oom = *policy;
  return {};
}

Status set_path(std::string& out, std::string_view value) {
  if (value.front() != '/')
    return Error(fmt::format("'{}' is not an absolute path; begin it with /", shorten(value)));
  out = value;
  return {};
}

Status set_topology(SiteOptions& site, std::string_view value) {
  site.topology = value;
  std::replace(site.topology.begin(), site.topology.end(), '+', ' ');
  return {};
}

Status add_switch(SiteOptions& site, std::string_view value) {
  const bool is_tree = value.starts_with(kSwitchPowercap) &&
                       value.substr(kSwitchPowercap.size()).starts_with('/') &&
                       value.find(',') == value.npos;
  if (value != kSwitchNoRows && value != kSwitchNoEvents && !is_tree)
    return Error(fmt::format("'{}' is not known; use {}, {} or {}/DIR", shorten(value),
                             kSwitchNoRows, kSwitchNoEvents, kSwitchPowercap));
  site.test_switches.emplace_back(value);
  return {};
}

std::string get_switches(const SiteOptions& site) {
  return fmt::format("{}", fmt::join(site.test_switches, ","));
}

constexpr std::string_view kTestSwitch = "test-switch";  // the only word that may be repeated

// A default that is not allowed would turn ondeloc off for everybody, without a word.
Status check_default(const SiteOptions& site) {
  constexpr std::uint32_t kAnyStep = 0;  // ranks:N is about single steps
  const auto options = parse_options(site.default_options);
  Status good = options ? check_allowed(*options, kAnyStep, site.allow) : Status(options.error());
  return good ? Status() : std::move(good).error().within("default");
}

constexpr auto kRows = std::to_array<SiteRow>({
    {"default", "off|online[,key=value...]", "",
     "mode of a step whose user does not choose one, and its keys", set_default,
     [](const SiteOptions& s) { return s.default_options; }},
    {"allow", "LIST", "everything",
     "modes, algorithms and ranks:N that users may have, with commas between",
     [](SiteOptions& s, std::string_view v) { return set_allowed(s.allow, v); },
     [](const SiteOptions& s) { return allowed_text(s.allow); }},
    {"log", enum_names<SiteLog>(), "",
     "line: a line for each watched step in slurmd's log on its nodes; verbose: more lines",
     set_log, [](const SiteOptions& s) { return std::string(enum_name(s.log)); }},
    {"nic", "ADAPTER", "", "nic= of a step whose user does not give it", set_site_nic,
     [](const SiteOptions& s) { return s.nic; }},
    {"min-interval", "TIME", "", "no user gets a shorter interval", set_min_interval,
     [](const SiteOptions& s) { return interval_text(s.min_interval_ms); }},
    {"min-uid", "UID", "", "ondeloc is off for users with a lower user id; 1 excludes root",
     set_min_uid, [](const SiteOptions& s) { return fmt::format("{}", s.min_uid); }},
    {"oom", enum_names<OomPolicy>(), "",
     "first: the kernel kills the mapper before any rank if memory runs out; fair: the kernel "
     "chooses",
     set_oom, [](const SiteOptions& s) { return std::string(enum_name(s.oom)); }},
    {"machine", "FILE", "none",
     "numbers that 'ondeloc measure' found on the nodes; the mapper reads it as the user",
     [](SiteOptions& s, std::string_view v) { return set_path(s.machine, v); },
     [](const SiteOptions& s) { return s.machine; }},
    {"report-dir", "DIR", "none",
     "each online step whose user gives no report= writes its report there, as the user",
     [](SiteOptions& s, std::string_view v) { return set_path(s.report_dir, v); },
     [](const SiteOptions& s) { return s.report_dir; }},
    {"libexec", "DIR", "from the install prefix", "directory of ondeloc-mapper",
     [](SiteOptions& s, std::string_view v) { return set_path(s.libexec, v); },
     [](const SiteOptions& s) { return s.libexec; }},
    {"rank-lib", "FILE", "from the install prefix", "path of libondeloc_rank.so",
     [](SiteOptions& s, std::string_view v) { return set_path(s.rank_lib, v); },
     [](const SiteOptions& s) { return s.rank_lib; }},
    {"topology", "TEXT", "the machine",
     "for tests: hwloc XML file or synthetic string, '+' for blanks", set_topology,
     [](const SiteOptions& s) { return s.topology; }},
    {kTestSwitch, "no-rows|no-events|powercap:DIR", "none",
     "for tests: the mapper reads no rows, only events; nobody listens to events; or slurmstepd "
     "reads the energy in a test directory",
     add_switch, get_switches},
});

}  // namespace

std::span<const SiteRow> site_rows() { return kRows; }

std::string default_of(const SiteRow& row) {
  const std::string text = row.get(SiteOptions());
  return text.empty() ? std::string(row.without) : text;
}

Result<SiteOptions> parse_site_options(const std::vector<std::string_view>& arguments) {
  SiteOptions site;
  std::vector<const SiteRow*> given;
  for (const std::string_view argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const auto row = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const SiteRow& candidate) { return candidate.name == name; });
    if (row == kRows.end())
      return Error(fmt::format("'{}' is not known; use {}", shorten(name), names_of(site_rows())));
    if (equals == argument.npos || equals + 1 == argument.size())
      return Error(fmt::format("{0} needs a value: {0}={1}", name, row->value));
    if (std::find(given.begin(), given.end(), &*row) != given.end() && name != kTestSwitch)
      return Error(fmt::format("{} is given twice", name));
    given.push_back(&*row);
    if (Status good = row->set(site, argument.substr(equals + 1)); !good)
      return std::move(good).error().within(name);
  }
  if (Status good = check_default(site); !good) return std::move(good).error();
  return site;
}

}  // namespace ondeloc
