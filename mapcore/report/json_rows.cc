// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/json_rows.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <iterator>
#include <optional>
#include <utility>

namespace ondeloc {
namespace {

void put(const ReportDomain& domain, std::string& json);
void put(const ReportCell& cell, std::string& json);
void put(const ReportInterval& interval, std::string& json);

void put(bool value, std::string& json) { json += value ? "true" : "false"; }

template <class Number>
std::string_view put_digits(Number value, std::string& json) {
  char digits[32];
  const std::size_t start = json.size();
  json.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
  return std::string_view(json).substr(start);
}

template <std::integral Number>
void put(Number value, std::string& json) {
  put_digits(value, json);
}

// The point tells a reader that the number need not be whole.
void put(double value, std::string& json) {
  if (!std::isfinite(value)) {
    json += "null";
  } else if (put_digits(value, json).find_first_of(".e") == std::string_view::npos) {
    json += ".0";
  }
}

void put(const std::string& text, std::string& json) {
  using Json = nlohmann::json;
  json += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Value>
void put(const std::optional<Value>& value, std::string& json) {
  if (value) {
    put(*value, json);
  } else {
    json += "null";
  }
}

// Writes `before` before the first item and `between` before the others.
template <class Item>
void put_items(const std::vector<Item>& items, const char* before, const char* between,
               std::string& json) {
  for (const Item& item : items) {
    json += std::exchange(before, between);
    put(item, json);
  }
}

template <class Item>
void put(const std::vector<Item>& items, std::string& json) {
  json += '[';
  put_items(items, "", ", ", json);
  json += ']';
}

// Writes the members of an object one after the other.
class Members {
 public:
  explicit Members(std::string& json) : json_(json) { json_ += '{'; }
  ~Members() { json_ += '}'; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  template <class Value>
  void put_next(std::string_view key, const Value& value) {
    ((json_ += std::exchange(before_, ", \"")) += key) += "\": ";
    put(value, json_);
  }

 private:
  std::string& json_;
  const char* before_ = "\"";
};

void put(const ReportDomain& domain, std::string& json) {
  Members members(json);
  for_each_member(domain,
                  [&](const char* key, const auto& value) { members.put_next(key, value); });
}

void put(const ReportCell& cell, std::string& json) {
  Members members(json);
  members.put_next("src", cell.src);
  if (cell.dst >= 0) members.put_next("dst", cell.dst);
  members.put_next("bytes", cell.bytes);
  members.put_next("messages", cell.messages);
}

void put(const ReportInterval& interval, std::string& json) {
  Members members(json);
  members.put_next("t", interval.t);
  members.put_next("interval_ms", interval.interval_ms);
  members.put_next("count", interval.count);
  members.put_next("bytes", interval.bytes);
  members.put_next("messages", interval.messages);
  members.put_next("off_node_bytes", interval.off_node_bytes);
  members.put_next("samples", interval.samples);
  members.put_next("sample_bytes", interval.sample_bytes);
  members.put_next("remote_share_before", interval.remote_share_before);
  members.put_next("remote_share_after", interval.remote_share_after);
  members.put_next("peak_load_before", interval.peak_load_before);
  members.put_next("peak_load_after", interval.peak_load_after);
  members.put_next("cost_before", interval.cost_before);
  members.put_next("cost_after", interval.cost_after);
  members.put_next("domains", interval.domains);
  members.put_next("remapped", interval.remapped);
  members.put_next("moved", interval.moved);
  members.put_next("moved_to", interval.moved_to);
  members.put_next("decision", interval.decision);
  members.put_next("gain", interval.gain);
  members.put_next("threshold", interval.threshold);
  members.put_next("migration", interval.migration);
  members.put_next("horizon", interval.horizon);
  members.put_next("ledger", interval.ledger);
  members.put_next("read_us", interval.read_us);
  members.put_next("compute_us", interval.compute_us);
}

template <class Row>
void append_rows(std::string_view key, const std::vector<Row>& rows, std::string& json) {
  ((json += ",\n \"") += key) += "\": [";
  put_items(rows, "\n  ", ",\n  ", json);
  json += rows.empty() ? "]" : "\n ]";
}

}  // namespace

void append_member(std::string_view key, const std::vector<ReportCell>& cells, std::string& json) {
  append_rows(key, cells, json);
}

void append_member(std::string_view key, const std::vector<ReportInterval>& intervals,
                   std::string& json) {
  append_rows(key, intervals, json);
}

}  // namespace ondeloc
