// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include "tests/unit/catch.h"

// A binary that ran no test fails.
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
  return session.run();
}
