// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/mapper_messages.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::string in_pipe(const std::vector<std::string>& lines) {
  return kMapperStarted + encode_messages(lines);
}

}  // namespace

TEST_CASE("slurmstepd reads the lines that the mapper writes") {
  const std::string text = in_pipe({"one", "two words"});
  const MapperMessages got = decode_messages(text);
  CHECK(got.was_started);
  CHECK(got.has_begun);
  CHECK(got.is_complete);
  CHECK(got.text == "one\ntwo words\n");
}

TEST_CASE("a mapper that has nothing to say has ended nevertheless") {
  const std::string text = in_pipe({});
  CHECK(decode_messages(text).has_begun);
  CHECK(decode_messages(text).is_complete);
  CHECK(decode_messages(text).text.empty());
}

TEST_CASE("a mapper that was killed, or never started, is known from what is missing") {
  CHECK_FALSE(decode_messages("").was_started);
  const MapperMessages killed = decode_messages("+");
  CHECK(killed.was_started);
  CHECK_FALSE(killed.has_begun);
  CHECK_FALSE(killed.is_complete);
  CHECK_FALSE(decode_messages("+\3cut").is_complete);
  CHECK(decode_messages("+no library\n").before == "no library\n");
  CHECK_FALSE(decode_messages("+no library\n").has_begun);
}

TEST_CASE("text after the end mark is not read") {
  const std::string text = in_pipe({"true"}) + "false\n";
  CHECK(decode_messages(text).text == "true\n");
}

TEST_CASE("a line can end neither the text nor itself") {
  const std::string text = in_pipe({"a\4b", "c\nd"});
  CHECK(decode_messages(text).text == "a?b\nc?d\n");
}

TEST_CASE("a line for the log keeps its mark, and no other line can get one") {
  const std::string text = in_pipe({std::string(1, kForLog) + "for\2log", "a\2b"});
  CHECK(decode_messages(text).text == "\2for?log\na?b\n");
}

TEST_CASE("whole lines up to the limit are kept, and the end mark always") {
  const std::string long_line(1000, 'x');
  const std::string text = in_pipe({long_line, long_line, long_line, "short"});
  CHECK(text.size() <= kMaxMessages);
  CHECK(decode_messages(text).is_complete);
  CHECK(decode_messages(text).text == long_line + "\n" + long_line + "\nshort\n");
  CHECK(in_pipe({std::string(kMaxMessages - 4, 'y')}).size() == kMaxMessages);
  CHECK(in_pipe({std::string(kMaxMessages - 3, 'y')}).size() == 3);
}
