// SPDX-License-Identifier: Apache-2.0
// The value of `--ondeloc=MODE[:ARG][,key=value...]` as a plain struct. option_table.h has the one
// table of its keys, from which parsing, validation, `--ondeloc=help` and the report are made;
// tests compare the man pages with it. The same text is parsed in srun (to refuse it at once), in
// slurmstepd (where it is not trusted) and in the mapper. Thread safety: values and pure functions.
// No function opens a file or reads the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/options/option_enums.h"

namespace ondeloc {

enum class Mode { kOff, kOnline, kStatic, kProfile, kHelp };
// Cells of a rank's pool in the event channel (segment/channel_layout.h).
inline constexpr std::uint32_t kDefaultCells = 128, kMaxCells = 256;

// The initial values are the defaults: no other place repeats them.
struct Options {
  Mode mode = Mode::kOff;
  // static:FILE, profile:FILE; relative to the step's working directory; or static:lama:LAYOUT.
  std::string file;
  bool relative = false;  // static: numbers count inside the step's cpuset
  std::string algorithm = "coordinated";
  std::uint32_t interval_ms = 500;
  std::uint32_t max_interval_ms = 30000;
  double slope = 2;         // > 1
  double threshold = 0.02;  // share of the present cost, 0 to 1
  // Share of the run's time, 0 to 1. On a simulated machine of tests/lab, moves that promised less
  // made both programs that were moved slower (etc/doc/lab-log.md).
  double least_gain = 0.015;
  Decide decide = Decide::kAuto;
  Transport transport = Transport::kAuto;
  Memory memory = Memory::kAuto;
  ThreadBinding threads = ThreadBinding::kSlot;
  std::optional<Weight> weight;         // empty: auto, the cost model chooses
  std::string machine;                  // file of `ondeloc measure`; empty: the site's or none
  std::string nic = "site";             // as check_nic(); "site": the site's choice
  std::string repeat;                   // report whose moves are applied again; empty: none
  std::string report;                   // file name pattern with %j %s %N; empty: none
  std::uint32_t cells = kDefaultCells;  // profile: cells of 8 KiB in each rank's event channel
  OnError on_error = OnError::kFail;
  bool counters = false;  // counts cache misses by perf; ranks switch contexts more slowly
  bool verbose = false;
};

inline constexpr std::string_view kSwitchNoRows = "no-rows";      // the mapper reads no rows
inline constexpr std::string_view kSwitchNoEvents = "no-events";  // nobody listens to events

// allow= of a site. An empty list allows everything of its kind.
struct Allowed {
  std::vector<Mode> modes;              // off and help need no leave
  std::vector<std::string> algorithms;  // names without arguments
  std::uint32_t most_ranks = 0;         // of a step; 0: any number
};

// Settings of a site: the words in plugstack.conf after the path of the plugin.
struct SiteOptions {
  std::string default_options = "off";  // default=, as --ondeloc= takes it: off or online
  Allowed allow;
  SiteLog log = SiteLog::kNone;
  std::uint32_t min_interval_ms = 100;  // no user gets a shorter interval
  std::uint32_t min_uid = 0;            // ondeloc is off for users below it
  OomPolicy oom = OomPolicy::kFirst;
  std::string machine;      // file of `ondeloc measure`; empty: none
  std::string nic = "off";  // nic= of a step whose user does not give it
  std::string report_dir;   // directory of the reports that no user asked for; empty: none
  std::string libexec;      // directory of ondeloc-mapper; default: from the install prefix
  std::string rank_lib;     // path of libondeloc_rank.so; default: from the install prefix
  // For tests: an hwloc XML file or synthetic string instead of the host, '+' for a blank.
  std::string topology;
  // For tests: kSwitchNoRows, kSwitchNoEvents, kSwitchPowercap with a directory.
  std::vector<std::string> test_switches;
};

inline constexpr std::size_t kMaxOptionLength = 4096;

// True for the lama:LAYOUT of static:lama:LAYOUT. A file of such a name needs a path: ./lama:x.
bool is_layout(std::string_view file);
// Checks the algorithm and its argument too (algorithm_table.h). static implies decide=never: with
// report= it only watches. An error is one short sentence that shows the wrong piece, shortened.
Result<Options> parse_options(std::string_view text);
std::string_view mode_name(Mode mode);
// `arguments`: the words after the plugin's path in plugstack.conf, each key=value.
Result<SiteOptions> parse_site_options(const std::vector<std::string_view>& arguments);
// Error: the site does not allow the mode, the algorithm or as many ranks as the step has.
Status check_allowed(const Options& options, std::uint32_t ranks, const Allowed& allowed);
// 500ms, 2s, 1.5s, 1m -> milliseconds, 1 to 3 600 000. A number without a unit is an error.
Result<std::uint32_t> parse_interval(std::string_view text);
// The inverse of parse_interval(): "500ms", "2s".
std::string interval_text(std::uint32_t ms);
// The options in force at a site: no interval is below the site's minimum, and the longest is not
// below the first.
Options with_least_interval(Options options, std::uint32_t min_interval_ms);
// The sentence for a user whose interval is raised to the site's minimum; empty if it is not, and
// for the default, which the user did not ask for.
std::string raised_interval(const Options& options, std::uint32_t min_interval_ms);
// The text of --ondeloc=help: modes, keys with unit and default, algorithms, and the site's settings
// from the words of parse_site_options(); lines of at most 80 characters.
std::string options_help(const std::vector<std::string_view>& site_words);

}  // namespace ondeloc
