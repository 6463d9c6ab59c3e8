// SPDX-License-Identifier: Apache-2.0
// The manual and the tables behind the parser say the same.
#include <fstream>
#include <regex>
#include <sstream>

#include "mapcore/options/option_table.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// The text as a reader sees it: no requests, no font changes.
std::string manual() {
  std::ifstream file(std::string(ONDELOC_TEST_DATA) + "/../../etc/man/ondeloc.7");
  std::stringstream text;
  text << file.rdbuf();
  std::string plain = std::regex_replace(text.str(), std::regex(R"(\\f[A-Z]|\.(BI|BR|B|I) )"), "");
  return std::regex_replace(plain, std::regex(R"( \| )"), "|");
}

// What follows "name=value" up to the next item.
std::string item_of(const std::string& text, const std::string& head) {
  const std::size_t at = text.find("\n.TP\n" + head + "\n");
  if (at == std::string::npos) return "";
  const std::size_t end = text.find("\n.TP\n", at + 1);
  return text.substr(at, end - at);
}

template <class Row>
void check_row(const std::string& text, const Row& row) {
  CAPTURE(row.name);
  const std::string value(row.value);
  // The macros want a blank between the bold and the other part.
  const std::string head = std::string(row.name) + (value.empty() ? "" : "= " + value);
  const std::string item = item_of(text, head);
  REQUIRE_FALSE(item.empty());
  if (!row.standard.empty() && row.name != "topology" && row.name != "test-switch")
    CHECK(item.find("\nDefault: " + std::string(row.standard) + ".") != std::string::npos);
}

}  // namespace

TEST_CASE("ondeloc(7) has every mode, key and plugstack.conf word with its default") {
  const std::string text = manual();
  REQUIRE(text.size() > 1000);
  for (const ModeRow& row : mode_rows()) {
    CAPTURE(row.name);
    const std::string head =
        std::string(row.name) + (row.argument.empty() ? "" : ": " + std::string(row.argument));
    CHECK_FALSE(item_of(text, head).empty());
  }
  for (const KeyRow& row : key_rows()) check_row(text, row);
  for (const SiteRow& row : site_rows()) check_row(text, row);
}
