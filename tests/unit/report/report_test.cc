// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "mapcore/report/report_json.h"
#include "tests/unit/catch.h"

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
  std::string name = std::filesystem::temp_directory_path() / "ondeloc-test-XXXXXX";
  const std::string directory = mkdtemp(name.data());
  CHECK(write_file(directory + "/r.json", "text").ok());
  std::string text;
  std::ifstream(directory + "/r.json") >> text;
  CHECK(text == "text");
  const Status failed = write_file(directory + "/none/r.json", "text");
  REQUIRE(!failed.ok());
  CHECK(failed.error().message().find("No such file") != std::string::npos);
  CHECK(std::distance(std::filesystem::directory_iterator(directory), {}) == 1);
  std::filesystem::remove_all(directory);
}

TEST_CASE("the README lists every key of the report, word for word") {
  std::ifstream in(ONDELOC_TEST_DATA "/../../README.md");
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  for (const ReportKey& key : report_keys()) {
    const std::string row = "| `" + std::string(key.path) + "` | " + std::string(key.unit) + " | " +
                            std::string(key.meaning) + " |";
    INFO(row);
    CHECK(readme.find(row) != std::string::npos);
  }
}
