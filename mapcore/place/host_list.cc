// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t kLargestIndex = 999'999'999;
constexpr std::size_t kLongestName = 255;

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// One element between commas: prefix, optional ranges in brackets, suffix.
struct Element {
  std::string_view prefix, ranges, suffix;
  bool has_ranges = false;
};

std::optional<Element> parse_element(std::string_view text) {
  const std::size_t open = text.find('['), close = text.find(']');
  Element element{text, {}, {}, false};
  if (open != text.npos) {
    if (close == text.npos || close < open) return std::nullopt;
    element = {text.substr(0, open), text.substr(open + 1, close - open - 1),
               text.substr(close + 1), true};
  }
  for (const std::string_view part : {element.prefix, element.suffix})
    if (!std::all_of(part.begin(), part.end(), is_of_a_name)) return std::nullopt;
  if (element.prefix.empty() && !element.has_ranges) return std::nullopt;
  return element;
}

struct IndexRange {
  std::uint64_t first = 0, last = 0;
  std::size_t width = 0;  // digits, with leading zeros
};

std::optional<IndexRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == text.npos ? first : text.substr(dash + 1);
  const auto from = parse_unsigned(first, kLargestIndex), to = parse_unsigned(last, kLargestIndex);
  if (!from || !to || *to < *from) return std::nullopt;
  return IndexRange{*from, *to, first.size()};
}

// Splits at the commas outside brackets.
std::vector<std::string_view> elements_of(std::string_view list) {
  std::vector<std::string_view> elements;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '[') ++depth;
    if (at < list.size() && list[at] == ']') --depth;
    if (at < list.size() && (list[at] != ',' || depth > 0)) continue;
    elements.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return elements;
}

class HostNames {
 public:
  explicit HostNames(std::string_view list) : list_(list) {}

  Status add(const Element& element) {
    if (!element.has_ranges) return add(std::string(element.prefix));
    for (const std::string_view text : split(element.ranges, ',')) {
      const auto range = parse_range(text);
      if (!range)
        return fault(fmt::format("'{}' is not a range such as 0-3 or 08-11", shorten(text)));
      for (std::uint64_t index = range->first; index <= range->last; ++index) {
        Status added =
            add(fmt::format("{}{:0{}}{}", element.prefix, index, range->width, element.suffix));
        if (!added) return added;
      }
    }
    return {};
  }
  Error fault(const std::string& what) const {
    return Error(fmt::format("hosts '{}': {}", shorten(list_), what));
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  Status add(std::string name) {
    if (name.size() > kLongestName) return fault("a name is longer than 255 characters");
    if (names_.size() == kMostHosts)
      return fault(fmt::format("the list has more than {} hosts", kMostHosts));
    if (!known_.insert(name).second) return fault(fmt::format("'{}' appears twice", shorten(name)));
    names_.push_back(std::move(name));
    return {};
  }

  std::string_view list_;
  std::vector<std::string> names_;
  std::set<std::string> known_;
};

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  HostNames names(list);
  for (const std::string_view text : elements_of(list)) {
    const auto element = parse_element(trim_blanks(text));
    if (!element)
      return names.fault(
          fmt::format("'{}' is not a host; write for example node[0-3],node7", shorten(text)));
    if (Status added = names.add(*element); !added) return std::move(added).error();
  }
  return names.take();
}

}  // namespace ondeloc
