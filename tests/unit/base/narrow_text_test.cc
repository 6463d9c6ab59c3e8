// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/narrow_text.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("long lines go on below their text, and no word is cut") {
  const std::string word(30, 'w');
  CHECK(narrow_text("short\n\n\n\nend\n") == "short\n\nend\n");
  CHECK(narrow_text(word + " " + word + " " + word) == word + " " + word + "\n" + word);
  const std::string begin = "  --option TEXT             ";  // 28
  CHECK(narrow_text(begin + "  " + word + " " + word) ==
        begin + "  " + word + "\n" + std::string(30, ' ') + word);
  const std::string aligned = "          --option TEXT       ";  // as CLI11 2.5 does
  CHECK(narrow_text(aligned + word + " " + word) ==
        aligned + word + "\n" + std::string(30, ' ') + word);
  const std::string whole(100, 'x');
  CHECK(narrow_text(whole) == whole);
  CHECK(narrow_text(begin + "  " + whole + " end") ==
        begin + "  " + whole + "\n" + std::string(30, ' ') + "end");
}
