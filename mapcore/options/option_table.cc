// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/options/algorithm_table.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMaxPath = 1024;
constexpr std::string_view kAutoWeight = "auto";

// The field of Options behind a key, and how its text is read and written.
template <auto Field>
Status set_choice(Options& options, std::string_view value) {
  using Enum = std::remove_reference_t<decltype(options.*Field)>;
  if (const auto found = parse_enum<Enum>(value)) {
    options.*Field = *found;
    return {};
  }
  return Error(
      fmt::format("'{}' is not known; use {}", shorten(value), names_of(named_values(Enum{}))));
}

template <auto Field>
std::string get_choice(const Options& options) {
  return std::string(enum_name(options.*Field));
}

template <auto Field>
Status set_time(Options& options, std::string_view value) {
  auto time = parse_interval(value);
  if (!time) return std::move(time).error();
  options.*Field = *time;
  return {};
}

template <auto Field>
std::string get_time(const Options& options) {
  return interval_text(options.*Field);
}

template <auto Field>
Status set_flag(Options& options, std::string_view) {
  options.*Field = true;
  return {};
}

template <auto Field>
std::string get_flag(const Options& options) {
  return options.*Field ? "yes" : "no";
}

// Numbers and texts.
template <auto Field>
std::string get_value(const Options& options) {
  return fmt::format("{}", options.*Field);
}

Status set_number(double& out, std::string_view value, double low, double high) {
  const auto number = parse_double(value);
  if (!number || !(*number >= low && *number <= high))
    return Error(
        fmt::format("'{}' is out of range; use a number from {} to {}", shorten(value), low, high));
  out = *number;
  return {};
}

template <double Options::*Field>
Status set_share(Options& options, std::string_view value) {
  return set_number(options.*Field, value, 0, 1);
}

Status set_cells(Options& options, std::string_view value) {
  const auto number = parse_unsigned(value, kMaxCells);
  if (!number || *number == 0)
    return Error(
        fmt::format("'{}' is not a number of cells; use 1 to {}", shorten(value), kMaxCells));
  options.cells = static_cast<std::uint32_t>(*number);
  return {};
}

Status set_algorithm(Options& options, std::string_view value) {
  if (auto row = find_algorithm_row(value); !row) return std::move(row).error();
  options.algorithm = value;
  return {};
}

Status set_nic(Options& options, std::string_view value) {
  if (Status good = check_nic(value); !good) return good;
  options.nic = value;
  return {};
}

Status set_report(Options& options, std::string_view value) {
  if (Status good = check_file_pattern(value); !good) return good;
  if (value == "-" || value == "/dev/stdout" || value == "/dev/stderr")
    return Error(
        fmt::format("'{}' is not a file; name one, the process that writes the report has no "
                    "standard output",
                    value));
  options.report = value;
  return {};
}

Status set_repeat(Options& options, std::string_view value) {
  if (Status good = check_file_pattern(value); !good) return good;
  options.repeat = value;
  return {};
}

Status set_weight(Options& options, std::string_view value) {
  options.weight = parse_enum<Weight>(value);
  if (options.weight || value == kAutoWeight) return {};
  return Error(fmt::format("'{}' is not known; use {}, {}", shorten(value), kAutoWeight,
                           names_of(named_values(Weight{}))));
}

std::string get_weight(const Options& options) {
  return std::string(options.weight ? enum_name(*options.weight) : kAutoWeight);
}

Status set_machine(Options& options, std::string_view value) {
  if (value.size() > kMaxPath)
    return Error(fmt::format("the file name has more than {} characters", kMaxPath));
  options.machine = value;
  return {};
}

constexpr auto kModes = std::to_array<ModeRow>({
    {"off", "", Mode::kOff, "leave the step alone"},
    {"online", "", Mode::kOnline, "watch the ranks, map them and re-bind them while they run"},
    {"static", "FILE", Mode::kStatic,
     "bind the ranks once, as an Open MPI rankfile says, or lama:LAYOUT"},
    {"profile", "FILE", Mode::kProfile,
     "record who sends how much to whom and when; %j job, %s step, %N node"},
    {"help", "", Mode::kHelp, "print this and end"},
});

constexpr Modes kOnline{true, false, false}, kStatic{false, true, false},
    kProfile{false, false, true}, kReporting{true, true, false}, kAll{true, true, true};

