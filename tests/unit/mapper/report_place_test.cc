// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/report_place.h"

#include <sys/stat.h>

#include "mapcore/options/mapper_messages.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

ondeloc_header header_of_step() {
  ondeloc_header header{};
  header.job_id = 7;
  header.step_id = 2;
  return header;
}

}  // namespace

TEST_CASE("a report goes to the user's file, else to the site's directory, else nowhere") {
  const TempDir own, site;
  const ondeloc_header header = header_of_step();
  MapperConfig config;
  config.node = "n1";
  const ReportPlace place(config, header);
  CHECK_FALSE(place.is_wanted());
  CHECK_FALSE(place.write_or_tell({}));

  config.report_dir = site.path();
  CHECK(place.is_wanted());
  CHECK_FALSE(place.write_or_tell({}));
  CHECK(site.files() == 1);

  config.options.report = own.file("r-%j.%s.%N.json");
  CHECK_FALSE(place.write_or_tell({}));
  CHECK(read_text(own.file("r-7.2.n1.json")).starts_with("{"));
  CHECK(site.files() == 1);
}

TEST_CASE("a report that cannot be written is told to the one who chose its place") {
  const ondeloc_header header = header_of_step();
  MapperConfig config;
  config.node = "n1";
  const ReportPlace place(config, header);
  config.report_dir = "/dev/null/none";
  const auto for_site = place.write_or_tell({});
  REQUIRE(for_site);
  CHECK(for_site->starts_with(kForLog + std::string("no report: ")));
  config.options.report = "/dev/null/none/report.json";
  const auto for_user = place.write_or_tell({});
  REQUIRE(for_user);
  CHECK(for_user->starts_with("no report: "));
}

TEST_CASE("only a file, or nothing, is replaced by a later report") {
  const TempDir dir;
  const ondeloc_header header = header_of_step();
  MapperConfig config;
  const ReportPlace place(config, header);
  config.options.report = dir.file("report.json");
  CHECK(place.can_be_replaced());
  write_text(dir.file("report.json"), "{}");
  CHECK(place.can_be_replaced());
  config.options.report = "/dev/null";
  CHECK_FALSE(place.can_be_replaced());
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  config.options.report = dir.file("pipe");
  CHECK_FALSE(place.can_be_replaced());
}
