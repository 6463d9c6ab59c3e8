// SPDX-License-Identifier: Apache-2.0
// plugstack.conf: Slurm splits the line at blanks and knows no quotes, so '+' stands for a blank in
// topology= ("numa:2+core:1+pu:1").
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mapcore/base/text.h"
#include "mapcore/options/option_table.h"

namespace ondeloc {
namespace {

Status set_default(SiteOptions& site, std::string_view value) {
  if (value != "off" && value != "online")
    return Error(fmt::format("'{}' is not known: use off or online", shorten(value)));
  site.default_mode = value == "online" ? Mode::kOnline : Mode::kOff;
  return {};
}

Status set_min_interval(SiteOptions& site, std::string_view value) {
  auto time = parse_interval(value);
  if (!time) return std::move(time).error();
  site.min_interval_ms = *time;
  return {};
}

Status set_path(std::string& out, std::string_view value) {
  if (value.front() != '/') return Error(fmt::format("'{}' is no absolute path", shorten(value)));
  out = value;
  return {};
}

Status set_topology(SiteOptions& site, std::string_view value) {
  site.topology = value;
  std::replace(site.topology.begin(), site.topology.end(), '+', ' ');
  return {};
}

Status add_switch(SiteOptions& site, std::string_view value) {
  if (value != "no-rows" && value != "no-events")
    return Error(fmt::format("'{}' is not known: use no-rows or no-events", shorten(value)));
  site.test_switches.emplace_back(value);
  return {};
}

constexpr auto kRows = std::to_array<SiteRow>({
    {"default", "off|online", "off", "mode of a step whose user says nothing", set_default},
    {"min-interval", "TIME", "100ms", "no user gets a shorter interval", set_min_interval},
    {"libexec", "DIR", "from the install prefix", "where ondeloc-mapper is",
     [](SiteOptions& s, std::string_view v) { return set_path(s.libexec, v); }},
    {"rank-lib", "FILE", "from the install prefix", "libondeloc_rank.so",
     [](SiteOptions& s, std::string_view v) { return set_path(s.rank_lib, v); }},
    {"topology", "TEXT", "the machine",
     "for tests: hwloc XML file or synthetic string, '+' for blanks", set_topology},
    {"test-switch", "no-rows|no-events", "none",
     "for tests: the mapper reads no rows, only events; or nobody listens to events", add_switch},
});

}  // namespace

std::span<const SiteRow> site_rows() { return kRows; }

Result<SiteOptions> parse_site_options(const std::vector<std::string_view>& arguments) {
  SiteOptions site;
  for (const std::string_view argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const auto row = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const SiteRow& candidate) { return candidate.name == name; });
    if (row == kRows.end())
      return Error(fmt::format("'{}' is not known: use {}", shorten(name), names_of(site_rows())));
    if (equals == argument.npos || equals + 1 == argument.size())
      return Error(fmt::format("{0} needs a value: {0}={1}", name, row->value));
    if (Status good = row->set(site, argument.substr(equals + 1)); !good)
      return std::move(good).error().within(name);
  }
  return site;
}

}  // namespace ondeloc
