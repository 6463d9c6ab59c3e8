// SPDX-License-Identifier: Apache-2.0
// The tables behind parse_options, options_help, parse_site_options and the report: a row for each
// mode, key and word of plugstack.conf. Tests compare the man pages with them. Thread safety:
// constants and pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/base/text.h"
#include "mapcore/options/options.h"
#include "mapcore/options/suggestion.h"

namespace ondeloc {

struct ModeRow {
  std::string_view name;
  std::string_view argument;  // "FILE" if one is required, "" if none is allowed
  Mode mode;
  std::string_view help;
};

// The modes that a key goes with; off and help take every key and ignore it.
struct Modes {
  bool online = false, fixed = false, profile = false;  // fixed: static:FILE
  bool has(Mode mode) const;
  bool all() const { return online && fixed && profile; }
};
// "online and static:FILE".
std::string modes_text(const Modes& modes);

struct KeyRow {
  std::string_view name;
  std::string_view value;  // the text after '=': "TIME", "auto|shm|pmix"; "" for a flag
  Modes modes;
  std::string_view help;
  // Parses and checks a value. `value` is not empty; "" for a flag.
  Status (*set)(Options& options, std::string_view value);
  // The value as set() reads it; "" if there is none. A flag: "yes" or "no".
  std::string (*get)(const Options& options);
  bool is_flag() const { return value.empty(); }
};

struct SiteRow {
  std::string_view name;
  std::string_view value;
  std::string_view without;  // what holds if the word is missing and get() has no text for it
  std::string_view help;
  Status (*set)(SiteOptions& site, std::string_view value);
  std::string (*get)(const SiteOptions& site);
};

// Checks the pattern of profile:FILE, report=FILE and repeat=FILE: %j, %s, %N and %%, and no other
// %; not a directory as far as the name tells.
Status check_file_pattern(std::string_view value);
// Checks the value of nic=: site, auto, off, rail, rail:node, or names of adapters joined by '+',
// each once.
Status check_nic(std::string_view value);

std::span<const ModeRow> mode_rows();
std::span<const KeyRow> key_rows();
std::span<const SiteRow> site_rows();

// The default as a user would write it; "" for a flag and for a key without one.
std::string default_of(const KeyRow& row);
std::string default_of(const SiteRow& row);
// The row of a key. REQUIRES: there is one.
const KeyRow& key_row(std::string_view name);

// "a, b or c": the names of a table, for messages.
template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) names += i + 1 == rows.size() ? " or " : ", ";
    names += rows[i].name;
  }
  return names;
}

// "key 'treshold' is not known; did you mean threshold?", or with all names of the table.
template <class Rows>
Error unknown_word(std::string_view what, std::string_view word, const Rows& rows) {
  const std::string_view meant = closest_word(word, words_of(rows));
  const std::string text = std::string(what) + " '" + shorten(word) + "' is not known; ";
  return Error(text + (meant.empty() ? "use " + names_of(rows)
                                     : "did you mean " + std::string(meant) + "?"));
}

}  // namespace ondeloc
