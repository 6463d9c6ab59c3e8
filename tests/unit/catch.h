// SPDX-License-Identifier: Apache-2.0
// Catch2 version 2 (Debian 12) or 3 (Debian 13).
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace ondeloc {
// Prints the reason and lets the program end with kSkipped if nothing fails.
void note_skip(const char* reason);
inline constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in CMakeLists.txt
}  // namespace ondeloc

// Ends a test case that this machine cannot run. The case needs a tag that CMakeLists.txt registers
// as a test of its own, because ctest counts a whole program as skipped. (Catch2 version 2 has no
// SKIP, and in version 3 a skipped case does not change the exit status.)
#define ONDELOC_SKIP(reason)      \
  do {                            \
    ondeloc::note_skip((reason)); \
    return;                       \
  } while (false)

// ThreadSanitizer adds threads and touches memory of its own.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
