// SPDX-License-Identifier: Apache-2.0
// Compares the manual with the tables behind the parser.
#include <fstream>
#include <regex>
#include <sstream>

#include "mapcore/options/option_table.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

// The text of the page without requests and font changes.
std::string manual() {
  std::ifstream file(test_data() + "/../../etc/man/ondeloc.7");
  std::stringstream text;
  text << file.rdbuf();
  std::string plain = std::regex_replace(text.str(), std::regex(R"(\\f[A-Z]|\.(BI|BR|B|I) )"), "");
  return std::regex_replace(plain, std::regex(R"( \| )"), "|");
}

// The text from "name=value" up to the next item.
std::string item_of(const std::string& text, const std::string& head) {
  const std::size_t at = text.find("\n.TP\n" + head + "\n");
  if (at == std::string::npos) return "";
  const std::size_t end = text.find("\n.TP\n", at + 1);
  return text.substr(at, end - at);
}

// Checks that the page has the row with its default, and returns the item.
template <class Row>
std::string check_row(const std::string& text, const Row& row) {
  CAPTURE(row.name);
  const std::string value(row.value);
  // The macros want a blank between the bold and the other part.
  const std::string head = std::string(row.name) + (value.empty() ? "" : "= " + value);
  const std::string item = item_of(text, head);
  REQUIRE_FALSE(item.empty());
  const std::string standard = default_of(row);
  if (!standard.empty() && row.name != "topology" && row.name != "test-switch")
    CHECK(item.find("\nDefault: " + standard + ".") != std::string::npos);
  return item;
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
  for (const KeyRow& row : key_rows()) {
    const std::string item = check_row(text, row);
    const std::string modes = "\nWith " + modes_text(row.modes) + " only.";
    CHECK((item.find(modes) == std::string::npos) == row.modes.all());
  }
  const std::string site = text.substr(text.find("\n.SH CONFIGURATION"));
  for (const SiteRow& row : site_rows()) check_row(site, row);
}
