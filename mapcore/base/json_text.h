// SPDX-License-Identifier: Apache-2.0
// JSON as users see it: indented by two, a newline at the end, and bytes of a file's name that are
// no UTF-8 replaced, where dump() alone would throw.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace ondeloc {

template <class Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ondeloc
