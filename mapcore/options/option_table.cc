// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/option_table.h"

#include <fmt/format.h>

#include <array>

#include "mapcore/base/text.h"
#include "mapcore/options/algorithm_table.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMaxPath = 1024;

template <class Enum>
struct Choice {
  std::string_view name;
  Enum value;
};

// The enumerator behind one of the names, or a sentence that lists them.
template <class Enum, std::size_t N>
Status choose(Enum& out, std::string_view value, const Choice<Enum> (&choices)[N]) {
  std::string names;
  for (std::size_t i = 0; i < N; ++i) {
    if (choices[i].name == value) {
      out = choices[i].value;
      return {};
    }
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == N ? " or " : ", ", choices[i].name);
  }
  return Error(fmt::format("'{}' is not known: use {}", shorten(value), names));
}

Status set_time(std::uint32_t& out, std::string_view value) {
  auto time = parse_interval(value);
  if (!time) return std::move(time).error();
  out = *time;
  return {};
}

Status set_number(double& out, std::string_view value, double low, double high) {
  const auto number = parse_double(value);
  if (!number || !(*number >= low && *number <= high))
    return Error(
        fmt::format("'{}' is out of range: use a number from {} to {}", shorten(value), low, high));
  out = *number;
  return {};
}

Status set_cells(Options& options, std::string_view value) {
  const auto number = parse_unsigned(value, kMaxCells);
  if (!number || *number == 0)
    return Error(fmt::format("'{}' is no number of cells: use 1 to {}", shorten(value), kMaxCells));
  options.cells = static_cast<std::uint32_t>(*number);
  return {};
}

Status set_algorithm(Options& options, std::string_view value) {
  if (auto row = find_algorithm_row(value); !row) return std::move(row).error();
  options.algorithm = value;
  return {};
}

Status set_report(Options& options, std::string_view value) {
  if (Status good = check_file_pattern(value); !good) return good;
  if (value == "-" || value == "/dev/stdout" || value == "/dev/stderr")
    return Error(
        fmt::format("'{}' is no file: who writes the report has no output of its own", value));
  options.report = value;
  return {};
}

constexpr auto kModes = std::to_array<ModeRow>({
    {"off", "", Mode::kOff, "leave the step alone"},
    {"online", "", Mode::kOnline, "watch the ranks, map and re-bind them while they run"},
    {"static", "FILE", Mode::kStatic, "bind the ranks once, as an Open MPI rankfile says"},
    {"profile", "FILE", Mode::kProfile,
     "record who sends how much to whom and when; %j job, %s step, %N node"},
    {"help", "", Mode::kHelp, "print this and end"},
});

constexpr auto kKeys = std::to_array<KeyRow>({
    {"algorithm", "NAME", "coordinated", "mapping algorithm, see below", set_algorithm},
    {"interval", "TIME", "500ms", "time between two mappings at the start, and the shortest one",
     [](Options& o, std::string_view v) { return set_time(o.interval_ms, v); }},
    {"max-interval", "TIME", "30s", "the longest time between two mappings",
     [](Options& o, std::string_view v) { return set_time(o.max_interval_ms, v); }},
    {"slope", "NUMBER", "2", "factor by which the interval grows and shrinks, 1.01 to 100",
     [](Options& o, std::string_view v) { return set_number(o.slope, v, 1.01, 100); }},
    {"threshold", "NUMBER", "0.02", "predicted gain below which nobody moves, share of the cost",
     [](Options& o, std::string_view v) { return set_number(o.threshold, v, 0, 1); }},
    {"decide", "auto|always|never", "auto",
     "always: apply every mapping; never: watch and report only",
     [](Options& o, std::string_view v) {
       return choose(
           o.decide, v,
           {{"auto", Decide::kAuto}, {"always", Decide::kAlways}, {"never", Decide::kNever}});
     }},
    {"transport", "auto|shm|pmix", "auto", "how ranks tell what they send",
     [](Options& o, std::string_view v) {
       return choose(
           o.transport, v,
           {{"auto", Transport::kAuto}, {"shm", Transport::kShm}, {"pmix", Transport::kPmix}});
     }},
    {"memory", "auto|follow|stay", "auto", "whether the pages of a moved rank move with it",
     [](Options& o, std::string_view v) {
       return choose(
           o.memory, v,
           {{"auto", Memory::kAuto}, {"follow", Memory::kFollow}, {"stay", Memory::kStay}});
     }},
    {"report", "FILE", "", "write a JSON report per node; %j job, %s step, %N node", set_report},
    {"cells", "N", "128", "with profile: cells of 8 KiB that a rank fills ahead, 1 to 256",
     set_cells},
    {"on-error", "fail|warn", "fail",
     "what an error of yours that shows on the node does to the step",
     [](Options& o, std::string_view v) {
       return choose(o.on_error, v, {{"fail", OnError::kFail}, {"warn", OnError::kWarn}});
     }},
    {"relative", "", "", "with static: count inside the CPUs of the step, not of the machine",
     [](Options& o, std::string_view) {
       o.relative = true;
       return Status();
     }},
    {"verbose", "", "", "print a summary at the end of the step",
     [](Options& o, std::string_view) {
       o.verbose = true;
       return Status();
     }},
});

}  // namespace

// The patterns that the mapper replaces; any other % is a typing error better told now.
Status check_file_pattern(std::string_view value) {
  if (value.size() > kMaxPath)
    return Error(fmt::format("the file name has more than {} characters", kMaxPath));
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 2)) {
    const char next = at + 1 < value.size() ? value[at + 1] : ' ';
    if (std::string_view("jsN%").find(next) == std::string_view::npos)
      return Error(fmt::format("'{}' is no pattern: use %j (job), %s (step), %N (node) or %%",
                               shorten(value.substr(at, 2))));
  }
  return {};
}

std::span<const ModeRow> mode_rows() { return kModes; }
std::span<const KeyRow> key_rows() { return kKeys; }

}  // namespace ondeloc
