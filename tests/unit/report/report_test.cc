// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "mapcore/base/unique_fd.h"
#include "mapcore/report/report_json.h"
#include "mapcore/report/report_keys.h"
#include "tests/unit/catch.h"
#include "tests/unit/other_user.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

void paths_of(const nlohmann::json& json, const std::string& path, std::set<std::string>& out) {
  const bool whole = path == "options" || path == "model" || path == "origin" ||
                     path == "topology.cores" || path == "notes" || path == "intervals[].moved" ||
                     path == "intervals[].moved_to" || path == "ranks[].gpus" ||
                     path == "ranks[].thread_cpus";
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
  report.numa = {{0, "0-3", 0}};
  report.devices = {{}};
  report.ranks = {{}};
  report.ranks[0].page_nodes = {{0, 1}};
  report.ranks[0].thread_sharing = {{0, 2, 7}};
  report.matrix = {{0, 1, 5, 1}};
  report.off_node = {{0, -1, 5, 1}};
  report.off_node_matrix = {{0, 7, 4, 1}};
  report.adapters = {{}};
  report.modelled = {{1, -1, 64, 1}};
  report.intervals = {{}};
  report.caches = {{0, "0-3", 1 << 20}};
  report.model = {{"weight", "time"}};
  report.domains = report.intervals[0].domains = {{"llc", 5, 5, 1, 1}};
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

// Runs as an ordinary user, because root may write everything.
bool refuses_as_user(const std::string& path) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    const Status done = write_file(path, "text");
    _exit(!done.ok() && done.error().message().find("Permission denied") != std::string::npos ? 0
                                                                                              : 1);
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

TEST_CASE("64-bit counters survive, and bytes that are not UTF-8 do not lose the report") {
  Report report = full_report();
  report.matrix[0].bytes = UINT64_MAX;
  report.node = "n\xff";
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["matrix"][0]["bytes"] == UINT64_MAX);
  CHECK(json["intervals"][0]["remote_share_before"].is_null());
}

