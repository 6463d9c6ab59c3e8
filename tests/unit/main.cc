// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <cstdio>

#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

const std::string& test_data() {
  static const std::string path = ONDELOC_TEST_DATA;
  return path;
}

namespace {
bool skipped = false;
}

void ondeloc::note_skip(const char* reason) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  std::fprintf(stderr, "skipped: %s: %s\n", name.c_str(), reason);
  skipped = true;
}

// Fails if it ran no test; ends with kSkipped if nothing failed and a test case was skipped.
int main(int argc, char** argv) {
  Catch::Session session;
  if (const int bad = session.applyCommandLine(argc, argv); bad != 0) return bad;
  session.configData().
#if __has_include(<catch2/catch_all.hpp>)
      allowZeroTests = false;
#else
      warnings = static_cast<Catch::WarnAbout::What>(session.configData().warnings |
                                                     Catch::WarnAbout::NoTests);
#endif
  const int failed = session.run();
  return failed == 0 && skipped ? ondeloc::kSkipped : failed;
}
