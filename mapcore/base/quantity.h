// SPDX-License-Identifier: Apache-2.0
// Reads and writes quantities: bytes, bytes per second and times, each a number with a unit. All
// options, command lines and output go through these functions, so that one amount is written the
// same way everywhere and can be read back.
// Units: B, kB, MB, GB, TB, PB, EB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024), the same
// followed by /s, and ns, us, ms, s, m, h. Upper and lower case differ. One blank may stand between
// number and unit. Errors: one sentence that begins with the text and shows a correct example.
// Thread safety: pure functions, independent of the locale.
#pragma once

#include <string>
#include <string_view>

#include "mapcore/base/result.h"

namespace ondeloc {

enum class Quantity { kBytes, kBytesPerSecond, kSeconds };

// A finite value, 0 or more, in bytes, bytes per second or seconds. A number without a unit is an
// error.
Result<double> parse_quantity(std::string_view text, Quantity kind);

// Four digits below 1000, else tenths: "3.5", "86400.5". There is no exponent below 1e15.
std::string number_text(double number);
// Four digits, or from 1000 s on tenths, so that neighbouring intervals of a long run differ:
// "12 ns", "1.23 us", "12.3 ms", "3.5 s", "86400.5 s".
std::string seconds_text(double seconds);
// Writes a share of 1: two digits below 100 %, else whole numbers: "4 %", "0.12 %", "100 %".
std::string percent_text(double share);
std::string bytes_text(double bytes);     // four digits: "512 B", "12.3 kB", "1.5 MB"
std::string capacity_text(double bytes);  // of a cache or memory: "32 KiB", "1.5 MiB", "62.7 GiB"
std::string rate_text(double rate);       // four digits: "20 GB/s"
// For options and files: all digits, no blank, in the largest unit that leaves a digit before the
// point: "500ms", "12.345s", "20GB/s". parse_quantity() reads it back.
std::string argument_text(double value, Quantity kind);

}  // namespace ondeloc
