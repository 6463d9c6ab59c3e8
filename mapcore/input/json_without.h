// SPDX-License-Identifier: Apache-2.0
// Parses JSON without the members that a reader does not need, in linear time. The parser of
// nlohmann::json with a callback looks at all elements of a list for each, so that one file of
// millions of elements would keep it busy for hours. Thread safety: pure function.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string_view>

namespace ondeloc {

// Leaves out the members of the outermost object with one of these keys. A discarded value: the
// text is not JSON, in such a member or elsewhere.
nlohmann::json parse_json_without(std::string_view text, std::span<const std::string_view> keys);

}  // namespace ondeloc
