// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/printable.h"

#include "mapcore/base/text.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("printable keeps what a terminal shows") {
  for (const char* text : {"", "plain text ~", "Größe_µ", "日本.json", "\U0001F600"})
    CHECK(printable(text) == text);
}

TEST_CASE("printable replaces what a terminal acts on") {
  CHECK(printable("a\x1b[31mb") == "a?[31mb");
  CHECK(printable("one\ntwo\ttab\x7f") == "one?two?tab?");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");  // CSI as a C1 control in UTF-8
  CHECK(printable("\x9b"
                  "31m") == "?31m");                        // and as a raw byte
  CHECK(printable("a\u202eb\u2066c\u200fd") == "a?b?c?d");  // bidirectional marks
  CHECK(printable("a\u200bb\ufeffc\u00add") == "a?b?c?d");  // characters without a shape
  CHECK(printable("a\u2028b\u2029c") == "a?b?c");
  CHECK(printable("a\U000e0041b") == "a?b");  // tag characters
}

TEST_CASE("printable replaces bytes that are not UTF-8") {
  CHECK(printable("\xff\xfe") == "??");
  CHECK(printable("\xc0\xaf") == "??");            // overlong
  CHECK(printable("\xed\xa0\x80") == "?");         // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "????");  // beyond Unicode
  CHECK(printable("\xe2\x82") == "??");            // cut
}

TEST_CASE("shortened text ends between characters") {
  const std::string text = std::string(39, 'a') + "äb";
  CHECK(shorten(text) == std::string(39, 'a') + "...");
  CHECK(shorten("a\u202eb") == "a?b");
  CHECK(shorten_path(std::string(59, 'a') + "ä" + std::string(59, 'b')) ==
        "..." + std::string(59, 'b'));
  CHECK(cut_length("äöü", 3) == 2);
  CHECK(cut_length("äöü", 4) == 4);
  CHECK(cut_length("\x80\x80\x80\x80\x80\x80", 5) == 5);
}
