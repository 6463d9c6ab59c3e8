// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "mapcore/report/report_json.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

void paths_of(const nlohmann::json& json, const std::string& path, std::set<std::string>& out) {
  const bool whole = path == "options" || path == "notes" || path == "intervals[].moved";
  if (!whole && json.is_object()) {
    for (const auto& [key, value] : json.items())
      paths_of(value, path.empty() ? key : path + "." + key, out);
  } else if (!whole && json.is_array()) {
    for (const auto& item : json) paths_of(item, path + "[]", out);
  } else {
    out.insert(path);
  }
}

Report full_report() {
  Report report;
  report.numa = {{0, "0-3"}};
  report.ranks = {{}};
  report.matrix = {{0, 1, 5, 1}};
  report.off_node = {{0, -1, 5, 1}};
  report.intervals = {{}};
  return report;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

bool refuses(const std::string& path, const char* sentence) {
  const Status done = write_file(path, "text");
  INFO((done.ok() ? "written" : done.error().message()));
  CHECK(!done.ok());
  return !done.ok() && done.error().message().find(sentence) != std::string::npos;
}

// As somebody whom permissions bind: root may write everything.
bool refuses_as_user(const std::string& path) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    const Status done = write_file(path, "text");
    _exit(!done.ok() && done.error().message().find("is kept") != std::string::npos ? 0 : 1);
  }
  int state = 0;
  return waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

}  // namespace

TEST_CASE("the JSON has exactly the keys of the table") {
  std::set<std::string> written, table;
  paths_of(nlohmann::json::parse(to_json(full_report())), "", written);
  for (const ReportKey& key : report_keys()) table.emplace(key.path);
  CHECK(written == table);
}

TEST_CASE("64-bit counters survive, bytes that are no UTF-8 do not lose the report") {
  Report report = full_report();
  report.matrix[0].bytes = UINT64_MAX;
  report.node = "n\xff";
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["matrix"][0]["bytes"] == UINT64_MAX);
  CHECK(json["intervals"][0]["remote_share_before"].is_null());
}

TEST_CASE("file name patterns") {
  CHECK(expand_pattern("o-%j.%s.%N.json", 7, 2, "n1") == "o-7.2.n1.json");
  CHECK(expand_pattern("100%% %x %", 7, 2, "n1") == "100% %x %");
}

TEST_CASE("a file appears whole or not at all") {
  const TempDir dir;
  CHECK(write_file(dir.file("r.json"), "text").ok());
  CHECK(read_text(dir.file("r.json")) == "text");
  CHECK(refuses(dir.file("none/r.json"), "No such file"));
  CHECK(dir.files() == 1);
}

TEST_CASE("a link leads to the file that is written, and stays a link") {
  const TempDir dir;
  REQUIRE(mkdir((dir.file("there")).c_str(), 0777) == 0);
  REQUIRE(symlink("there/second", (dir.file("first")).c_str()) == 0);
  REQUIRE(symlink("r.json", (dir.file("there/second")).c_str()) == 0);
  for (const char* text : {"new", "again"}) {
    CHECK(write_file(dir.file("first"), text).ok());
    CHECK(read_text(dir.file("there/r.json")) == text);
  }
  CHECK(S_ISLNK(mode_of(dir.file("first"))));
  CHECK(S_ISLNK(mode_of(dir.file("there/second"))));
  REQUIRE(symlink("loop", (dir.file("loop")).c_str()) == 0);
  CHECK(refuses(dir.file("loop"), "symbolic links"));
  CHECK(S_ISLNK(mode_of(dir.file("loop"))));
  CHECK(dir.files() == 3);
}

TEST_CASE("a link that another user has put into a folder like /tmp is not followed") {
  if (getuid() != 0) {
    WARN("needs root: links of two users");
    return;
  }
  const TempDir dir;
  REQUIRE(chmod(dir.path().c_str(), 01777) == 0);
  const std::string link = dir.file("link"), own = dir.file("own"), target = dir.file("target");
  std::filesystem::create_symlink(target, link);
  REQUIRE(lchown(link.c_str(), 65534, 65534) == 0);
  CHECK(!write_file(link, "text"));
  CHECK(!std::filesystem::exists(target));
  std::filesystem::create_symlink(target, own);
  CHECK(write_file(own, "text"));
  CHECK(std::filesystem::exists(target));
  CHECK(!write_file(link, "text"));
}

TEST_CASE("a replaced file keeps its permissions") {
  const TempDir dir;
  std::ofstream(dir.file("r.json")) << "old";
  REQUIRE(chmod((dir.file("r.json")).c_str(), 0640) == 0);
  CHECK(write_file(dir.file("r.json"), "new").ok());
  CHECK(read_text(dir.file("r.json")) == "new");
  CHECK((mode_of(dir.file("r.json")) & 0777) == 0640);
}

TEST_CASE("a file that may not be written is not replaced") {
  const TempDir dir;
  REQUIRE(chmod(dir.path().c_str(), 0777) == 0);
  std::ofstream(dir.file("r.json")) << "mine";
  REQUIRE(chmod((dir.file("r.json")).c_str(), 0444) == 0);
  CHECK(refuses_as_user(dir.file("r.json")));
  CHECK(read_text(dir.file("r.json")) == "mine");
  CHECK(dir.files() == 1);
}

TEST_CASE("what is no file is neither replaced nor waited for") {
  const TempDir dir;
  REQUIRE(mkfifo((dir.file("pipe")).c_str(), 0666) == 0);
  CHECK(refuses(dir.file("pipe"), "is a pipe"));
  CHECK(S_ISFIFO(mode_of(dir.file("pipe"))));
  CHECK(refuses(dir.path(), "is a directory"));
  CHECK(dir.files() == 1);
}

TEST_CASE("a character device takes the report and stays one") {
  const TempDir dir;
  REQUIRE(symlink("/dev/null", (dir.file("null")).c_str()) == 0);
  CHECK(write_file(dir.file("null"), "text").ok());
  CHECK(S_ISLNK(mode_of(dir.file("null"))));
  CHECK(S_ISCHR(mode_of("/dev/null")));
  REQUIRE(symlink("/dev/full", (dir.file("full")).c_str()) == 0);
  CHECK(refuses(dir.file("full"), "No space left"));
  if (mknod((dir.file("own")).c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    WARN("no right to make devices: one in the same directory is not tried");
    return;
  }
  CHECK(write_file(dir.file("own"), "text").ok());
  CHECK(S_ISCHR(mode_of(dir.file("own"))));
  CHECK(dir.files() == 3);
}

TEST_CASE("the README and the manual list every key of the report, word for word") {
  std::ifstream in(ONDELOC_TEST_DATA "/../../README.md");
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  std::ifstream page(ONDELOC_TEST_DATA "/../../etc/man/ondeloc.7");
  const std::string manual{std::istreambuf_iterator<char>(page), {}};
  for (const ReportKey& key : report_keys()) {
    const std::string row = "| `" + std::string(key.path) + "` | " + std::string(key.unit) + " | " +
                            std::string(key.meaning) + " |";
    INFO(row);
    CHECK(readme.find(row) != std::string::npos);
    const std::string unit = key.unit.empty() ? "" : " (" + std::string(key.unit) + ")";
    CHECK(manual.find(".TP\n.B " + std::string(key.path) + "\n" + std::string(key.meaning) + unit +
                      "\n") != std::string::npos);
  }
}
