// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/json_without.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ondeloc {
namespace {

using PartJson = nlohmann::json;

// Builds the value; the functions that nlohmann's parser calls have its names.
class PartsBuilder {
 public:
  explicit PartsBuilder(std::span<const std::string_view> left_out) : left_out_(left_out) {}
  PartJson take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(PartJson::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(PartJson::value_t::object); }
  bool start_array(std::size_t) { return open(PartJson::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

  bool key(std::string& name) {
    if (depth_left_out_ > 0) return true;
    is_left_out_ =
        open_.size() == 1 && std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
    key_ = std::move(name);
    return true;
  }

 private:
  // True if the value that begins is left out, or a part of such a value.
  bool leaves_out() { return depth_left_out_ > 0 || std::exchange(is_left_out_, false); }

  template <class Value>
  bool put(Value&& value) {
    if (!leaves_out()) place(std::forward<Value>(value));
    return true;
  }

  bool open(PartJson::value_t kind) {
    if (leaves_out())
      ++depth_left_out_;
    else
      open_.push_back(place(kind));
    return true;
  }

  bool close() {
    if (depth_left_out_ > 0)
      --depth_left_out_;
    else
      open_.pop_back();
    return true;
  }

  // A list may move its elements when it grows, but none of them is open then.
  PartJson* place(PartJson value) {
    if (open_.empty()) return &(root_ = std::move(value));
    PartJson& into = *open_.back();
    if (into.is_object()) return &(into[key_] = std::move(value));
    into.push_back(std::move(value));
    return &into.back();
  }

  std::span<const std::string_view> left_out_;
  PartJson root_;
  std::vector<PartJson*> open_;  // lists and objects around the present value
  std::string key_;
  bool is_left_out_ = false;        // the value of the last key
  std::size_t depth_left_out_ = 0;  // open lists and objects inside a value that is left out
};

}  // namespace

PartJson parse_json_without(std::string_view text, std::span<const std::string_view> keys) {
  PartsBuilder builder(keys);
  if (PartJson::sax_parse(text, &builder)) return builder.take();
  return PartJson(PartJson::value_t::discarded);
}

}  // namespace ondeloc
