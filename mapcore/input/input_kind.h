// SPDX-License-Identifier: Apache-2.0
// The kinds of files, told by content and not by name. Every command takes every kind of file that
// holds the data that it needs, and names the kind of any other. Thread safety: constants and pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "mapcore/base/result.h"

namespace ondeloc {

enum class InputKind {
  kProfile,
  kReport,
  kJobReport,
  kMapping,
  kRankfile,
  kMatrix,
  kPairs,
  kSeries,
  kEvents,
  kOtherJson,
  kCutJson,
  kTopology,
  kEmpty,
  kUnknown
};

struct InputKindInfo {
  InputKind kind;
  std::string_view what;  // "the report of an online run"
  bool has_traffic;       // who sends how much to whom, in sum
  bool has_series;        // the same for each interval of time
  bool has_mapping;       // the CPUs of each rank
  std::string_view hint;  // what to do with a file of this kind that does not fit; may be empty
};
const InputKindInfo& info_of(InputKind kind);

// The report of a node or of a job.
bool is_report(InputKind kind);

// A profile, a matrix and a list are known by their first line, so that the beginning of the text
// is enough; JSON by the keys of its outermost object, which takes the whole text. Bounded by the
// length of the text.
InputKind kind_of_text(std::string_view text);

// The data that a command needs.
enum class Need { kTraffic, kSeries, kMapping };
bool holds(InputKind kind, Need need);
// "'app.prof' is a profile, which holds no mapping; give ...".
Error wrong_kind(const std::string& name, InputKind kind, Need need);

}  // namespace ondeloc
