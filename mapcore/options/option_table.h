// SPDX-License-Identifier: Apache-2.0
// The rows behind parse_options, options_help and parse_site_options: one per mode, key and
// plugstack.conf word. The man page is compared with them by a test. Thread safety: constants.
#pragma once

#include <span>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/options/options.h"

namespace ondeloc {

struct ModeRow {
  std::string_view name;
  std::string_view argument;  // "FILE" where one is required, "" where none is allowed
  Mode mode;
  std::string_view help;
};

struct KeyRow {
  std::string_view name;
  std::string_view value;     // what stands after '=': "TIME", "auto|shm|pmix"; "" for a flag
  std::string_view standard;  // default, as the user would write it; "" where there is none
  std::string_view help;
  Status (*set)(Options& options, std::string_view value);  // value is not empty; "" for a flag
};

struct SiteRow {
  std::string_view name;
  std::string_view value;
  std::string_view standard;
  std::string_view help;
  Status (*set)(SiteOptions& site, std::string_view value);
};

// Of profile:FILE and report=FILE: %j, %s, %N and %% and no other %.
Status check_file_pattern(std::string_view value);

std::span<const ModeRow> mode_rows();
std::span<const KeyRow> key_rows();
std::span<const SiteRow> site_rows();

// "a, b or c" of the names of a table, for messages.
template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) names += i + 1 == rows.size() ? " or " : ", ";
    names += rows[i].name;
  }
  return names;
}

}  // namespace ondeloc
