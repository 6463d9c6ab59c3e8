// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/input_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr InputKindInfo kKinds[] = {
    {InputKind::kProfile, "a profile", true, true, false, ""},
    {InputKind::kReport, "the report of an online run", true, true, true, ""},
    {InputKind::kJobReport, "the report of a job", true, false, false,
     "give the report of one node"},
    {InputKind::kMapping, "a mapping in JSON", false, false, true, ""},
    {InputKind::kRankfile, "a rankfile", false, false, true, ""},
    {InputKind::kMatrix, "a matrix", true, false, false, ""},
    {InputKind::kPairs, "a matrix in CSV", true, false, false, ""},
    {InputKind::kSeries, "a series of matrices in CSV", true, true, false, ""},
    {InputKind::kEvents, "a list of messages", false, false, false,
     "make a profile of it with 'ondeloc profile import'"},
    {InputKind::kOtherJson, "JSON, but neither a mapping nor a report", false, false, false, ""},
    {InputKind::kCutJson, "damaged or cut off: it is not valid JSON", false, false, false,
     "use a whole copy"},
    {InputKind::kTopology, "the topology of a machine", false, false, false,
     "give this file to --topology"},
    {InputKind::kEmpty, "empty", false, false, false, ""},
    {InputKind::kUnknown, "not a kind of file that ondeloc reads", false, false, false, ""},
};

// The outermost keys of JSON, without parsing it: strings at depth 1 that a colon follows.
class OuterKeys {
 public:
  explicit OuterKeys(std::string_view text) : text_(text) {}

  // The next key; empty at the end.
  std::string_view next() {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      if (c != '"') continue;
      const std::string_view word = take_string();
      if (depth_ == 1 &&
          text_.substr(std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()))
              .starts_with(':'))
        return word;
    }
    return {};
  }

  // At the end: every bracket is closed.
  bool is_whole() const { return depth_ <= 0; }

 private:
  std::string_view take_string() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    const std::string_view word = text_.substr(from, at_ - from);
    at_ = std::min(at_ + 1, text_.size());
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

InputKind kind_of_json(std::string_view text) {
  bool ranks = false, matrix = false, step = false, nodes = false;
  OuterKeys keys(text);
  for (std::string_view key; !(key = keys.next()).empty();) {
    ranks = ranks || key == "ranks";
    matrix = matrix || key == "matrix";
    step = step || key == "step";
    nodes = nodes || key == "nodes";
    if (ranks && matrix) return InputKind::kReport;
    if (step && nodes) return InputKind::kJobReport;
  }
  if (!keys.is_whole()) return InputKind::kCutJson;
  return ranks ? InputKind::kMapping : InputKind::kOtherJson;
}

// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim_blanks(text.substr(0, end));
    if (!line.empty() && !line.starts_with('#') && !line.starts_with("//")) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// "interval,src,dst,bytes": the names of the columns say which list it is.
InputKind kind_of_list(std::string_view header) {
  const std::vector<std::string_view> fields = split(header, ',');
  const auto has = [&](std::string_view name) {
    return std::any_of(fields.begin(), fields.end(), [&](std::string_view field) {
      return csv_field(trim_blanks(field)) == name;
    });
  };
  if (!has("src") || !has("dst")) return InputKind::kUnknown;
  if (has("time_us")) return InputKind::kEvents;
  return has("interval") ? InputKind::kSeries : InputKind::kPairs;
}

bool is_row_of_numbers(std::string_view line) {
  return line.find_first_not_of("0123456789.eE+-\t \r") == line.npos;
}

}  // namespace

const InputKindInfo& info_of(InputKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const InputKindInfo& row) { return row.kind == kind; });
}

bool is_report(InputKind kind) {
  return kind == InputKind::kReport || kind == InputKind::kJobReport;
}

InputKind kind_of_text(std::string_view text) {
  if (text.starts_with("ODLPROF1")) return InputKind::kProfile;
  text = without_mark(text);
  const std::string_view line = first_line(text);
  if (line.empty()) return trim_blanks(text).empty() ? InputKind::kEmpty : InputKind::kUnknown;
  if (line.starts_with('{')) return kind_of_json(text);
  if (line.starts_with('[')) return InputKind::kOtherJson;
  if (line.starts_with("<")) {
    const bool is_hwloc = text.substr(0, 4096).find("<topology") != text.npos;
    return is_hwloc ? InputKind::kTopology : InputKind::kUnknown;
  }
  if (line.starts_with("rank") || line.starts_with("/*")) return InputKind::kRankfile;
  if (line.find(',') != line.npos) return kind_of_list(line);
  return is_row_of_numbers(line) ? InputKind::kMatrix : InputKind::kUnknown;
}

bool holds(InputKind kind, Need need) {
  const InputKindInfo& info = info_of(kind);
  switch (need) {
    case Need::kTraffic:
      return info.has_traffic;
    case Need::kSeries:
      return info.has_series;
    case Need::kMapping:
      break;
  }
  return info.has_mapping;
}

Error wrong_kind(const std::string& name, InputKind kind, Need need) {
  const InputKindInfo& info = info_of(kind);
  const char* lacks = need == Need::kTraffic  ? "traffic"
                      : need == Need::kSeries ? "traffic over time"
                                              : "mapping";
  std::string give;
  for (const InputKindInfo& row : kKinds) {
    if (holds(row.kind, need)) give += fmt::format("{}{}", give.empty() ? "" : ", ", row.what);
  }
  const std::string advice =
      info.hint.empty() ? fmt::format("give one of: {}", give) : std::string(info.hint);
  const bool named =
      kind != InputKind::kEmpty && kind != InputKind::kUnknown && kind != InputKind::kCutJson;
  return Error(fmt::format("'{}' is {}{}; {}", name, info.what,
                           named ? fmt::format(", which holds no {}", lacks) : "", advice));
}

}  // namespace ondeloc