TEST_CASE("intervals and cells take a line each, and no value of them loses the report") {
  Report report = full_report();
  report.matrix.push_back({1, 0, 7, 2});
  report.intervals.resize(3);
  report.intervals[0].gain = std::numeric_limits<double>::infinity();
  report.intervals[1].decision = "\"\n\xff";
  report.intervals[2].bytes = 1e22;
  report.intervals[2].cost_before = 0.1;
  report.intervals[2].moved = {3, 4};
  report.intervals[2].moved_to = {"0-1", "7"};
  const std::string text = to_json(report);
  CHECK(text.find("\n  {\"src\": 1, \"dst\": 0, \"bytes\": 7, \"messages\": 2}\n ]") != text.npos);
  const auto intervals = nlohmann::json::parse(text)["intervals"];
  REQUIRE(intervals.size() == 3);
  CHECK(intervals[0]["gain"].is_null());
  CHECK(intervals[0]["t"].is_number_float());
  CHECK(intervals[1]["decision"] == "\"\n\ufffd");
  CHECK(intervals[2]["bytes"] == 1e22);
  CHECK(intervals[2]["cost_before"] == 0.1);
  CHECK(intervals[2]["moved"] == nlohmann::json({3, 4}));
  CHECK(intervals[2]["moved_to"] == nlohmann::json({"0-1", "7"}));
  CHECK(std::count(text.begin() + text.find("\"intervals\""), text.end(), '\n') == 6);
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

TEST_CASE("a report for the site is for its user, and for the group of a directory that has one") {
  const TempDir dir;
  const std::string name = site_report_name(7, 2, "n1");
  CHECK(name == "ondeloc-7.2.n1.json");
  CHECK(site_report_name(7, 2, "n1", 3) == "ondeloc-7.r3.2.n1.json");
  CHECK(write_site_report(dir.path(), name, "text").ok());
  CHECK((mode_of(dir.file(name)) & 0777) == 0600);
  REQUIRE(chmod(dir.path().c_str(), 03733) == 0);
  CHECK(write_site_report(dir.path(), name, "new").ok());
  CHECK((mode_of(dir.file(name)) & 0777) == 0640);
  CHECK(read_text(dir.file(name)) == "new");
  CHECK(dir.files() == 1);
  CHECK_FALSE(write_site_report(dir.file("none"), name, "text").ok());
}

TEST_CASE("a report for the site never changes the mode of a device") {
  const TempDir dir;
  REQUIRE(symlink("/dev/null", dir.file("ondeloc-7.2.n1.json").c_str()) == 0);
  const mode_t before = std::filesystem::exists("/dev/null") ? mode_of("/dev/null") : 0;
  CHECK(write_site_report(dir.path(), "ondeloc-7.2.n1.json", "text").ok());
  CHECK(mode_of("/dev/null") == before);
}

TEST_CASE("a report does not take the place of another user's in a directory of all", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to act as two users");
  const SharedDir shared;
  const std::string directory = shared.file(""), name = "ondeloc-7.2.n1.json";
  CHECK(as_user(kAttacker, [&] { return write_site_report(directory, name, "theirs").ok(); }));
  CHECK(as_user(kVictim, [&] { return !write_site_report(directory, name, "mine").ok(); }));
  CHECK(read_text(shared.file(name)) == "theirs");
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

TEST_CASE("a link that another user has put into a folder like /tmp is not followed", "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to act as two users");
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

TEST_CASE("pipes and directories are neither replaced nor waited for") {
  const TempDir dir;
  REQUIRE(mkfifo((dir.file("pipe")).c_str(), 0666) == 0);
  CHECK(refuses(dir.file("pipe"), "is a pipe; name a file instead"));
  const UniqueFd reader(open(dir.file("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  CHECK(refuses(dir.file("pipe"), "is a pipe; name a file instead"));
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
  CHECK(dir.files() == 2);
}

TEST_CASE("a device in the same folder takes the report", "[device]") {
  const TempDir dir;
  if (mknod(dir.file("own").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    ONDELOC_SKIP("needs the right to make devices");
  CHECK(write_file(dir.file("own"), "text").ok());
  CHECK(S_ISCHR(mode_of(dir.file("own"))));
  CHECK(dir.files() == 1);
}

// Swaps two names as fast as it can (renameat2(2)), until the parent ends it.
pid_t swap_forever(const std::string& a, const std::string& b) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (setgid(kAttacker) != 0 || setuid(kAttacker) != 0) _exit(1);
  for (;;) renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
}

TEST_CASE(
    "names that another user swaps never take the report, and no writer waits for a pipe of that "
    "user",
    "[root]") {
  if (!can_change_user()) ONDELOC_SKIP("needs root, to act as two users");
  const SharedDir dir;
  const std::string name = dir.file("race.json"), other = dir.file("other");
  REQUIRE(as_user(kAttacker, [&] {
    write_text(name, "");
    return chmod(name.c_str(), 0666) == 0 && mkfifo(other.c_str(), 0666) == 0 &&
           chmod(other.c_str(), 0666) == 0;
  }));
  const pid_t attacker = swap_forever(name, other);
  const bool never_written = as_user(kVictim, [&] {
    alarm(60);  // a pipe that is waited for ends the child
    for (int i = 0; i < 20'000; ++i) {
      if (write_file(name, "secret").ok()) return false;
    }
    return true;
  });
  kill(attacker, SIGKILL);
  waitpid(attacker, nullptr, 0);
  CHECK(never_written);
  for (const std::string& file : {name, other}) {
    if (S_ISREG(mode_of(file))) CHECK(read_text(file).empty());
  }
}

TEST_CASE("ondeloc-report(5) lists every key of the report, word for word, and no other") {
  std::ifstream page(test_data() + "/../../etc/man/ondeloc-report.5");
  const std::string manual{std::istreambuf_iterator<char>(page), {}};
  std::string table;
  for (const ReportKey& key : report_keys()) {
    const std::string unit = key.unit.empty() ? "" : " (" + std::string(key.unit) + ")";
    table += ".TP\n.B " + std::string(key.path) + "\n" + std::string(key.meaning) + unit + "\n";
  }
  CHECK(manual.find(".PD 0\n" + table + ".PD\n") != std::string::npos);
}
