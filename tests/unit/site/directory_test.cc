// SPDX-License-Identifier: Apache-2.0
// A directory that users fill: a file that is not a report is skipped, and rotation removes
// nothing but reports.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "mapcore/site/read_directory.h"
#include "mapcore/site/rotation.h"
#include "mapcore/site/when.h"
#include "tests/unit/catch.h"
#include "tests/unit/other_user.h"
#include "tests/unit/site/made_reports.h"

using namespace ondeloc;

namespace {

std::string report_file(const TempDir& dir, std::uint32_t job) {
  return dir.file(site_report_name(job, 0, "n1"));
}

void set_time(const std::string& path, std::time_t when) {
  const timespec times[2] = {{when, 0}, {when, 0}};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

bool has_fault(const SiteFiles& files, const std::string& sentence) {
  return std::count(files.faults.begin(), files.faults.end(), sentence) == 1;
}

}  // namespace

TEST_CASE("a file that is not a report is skipped with a sentence, and nothing is waited for") {
  const TempDir dir;
  write_made(dir, {});
  REQUIRE(mkfifo(dir.file("pipe.json").c_str(), 0666) == 0);
  REQUIRE(mkdir(dir.file("folder.json").c_str(), 0777) == 0);
  REQUIRE(symlink("/dev/zero", dir.file("link.json").c_str()) == 0);
  REQUIRE(symlink(report_file(dir, 1).c_str(), dir.file("other.json").c_str()) == 0);
  write_text(dir.file("text.json"), "not JSON");
  write_text(dir.file("deep.json"), std::string(100000, '['));
  write_text(dir.file("newer.json"), R"({"version":99,"ranks":[],"matrix":[],"intervals":[]})");
  write_text(dir.file("note.txt"), "");
  std::ofstream(dir.file("huge.json")).close();
  REQUIRE(truncate(dir.file("huge.json").c_str(), off_t{1} << 36) == 0);
  const auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  CHECK(files->reports.size() == 1);
  CHECK(files->skipped == 9);
  CHECK(has_fault(*files, "'pipe.json' is not a regular file"));
  CHECK(has_fault(*files, "'folder.json' is a directory"));
  CHECK(has_fault(*files, "'link.json' is a link"));
  CHECK(has_fault(*files, "'other.json' is a link"));
  CHECK(has_fault(*files, "'text.json' is not a report of ondeloc"));
  CHECK(has_fault(*files, "'deep.json' is not a report of ondeloc"));
  CHECK(has_fault(*files, "'newer.json' is a report of another version of ondeloc"));
  CHECK(has_fault(*files, "'note.txt' does not end in .json"));
  CHECK(has_fault(*files, "'huge.json' is larger than 32 MiB"));
}

TEST_CASE("names of files are shown without controls, and the faults that are named are bounded") {
  const TempDir dir;
  write_text(dir.file("a\033[2J.json"), "");
  for (int i = 0; i < 300; ++i) write_text(dir.file(fmt::format("b{}.json", i)), "{}");
  const auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  CHECK(files->skipped == 301);
  CHECK(files->faults.size() == kMostNamedFaults);
  CHECK(files->faults.front() == "'a?[2J.json' is not a report of ondeloc");
}

TEST_CASE("a copy of a report does not count twice") {
  const TempDir dir;
  write_made(dir, {});
  std::filesystem::copy_file(report_file(dir, 1), dir.file("copy.json"));
  const auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  CHECK(files->reports.size() == 1);
  CHECK(files->skipped == 1);
}

TEST_CASE("each run of a requeued job counts") {
  const TempDir dir;
  write_made(dir, {});
  write_made(dir, {.restarts = 1});
  write_made(dir, {.restarts = 2});
  const auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  CHECK(files->reports.size() == 3);
  CHECK(files->skipped == 0);
  CHECK(steps_of(files->reports).size() == 3);
  CHECK(rotate_reports(dir.path(), {.oldest = {}, .most_bytes = 0})->removed == 3);
}

TEST_CASE("reports from before --since are left out and counted") {
  const TempDir dir;
  write_made(dir, {.job = 1});
  write_made(dir, {.job = 2});
  set_time(report_file(dir, 1), 1'000'000);
  const auto files = read_site_directory(dir.path(), 2'000'000);
  REQUIRE(files.ok());
  REQUIRE(files->reports.size() == 1);
  CHECK(files->reports[0].job == 2);
  CHECK(files->older == 1);
  CHECK_FALSE(read_site_directory(dir.file("none"), 0).ok());
}

TEST_CASE("the owner of a file is its user; a file of root says whose it is", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to make files of two users");
  const TempDir dir;
  write_made(dir, {.job = 1});
  write_made(dir, {.job = 2});
  REQUIRE(chown(report_file(dir, 2).c_str(), kVictim, kVictim) == 0);
  const auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  REQUIRE(files->reports.size() == 2);
  const auto user = [&](std::uint64_t job) {
    return std::find_if(files->reports.begin(), files->reports.end(),
                        [&](const SiteReport& report) { return report.job == job; })
        ->user;
  };
  CHECK(user(1) == 1000);  // as the report says
  CHECK(user(2) == kVictim);
}

TEST_CASE("the verdicts of a job are those of its reports, and no other file is waited for") {
  const TempDir dir;
  write_made(dir, {.job = 12});
  write_made(dir, {.job = 12, .node = "n2"});
  write_made(dir, {.job = 12, .kind = DecisionKind::kRemaps, .restarts = 1});
  write_made(dir, {.job = 1, .bytes = 0});
  write_made(dir, {.job = 13, .bytes = 0});
  std::filesystem::copy_file(report_file(dir, 13), dir.file("ondeloc-12.1.n1.json"));
  REQUIRE(mkfifo(dir.file("ondeloc-12.2.n1.json").c_str(), 0666) == 0);
  REQUIRE(symlink("/dev/zero", dir.file("ondeloc-12.3.n1.json").c_str()) == 0);
  write_text(dir.file("ondeloc-12.4.n1.json"), "junk");
  const auto verdicts = verdicts_of_job(dir.path(), {12, getuid()});
  REQUIRE(verdicts.ok());
  CHECK(verdicts->verdicts.size() == 2);
  CHECK(verdicts->left_out == 0);
  for (const std::string& verdict : verdicts->verdicts)
    CHECK(verdict.find("sent each other nothing") == verdict.npos);
  CHECK(verdicts_of_job(dir.path(), {14, getuid()})->verdicts.empty());
  CHECK_FALSE(verdicts_of_job(dir.file("none"), {12, getuid()}).ok());
}

TEST_CASE("a file of another user gives a job no verdict", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to make files of two users");
  const TempDir dir;
  write_made(dir, {.job = 12});
  REQUIRE(chown(report_file(dir, 12).c_str(), kAttacker, kAttacker) == 0);
  CHECK(verdicts_of_job(dir.path(), {12, kVictim})->verdicts.empty());
  CHECK(verdicts_of_job(dir.path(), {12, kAttacker})->verdicts.size() == 1);
}

TEST_CASE("rotation removes old reports, then the oldest of too many, and no other file") {
  const TempDir dir;
  for (std::uint32_t job = 1; job <= 5; ++job) {
    write_made(dir, {.job = job});
    set_time(report_file(dir, job), 1000 * job);
  }
  write_text(dir.file("other.json"), "mine");
  set_time(dir.file("other.json"), 1);
  REQUIRE(symlink(report_file(dir, 5).c_str(), dir.file("ondeloc-9.0.n1.json").c_str()) == 0);
  const auto by_age = rotate_reports(dir.path(), {.oldest = 2500, .most_bytes = {}});
  REQUIRE(by_age.ok());
  CHECK(by_age->removed == 2);
  CHECK(by_age->failed == 0);
  CHECK_FALSE(std::filesystem::exists(report_file(dir, 2)));
  const auto size = std::filesystem::file_size(report_file(dir, 3));
  const auto by_size = rotate_reports(dir.path(), {.oldest = {}, .most_bytes = 2 * size + 100});
  REQUIRE(by_size.ok());
  CHECK(by_size->removed == 1);
  CHECK(by_size->bytes == size);
  CHECK_FALSE(std::filesystem::exists(report_file(dir, 3)));
  CHECK(std::filesystem::exists(report_file(dir, 4)));
  CHECK(read_text(dir.file("other.json")) == "mine");
  CHECK(std::filesystem::is_symlink(dir.file("ondeloc-9.0.n1.json")));
}

TEST_CASE("a large file of holes takes the room of no report") {
  const TempDir dir;
  write_made(dir, {.job = 1});
  set_time(report_file(dir, 1), 1000);
  const auto size = std::filesystem::file_size(report_file(dir, 1));
  for (const auto& [name, length] : {std::pair("ondeloc-8.0.n1.json", std::uint64_t{1} << 40),
                                     std::pair("ondeloc-9.0.n1.json", std::uint64_t{1} << 24)}) {
    write_text(dir.file(name), "");
    std::filesystem::resize_file(dir.file(name), length);
    set_time(dir.file(name), 2000);
  }
  REQUIRE(rotate_reports(dir.path(), {.oldest = {}, .most_bytes = size})->removed == 0);
  // If such a file takes room, it is removed before the reports, whatever its date is.
  write_text(dir.file("ondeloc-8.0.n1.json"), std::string(4096, ' '));
  std::filesystem::resize_file(dir.file("ondeloc-8.0.n1.json"), std::uint64_t{1} << 40);
  set_time(dir.file("ondeloc-8.0.n1.json"), 2000);
  const auto done = rotate_reports(dir.path(), {.oldest = {}, .most_bytes = size});
  REQUIRE(done.ok());
  CHECK(done->removed == 1);
  CHECK_FALSE(std::filesystem::exists(dir.file("ondeloc-8.0.n1.json")));
  CHECK(std::filesystem::exists(report_file(dir, 1)));
}

TEST_CASE("a user cannot rotate the reports of others, and learns why", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to act as another user");
  const TempDir dir;
  write_made(dir, {});
  REQUIRE(chmod(dir.path().c_str(), 01777) == 0);
  CHECK(as_user(kAttacker, [&] {
    const auto done = rotate_reports(dir.path(), {.oldest = {}, .most_bytes = 0});
    return done.ok() && done->removed == 0 && done->failed == 1 && !done->why.empty();
  }));
  CHECK(std::filesystem::exists(report_file(dir, 1)));
}

TEST_CASE("ages and dates") {
  CHECK(*parse_age("30d") == 30 * 86400);
  CHECK(*parse_age("36h") == 36 * 3600);
  CHECK(*parse_age("90m") == 5400);
  for (const char* bad : {"", "d", "0d", "-1d", "3", "3w", "1.5h", "999999999d", "30 d"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_age(bad).ok());
  }
  CHECK(*parse_since("1d", 100000) == 100000 - 86400);
  CHECK(date_text(*parse_since("2026-02-28", 0)) == "2026-02-28");
  CHECK(*parse_since("2026-02-28T01:30", 0) - *parse_since("2026-02-28", 0) == 5400);
  for (const char* bad : {"2026-02-31", "2026-13-01", "2026-1-01", "yesterday", "2026-02-28T24:00",
                          "2026-02-28 01:30", "1969-01-01"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_since(bad, 0).ok());
  }
}
