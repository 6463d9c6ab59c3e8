// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include <execinfo.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

const std::string& test_data() {
  static const std::string path = ONDELOC_TEST_DATA;
  return path;
}

namespace {

bool skipped = false;

// Says which test case hangs and where, and in which calls of the kernel its threads and children
// are. The functions used here are not safe in a handler, but the program ends anyway.
void tell_where(int) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  std::fprintf(stderr, "no end: %s\n", name.c_str());
  void* calls[32];
  backtrace_symbols_fd(calls, backtrace(calls, std::size(calls)), STDERR_FILENO);
  const std::string look = fmt::format(
      "head -n 1 /proc/{0}/task/*/wchan /proc/{0}/task/*/syscall; ps -o pid,stat,wchan:30 --ppid "
      "{0}",
      getpid());
  _exit(std::system(look.c_str()) == 0 ? 1 : 2);
}

// Shortly before ctest would end the program without a word.
void watch_time() {
  const char* limit = std::getenv("ONDELOC_TEST_SECONDS");
  if (limit == nullptr) return;
  std::signal(SIGALRM, tell_where);
  alarm(static_cast<unsigned>(std::atoi(limit)));
}

}  // namespace

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
  watch_time();
  const int failed = session.run();
  return failed == 0 && skipped ? ondeloc::kSkipped : failed;
}
