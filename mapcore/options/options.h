// SPDX-License-Identifier: Apache-2.0
// The value of `--ondeloc=MODE[:ARG][,key=value...]` as a plain struct, and the one table of its
// keys from which parsing, validation, `--ondeloc=help`, the man page and the README check are
// made. The same text is parsed in srun (to refuse it at once), in slurmstepd (untrusted there) and
// in the mapper. Thread safety: values and pure functions. No file is opened, no environment read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

enum class Mode { kOff, kOnline, kStatic, kProfile, kHelp };
enum class Decide { kAuto, kAlways, kNever };  // always: skip the decision rule; never: watch only
enum class Transport { kAuto, kShm, kPmix };
enum class Memory { kAuto, kFollow, kStay };
enum class OnError { kFail, kWarn };  // what a user's error found on the node does to the step

// Of a rank's pool in the event channel (segment/channel_layout.h).
inline constexpr std::uint32_t kDefaultCells = 128, kMaxCells = 256;

struct Options {
  Mode mode = Mode::kOff;
  std::string file;       // static:FILE, profile:FILE; relative to the step's working directory
  bool relative = false;  // static: numbers count inside the step's cpuset
  std::string algorithm = "coordinated";
  std::uint32_t interval_ms = 500;
  std::uint32_t max_interval_ms = 30000;
  double slope = 2;         // > 1
  double threshold = 0.02;  // share of the present cost, 0 to 1
  Decide decide = Decide::kAuto;
  Transport transport = Transport::kAuto;
  Memory memory = Memory::kAuto;
  std::string report;                   // file name pattern with %j %s %N; empty: none
  std::uint32_t cells = kDefaultCells;  // profile: of 8 KiB, in the event channel of every rank
  OnError on_error = OnError::kFail;
  bool verbose = false;
};

// What a site sets in plugstack.conf after the path of the plugin.
struct SiteOptions {
  Mode default_mode = Mode::kOff;  // default=off|online
  std::uint32_t min_interval_ms = 100;
  std::string libexec;   // directory of ondeloc-mapper; default: from the install prefix
  std::string rank_lib;  // path of libondeloc_rank.so; default: from the install prefix
  std::string
      topology;  // for tests: hwloc XML file or synthetic string instead of the host; blanks as '+'
  // For tests: "no-rows", the mapper reads no rows; "no-events", nobody listens. Others are errors.
  std::vector<std::string> test_switches;
};

inline constexpr std::size_t kMaxOptionLength = 4096;

// One short sentence on error, the offending piece shortened, never the whole value. The algorithm
// and its argument are checked too (algorithm_table.h). static implies decide=never: with report=
// it only watches.
Result<Options> parse_options(std::string_view text);
std::string_view mode_name(Mode mode);
// `arguments`: the words after the plugin's path in plugstack.conf, each key=value.
Result<SiteOptions> parse_site_options(const std::vector<std::string_view>& arguments);
// 500, 500ms, 2s, 1.5s, 1m -> milliseconds, 1 to 3 600 000.
Result<std::uint32_t> parse_interval(std::string_view text);
// What --ondeloc=help prints: modes, keys with unit and default, algorithms; lines of at most 100
// characters.
std::string options_help();

}  // namespace ondeloc
