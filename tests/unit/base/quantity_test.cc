// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/quantity.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::string refusal(std::string_view text, Quantity kind) {
  const auto value = parse_quantity(text, kind);
  return value ? "accepted" : value.error().message();
}

void check_accepted(std::string_view text, Quantity kind, double expected) {
  INFO(text);
  const auto value = parse_quantity(text, kind);
  REQUIRE(value.ok());
  CHECK(*value == Approx(expected));
}

}  // namespace

TEST_CASE("a quantity is a number with a unit") {
  check_accepted("512MiB", Quantity::kBytes, 512.0 * 1048576);
  check_accepted("0B", Quantity::kBytes, 0);
  check_accepted("1.5 kB", Quantity::kBytes, 1500);
  check_accepted("3EB", Quantity::kBytes, 3e18);
  check_accepted("20GB/s", Quantity::kBytesPerSecond, 2e10);
  check_accepted("25.6 GB/s", Quantity::kBytesPerSecond, 2.56e10);
  check_accepted("36e9B/s", Quantity::kBytesPerSecond, 3.6e10);
  check_accepted("500ms", Quantity::kSeconds, 0.5);
  check_accepted("1.5m", Quantity::kSeconds, 90);
  check_accepted("2s", Quantity::kSeconds, 2);
  check_accepted("30us", Quantity::kSeconds, 30e-6);
  check_accepted("1h", Quantity::kSeconds, 3600);
}

TEST_CASE("a number without a unit is asked back with an example") {
  CHECK(refusal("1", Quantity::kSeconds) == "'1' has no unit; write for example 1ms or 1s");
  CHECK(refusal("20", Quantity::kBytesPerSecond) ==
        "'20' has no unit; write for example 20MB/s or 20GB/s");
  CHECK(refusal("0.5", Quantity::kBytes) == "'0.5' has no unit; write for example 0.5MB or 0.5GB");
}

TEST_CASE("anything else is refused with an example") {
  CHECK(refusal("20GB", Quantity::kBytesPerSecond) ==
        "'20GB' is not a bandwidth; write a number with a unit, for example 20GB/s");
  for (const char* text : {"", " ", "s", "-1s", "+1s", " 1s", "1s ", "1  s", "1S", "1sec", "infs",
                           "nans", "0x10s", "1e999s", "1e305h", "1.5.s", "1,5s", "1s/s", ".5s"}) {
    INFO(text);
    CHECK(refusal(text, Quantity::kSeconds).find("is not a time; write") != std::string::npos);
  }
  for (const char* text : {"1KB", "1mb", "1Mb", "1GB/s", "1kiB", "1 B/s", "1/s"}) {
    INFO(text);
    CHECK(refusal(text, Quantity::kBytes).find("is not an amount of data") != std::string::npos);
  }
}

TEST_CASE("a written quantity can be read back") {
  CHECK(argument_text(0.5, Quantity::kSeconds) == "500ms");
  CHECK(argument_text(0, Quantity::kSeconds) == "0s");
  CHECK(argument_text(12.345, Quantity::kSeconds) == "12.345s");
  CHECK(argument_text(30e-6, Quantity::kSeconds) == "30us");
  CHECK(argument_text(2.56e10, Quantity::kBytesPerSecond) == "25.6GB/s");
  CHECK(argument_text(0, Quantity::kBytes) == "0B");
  CHECK(rate_text(2e10) == "20 GB/s");
  for (const double value : {1e-9, 0.0003, 0.25, 1.0, 59.999, 86400.5, 1.234567e13}) {
    check_accepted(argument_text(value, Quantity::kSeconds), Quantity::kSeconds, value);
    check_accepted(argument_text(value, Quantity::kBytes), Quantity::kBytes, value);
    CHECK(parse_quantity(seconds_text(value), Quantity::kSeconds).ok());
    CHECK(parse_quantity(bytes_text(value), Quantity::kBytes).ok());
    CHECK(parse_quantity(rate_text(value), Quantity::kBytesPerSecond).ok());
  }
}

TEST_CASE("bytes have decimal units and never four digits before the point") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1000) == "1 kB");
  CHECK(bytes_text(11'520'000) == "11.52 MB");
  CHECK(bytes_text(999'999) == "1 MB");
  CHECK(bytes_text(2.5e18) == "2.5 EB");
  CHECK(bytes_text(5e21) == "5000 EB");
}

TEST_CASE("seconds have the unit that leaves a digit before the point") {
  CHECK(seconds_text(0) == "0 s");
  CHECK(seconds_text(5e-9) == "5 ns");
  CHECK(seconds_text(1.5e-5) == "15 us");
  CHECK(seconds_text(0.0125) == "12.5 ms");
  CHECK(seconds_text(90) == "90 s");
  CHECK(seconds_text(999.96) == "1000 s");
  CHECK(seconds_text(86403) == "86403 s");
  CHECK(seconds_text(86400.5) == "86400.5 s");  // the next interval of a long run looks different
  CHECK(seconds_text(1.5e12) == "1500000000000 s");
}

TEST_CASE("a share is written in percent, with two digits or as a whole number") {
  CHECK(percent_text(0) == "0 %");
  CHECK(percent_text(0.00123) == "0.12 %");
  CHECK(percent_text(0.4985) == "50 %");
  CHECK(percent_text(0.994) == "99 %");
  CHECK(percent_text(0.997) == "100 %");
  CHECK(percent_text(-1.246) == "-125 %");
  CHECK(percent_text(123.4) == "12340 %");
}
