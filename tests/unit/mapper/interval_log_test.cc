// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/interval_log.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

void keep(IntervalLog& log, int count, bool remapped) {
  for (int i = 0; i < count; ++i) {
    ReportInterval line;
    line.remapped = remapped;
    log.keep(std::move(line));
  }
}

}  // namespace

TEST_CASE(
    "the first intervals are kept, then only remaps, then none; the note says how many are "
    "missing") {
  IntervalLog log(5);
  keep(log, 2, true);
  keep(log, 3, false);
  CHECK(log.kept().size() == 5);
  CHECK(log.note().empty());
  keep(log, 4, false);
  keep(log, 5, true);
  CHECK(log.kept().size() == 10);
  CHECK(log.note() == "4 intervals without a remap are left out");
  keep(log, 3, true);
  CHECK(log.kept().size() == 10);
  CHECK(log.remaps() == 10);
  CHECK(log.note() == "7 intervals are left out, 3 of them with a remap");
}
