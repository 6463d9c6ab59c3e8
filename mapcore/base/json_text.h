// SPDX-License-Identifier: Apache-2.0
// Writes JSON for users: indented by two, with a newline at the end. Bytes that are not UTF-8, for
// example in the name of a file, are replaced; dump() alone would throw.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace ondeloc {

template <class Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ondeloc