constexpr auto kKeys = std::to_array<KeyRow>({
    {"algorithm", "NAME", kOnline, "mapping algorithm, see below", set_algorithm,
     get_value<&Options::algorithm>},
    {"interval", "TIME", kAll, "first and shortest time between two mappings",
     set_time<&Options::interval_ms>, get_time<&Options::interval_ms>},
    {"max-interval", "TIME", kAll, "the longest time between two mappings",
     set_time<&Options::max_interval_ms>, get_time<&Options::max_interval_ms>},
    {"slope", "NUMBER", kAll, "factor by which the interval grows and shrinks, 1.01 to 100",
     [](Options& o, std::string_view v) { return set_number(o.slope, v, 1.01, 100); },
     get_value<&Options::slope>},
    {"threshold", "NUMBER", kOnline,
     "predicted gain below which no rank moves, as a share of the cost, 0 to 1",
     set_share<&Options::threshold>, get_value<&Options::threshold>},
    {"least-gain", "NUMBER", kOnline,
     "predicted gain below which no rank moves, as a share of the run's time, 0 to 1",
     set_share<&Options::least_gain>, get_value<&Options::least_gain>},
    {"decide", enum_names<Decide>(), kOnline,
     "auto: if the gain pays for the moves; always: every mapping; many: if more ranks move than a "
     "node has; never: report only",
     set_choice<&Options::decide>, get_choice<&Options::decide>},
    {"transport", enum_names<Transport>(), kAll, "how ranks tell what they send",
     set_choice<&Options::transport>, get_choice<&Options::transport>},
    {"memory", enum_names<Memory>(), kOnline, "whether the pages of a moved rank move with it",
     set_choice<&Options::memory>, get_choice<&Options::memory>},
    {"threads", enum_names<ThreadBinding>(), kOnline,
     "slot: threads run on all CPUs of their rank; cores: each busy thread has a core of its own; "
     "sample: the same, next to threads that share its pages",
     set_choice<&Options::threads>, get_choice<&Options::threads>},
    {"weight", "auto|bytes|messages|time", kReporting,
     "weight of a pair of ranks: bytes, messages, or the time that both take", set_weight,
     get_weight},
    {"machine", "FILE", kReporting,
     "numbers that 'ondeloc measure' found on a machine of this kind, instead of the site's",
     set_machine, get_value<&Options::machine>},
    {"nic", "ADAPTER", kAll,
     "network adapter of each rank: site, auto, off, rail, rail:node, or names joined by '+'",
     set_nic, get_value<&Options::nic>},
    {"repeat", "FILE", kOnline,
     "move the ranks as the report of an earlier run says, and map nothing; %j, %s, %N", set_repeat,
     get_value<&Options::repeat>},
    {"report", "FILE", kReporting, "write a JSON report per node; %j job, %s step, %N node",
     set_report, get_value<&Options::report>},
    {"counters", "", kReporting,
     "count cache misses and memory traffic by perf, if the kernel allows that",
     set_flag<&Options::counters>, get_flag<&Options::counters>},
    {"cells", "N", kProfile, "cells of 8 KiB that a rank may fill before they are read, 1 to 256",
     set_cells, get_value<&Options::cells>},
    {"on-error", enum_names<OnError>(), kAll,
     "fail: a user error found on the node ends the step; warn: the step runs on",
     set_choice<&Options::on_error>, get_choice<&Options::on_error>},
    {"relative", "", kStatic, "count inside the CPUs of the step, not of the machine",
     set_flag<&Options::relative>, get_flag<&Options::relative>},
    {"verbose", "", kAll, "print a summary at the end of the step", set_flag<&Options::verbose>,
     get_flag<&Options::verbose>},
});

Status check_adapters(std::vector<std::string_view> names) {
  constexpr std::string_view kWords[] = {"site", "auto", "off", "rail"};
  if (names.size() > 1)
    for (const std::string_view word : kWords)
      if (std::find(names.begin(), names.end(), word) != names.end())
        return Error(fmt::format("'{}' stands alone; join names of adapters only", word));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return Error(fmt::format("'{}' is named twice; name each adapter once", shorten(*twice)));
}

}  // namespace

// The mapper replaces these patterns. Any other % is a typing error, which is told before the job
// starts.
Status check_file_pattern(std::string_view value) {
  if (value.size() > kMaxPath)
    return Error(fmt::format("the file name has more than {} characters", kMaxPath));
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 2)) {
    const char next = at + 1 < value.size() ? value[at + 1] : ' ';
    if (std::string_view("jsN%").find(next) == std::string_view::npos)
      return Error(fmt::format("'{}' is not a pattern; use %j (job), %s (step), %N (node) or %%",
                               shorten(value.substr(at, 2))));
  }
  const std::string_view last = value.substr(value.rfind('/') + 1);  // 0 without a slash
  if (last.empty() || last == "." || last == "..")
    return Error(fmt::format("'{}' is a directory; name a file in it", shorten_path(value)));
  return {};
}

Status check_nic(std::string_view value) {
  constexpr std::size_t kLongest = 256;
  const auto is_part_of_name = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-.+").find(c) != std::string_view::npos;
  };
  const bool is_list = value.size() <= kLongest &&
                       std::all_of(value.begin(), value.end(), is_part_of_name) &&
                       !value.starts_with('+') && !value.ends_with('+') &&
                       value.find("++") == value.npos && !value.empty();
  if (value == "rail:node") return {};
  if (is_list) return check_adapters(split(value, '+'));
  return Error(fmt::format(
      "'{}' is not known; use auto, off, rail, rail:node or names of adapters joined by '+'",
      shorten(value)));
}

std::span<const ModeRow> mode_rows() { return kModes; }
std::span<const KeyRow> key_rows() { return kKeys; }

bool Modes::has(Mode mode) const {
  switch (mode) {
    case Mode::kOnline:
      return online;
    case Mode::kStatic:
      return fixed;
    case Mode::kProfile:
      return profile;
    default:
      return true;
  }
}

std::string modes_text(const Modes& modes) {
  std::string text;
  for (const ModeRow& row : mode_rows()) {
    if (row.mode == Mode::kOff || row.mode == Mode::kHelp || !modes.has(row.mode)) continue;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " and ", row.name,
                        row.argument.empty() ? "" : ":", row.argument);
  }
  return text;
}

std::string default_of(const KeyRow& row) { return row.is_flag() ? "" : row.get(Options()); }

const KeyRow& key_row(std::string_view name) {
  return *std::find_if(std::begin(kKeys), std::end(kKeys),
                       [&](const KeyRow& row) { return row.name == name; });
}

}  // namespace ondeloc
