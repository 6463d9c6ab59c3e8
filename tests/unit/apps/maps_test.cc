// SPDX-License-Identifier: Apache-2.0
// Messages of map, evaluate, compare, replay and topology about odd input.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

#include "mapcore/base/quantity.h"
#include "mapcore/rankfile/rankfile.h"
#include "mapcore/rankfile/resolve.h"
#include "mapcore/topology/load.h"
#include "tests/unit/apps/command.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

bool says(const Ran& ran, const std::string& words) {
  return ran.err.find(words) != std::string::npos;
}

std::string two_ranks(const TempDir& dir) {
  write_text(dir.file("two.mat"), "0 1\n1 0\n");
  return dir.file("two.mat");
}

}  // namespace

TEST_CASE("JSON of any depth is one sentence") {
  const TempDir dir;
  const std::string matrix = two_ranks(dir), deep = dir.file("deep.json");
  constexpr std::size_t kDepth = 200000;
  write_text(deep, R"({"a":)" + std::string(kDepth, '[') + std::string(kDepth, ']') +
                       R"(,"matrix":[],"ranks":[]})");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"evaluate", "-t", "pu:2", "-m", matrix, "--mapping", deep},
        {"map", "-t", "pu:2", "-m", matrix, "-p", deep},
        {"profile", "info", deep}}) {
    CAPTURE(words[0], words[1]);
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(says(ran, "nest deeper than 64"));
  }
  write_text(deep, R"({"a":")" + std::string(kDepth, '[') +
                       R"(","ranks":[{"rank":0,"pus":[0]},{"rank":1,"pus":[1]}]})");
  CHECK(run_command(dir, {"map", "-t", "pu:2", "-m", matrix, "-p", deep}).status == 0);
}

TEST_CASE("quantities have a unit, and the error says which") {
  const TempDir dir;
  const std::string matrix = two_ranks(dir);
  write_text(dir.file("i.csv"), "interval,src,dst,bytes\n0,0,1,10\n");
  const std::vector<std::string> map{"map", "-t", "pu:2", "-m", matrix};
  const std::vector<std::string> replay{"replay", "-t", "pu:2", "-i", dir.file("i.csv")};
  struct Number {
    const std::vector<std::string>& command;
    std::string option, value, problem;
  };
  for (const Number& number :
       {Number{map, "--bandwidth", "20", "has no unit; write for example 20MB/s or 20GB/s"},
        Number{map, "--bandwidth", "20GB", "is not a bandwidth"},
        Number{map, "--bandwidth", "nan", "is not a bandwidth"},
        Number{map, "--bandwidth", "0B/s", "is out of range; use a value from 1B/s to 1EB/s"},
        Number{map, "--link-bandwidth", "inf", "is not a bandwidth"},
        Number{map, "--remote-distance", "nan", "is not a number from 10 to"},
        Number{replay, "--interval", "1", "has no unit; write for example 1ms or 1s"},
        Number{replay, "--interval", "0s", "is out of range"},
        Number{replay, "--max-interval", "nan", "is not a time"},
        Number{replay, "--resident", "4", "has no unit"},
        Number{replay, "--threshold", "nan", "is not a number from 0 to 1"},
        Number{replay, "--slope", "nan", "is not a number from 1"}}) {
    CAPTURE(number.option, number.value);
    std::vector<std::string> words = number.command;
    words.insert(words.end(), {number.option, number.value});
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 2);
    CHECK(says(ran, number.option + ": '" + number.value + "' " + number.problem));
    CHECK(ran.err.size() < 250);
  }
  std::vector<std::string> words = map;
  words.insert(words.end(), {"--bandwidth", "20GB/s", "--link-bandwidth", "5 GB/s"});
  CHECK(run_command(dir, words).status == 0);
}

TEST_CASE("a misspelt option is named, also if a required one is missing") {
  const TempDir dir;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"map", "--matirx", "x.mat"},
        {"profile", "--matirx"},
        {"--matirx"}}) {
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 2);
    CHECK(says(ran, "ondeloc: '--matirx' is not an option of 'ondeloc"));
    CHECK(says(ran, "; did you mean --matrix?\n") == (words.front() == "map"));
  }
  CHECK(says(run_command(dir, {"map"}), "ondeloc: FILE is required\n"));
}

TEST_CASE("help prints the text of an argument that is an option too once") {
  const TempDir dir;
  for (const char* command : {"compare", "map"}) {
    const std::string help = run_command(dir, {command, "--help"}).out;
    CHECK(help.find("REQUIRED") == help.rfind("REQUIRED"));
    CHECK(help.find("the same as FILE") != std::string::npos);
  }
}

TEST_CASE("the help of every command fits 80 columns") {
  const TempDir dir;
  std::vector<std::vector<std::string>> commands = {{}};
  for (const std::string& name : every_command(dir)) {
    const std::size_t blank = name.find(' ');
    commands.push_back({name.substr(0, blank)});
    if (blank != name.npos) commands.back().push_back(name.substr(blank + 1));
  }
  for (const std::vector<std::string>& command : commands) {
    std::vector<std::string> words = command;
    words.push_back("--help");
    const Ran ran = run_command(dir, words);
    CAPTURE(words);
    CHECK(ran.status == 0);
    CHECK(ran.out.find("\n\n\n") == std::string::npos);
    CHECK((ran.out.find("'ondeloc help COMMAND'") == std::string::npos) != command.empty());
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE(
    "errors name the end of a long path, the unknown command, and standard input given twice") {
  const TempDir dir;
  const std::string folder = dir.file("a_project_with_a_long_name/and_a_folder_with_another");
  std::filesystem::create_directories(folder);
  const Ran missing =
      run_command(dir, {"map", "-t", "pu:2", "-m", folder + "/second_of_two_matrices.csv"});
  CHECK(missing.status == 1);
  CHECK(says(missing, "and_a_folder_with_another/second_of_two_matrices.csv"));
  const Ran bogus = run_command(dir, {"bogus", "-t", "pu:2"});
  CHECK(bogus.status == 2);
  CHECK(says(bogus, "'bogus' is not a command; use one of map,"));
  const Ran inner = run_command(dir, {"profile", "bogus"});
  CHECK(inner.status == 2);
  CHECK(says(inner, "'bogus' is not a command; use one of import,"));
  const Ran close = run_command(dir, {"repaly", "x"});
  CHECK(close.status == 2);
  CHECK(close.err ==
        "ondeloc: 'repaly' is not a command; did you mean replay?\n"
        "ondeloc: 'ondeloc --help' tells more\n");
  CHECK(says(run_command(dir, {"profile"}), "'ondeloc profile' needs a command"));
  const std::string matrix = two_ranks(dir);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"evaluate", "-m", "-", "--mapping", "-"},
        {"map", "-m", "-", "-p", "-"},
        {"compare", "-m", "-", "-p", "-"},
        {"replay", "-i", "-", "-p", "-"}}) {
    CAPTURE(words[0]);
    const Ran ran = run_command(dir, words, 0, matrix);
    CHECK(ran.status == 1);
    CHECK(says(ran, "standard input (-) can be read only once"));
  }
}

namespace {

using Json = nlohmann::json;

Json json_of(const TempDir& dir, std::vector<std::string> words) {
  words.insert(words.end(), {"-f", "json"});
  const Ran ran = run_command(dir, words);
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return Json::parse(ran.out);
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

std::string ring(const TempDir& dir, int ranks) {
  std::string text = "src,dst,bytes\n";
  for (int i = 0; i < ranks; ++i)
    text += std::to_string(i) + "," + std::to_string((i + 1) % ranks) + ",1000000\n";
  write_text(dir.file("ring.csv"), text);
  return dir.file("ring.csv");
}

}  // namespace

TEST_CASE("replay compares costs of the same intervals") {
  const TempDir dir;
  const std::vector<std::string> words{"replay", "-t", "numa:2 core:2 pu:1", "-i",
                                       two_pairs(dir, 1000)};
  const Json replay = json_of(dir, words);
  bool several = false;
  for (const Json& step : replay["intervals"]) {
    if (!step["looked"].get<bool>()) continue;
    const Json& look = step["look"];
    several = several || look["intervals"] > 1;
    CHECK(look["cost"].get<double>() ==
          Approx(look["intervals"].get<int>() * step["cost"].get<double>()));
    CHECK(look["candidate"].get<double>() < look["cost"].get<double>());
  }
  CHECK(several);
  const Ran table = run_command(dir, words);
  CHECK(table.out.find("their cost") != std::string::npos);
  CHECK(widest_line(table.out) <= 80);
}

TEST_CASE("replay counts the memory that moves with a rank, and layouts in the whole machine") {
  const TempDir dir;
  std::string text = "interval,src,dst,bytes\n";
  for (int i = 0; i < 12; ++i) {
    for (const char* pair : {"0,2", "1,3"})
      text += std::to_string(i) + "," + pair + ",1000000000\n";
  }
  write_text(dir.file("i.csv"), text);
  const std::vector<std::string> words{
      "replay", "-t", "numa:2 core:4 pu:1", "-i", dir.file("i.csv"), "--cpuset", "2-6"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return json_of(dir, more);
  };
  CHECK(with({})["migration"] == 0.0004);
  CHECK(with({"--resident", "100MB"})["migration"] > 0.005);
  CHECK(with({"--resident", "20TB"})["migration"] == 0);  // never worth it
  // Nnch counts CPUs 0 and 1 too, as `map` does: without them both pairs would be together.
  const Json lama = with({"-a", "lama:Nnch", "--always"});
  CHECK(lama["intervals"].back()["remote_share"] == 1);
}

TEST_CASE("a relative rankfile says the same CPUs to who counts inside the cpuset") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4);
  const std::vector<std::string> words{
      "map", "-t", "numa:2 core:4 pu:1", "--cpuset", "2-3,5-6", "-m", matrix, "-f", "rankfile"};
  std::vector<std::string> relative = words;
  relative.emplace_back("--relative");
  const Ran absolute = run_command(dir, words), inside = run_command(dir, relative);
  REQUIRE(absolute.status == 0);
  REQUIRE(inside.status == 0);
  CHECK(absolute.out != inside.out);
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const CpuSet usable = *CpuSet::parse_list("2-3,5-6");
  const auto all = *parse_rankfile(absolute.out, "a"), some = *parse_rankfile(inside.out, "b");
  REQUIRE(some.entries.size() == 4);
  for (const auto& [rank, entry] : some.entries)
    CHECK(*resolve_slots(entry, machine, usable, true) ==
          *resolve_slots(all.entries.at(rank), machine, usable, false));
  // It is read back as it was meant.
  CHECK(some.relative);
  CHECK(!all.relative);
  write_text(dir.file("absolute"), absolute.out);
  write_text(dir.file("inside"), inside.out);
  const auto evaluated = [&](const std::string& file) {
    return run_command(dir, {"evaluate", "-t", "numa:2 core:4 pu:1", "--cpuset", "2-3,5-6", "-m",
                             matrix, "--mapping", dir.file(file), "--format", "json"});
  };
  CHECK(evaluated("inside").status == 0);
  CHECK(evaluated("inside").out == evaluated("absolute").out);
  const Ran wrong =
      run_command(dir, {"map", "-t", "numa:2 core:4 pu:1", "-m", matrix, "--relative"});
  CHECK(wrong.status == 1);
  CHECK(wrong.err == "ondeloc: --relative goes with --format rankfile only\n");
}

TEST_CASE("evaluate says how it counts ranks with CPUs of several nodes, unbound ones as compare") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4);
  const std::vector<std::string> on{"-t", "numa:4 core:2 pu:1", "-m", matrix};
  const auto evaluated = [&](const std::string& rankfile) {
    write_text(dir.file("ranks.txt"), rankfile);
    std::vector<std::string> words{"evaluate", "--mapping", dir.file("ranks.txt"), "-f", "json"};
    words.insert(words.end(), on.begin(), on.end());
    return run_command(dir, words);
  };
  const Ran unbound = evaluated(
      "rank 0=+n0 slot=0-7\nrank 1=+n0 slot=0-7\nrank 2=+n0 slot=0-7\nrank 3=+n0 slot=0-7\n");
  CHECK(unbound.err.find("spread evenly") != std::string::npos);
  CHECK(Json::parse(unbound.out)["cost"]["peak_load"] == 1.0);
  std::vector<std::string> words{"compare", "-p",  dir.file("ranks.txt"), "-a", "identity",
                                 "-f",      "json"};
  words.insert(words.end(), on.begin(), on.end());
  const Json compared = Json::parse(run_command(dir, words).out);
  CHECK(compared.dump().find(Json::parse(unbound.out)["cost"]["total"].dump()) !=
        std::string::npos);
  const Ran wide = evaluated(
      "rank 0=+n0 slot=0-2\nrank 1=+n0 slot=3\nrank 2=+n0 slot=4-5\nrank 3=+n0 slot=6-7\n");
  CHECK(wide.err.starts_with("ondeloc: 1 of 4 ranks have CPUs of several NUMA nodes; "));
  CHECK(evaluated("rank 0=+n0 slot=0\nrank 1=+n0 slot=2\nrank 2=+n0 slot=4\nrank 3=+n0 slot=6\n")
            .err.empty());
}

namespace {

double largest_time(const Json& evaluated) {
  double largest = 0;
  for (const char* list : {"nodes", "links", "ports"})
    for (const Json& one : evaluated.value(list, Json::array()))
      largest = std::max(largest, one["bytes"].get<double>() / one["bandwidth"].get<double>());
  return largest;
}

}  // namespace

TEST_CASE("the rows of evaluate have the congestion: joined links and ports of caches too") {
  const TempDir dir;
  std::string traffic = "src,dst,bytes\n", places;
  for (int i = 0; i < 4; ++i) traffic += fmt::format("{},{},1000000000\n", i, i + 4);
  for (int i = 0; i < 8; ++i) places += fmt::format("rank {}=+n0 slot={}\n", i, 2 * i);
  write_text(dir.file("m.csv"), traffic);
  write_text(dir.file("ranks"), places);
  struct Shape {
    std::string topology, list, row;
    Json place;  // of the row in the list
  };
  const Json packages = {{"from_package", 0}, {"to_package", 1}}, nodes = {{"from", 0}, {"to", 1}},
             cache = {{"pus", "0-7"}};
  for (const auto& [topology, list, row, place] :
       {Shape{"package:2 numa:4 core:2 pu:1", "links", "link between packages 0 and 1", packages},
        Shape{"package:2 numa:1 core:8 pu:1", "links", "link between NUMA nodes 0 and 1", nodes},
        Shape{"package:1 numa:1 l3:8 core:8 pu:1", "ports", "port of the cache of CPUs 0-7",
              cache}}) {
    CAPTURE(topology);
    const std::vector<std::string> words{"evaluate",        "-t",        topology,         "-m",
                                         dir.file("m.csv"), "--mapping", dir.file("ranks")};
    const Json json = json_of(dir, words);
    CHECK(largest_time(json) == json["cost"]["congestion"]);
    Json loaded = Json::array();
    for (const Json& one : json[list])
      if (one["bytes"] > 0) loaded.push_back(one);
    REQUIRE(!loaded.empty());
    CHECK(loaded[0]["bytes"] == 4e9);
    for (const auto& [key, value] : place.items()) CHECK(loaded[0][key] == value);
    const std::string text = run_command(dir, words).out;
    CAPTURE(text);
    CHECK(text.find(fmt::format("  {}\n", row)) != std::string::npos);
    CHECK(text.find(row) == text.rfind(row));
    const std::string time = seconds_text(json["cost"]["congestion"]);
    CHECK(text.find(fmt::format(" {}  ", time)) != std::string::npos);
  }
}

TEST_CASE("lama costs the same in map, compare and evaluate, binding included") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4), machine = "package:2 numa:1 core:2 pu:2";
  for (const std::string algorithm : {"lama:scbnh", "lama:hcsbn/bind=1s", "lama:scbnh/bind=1n"}) {
    CAPTURE(algorithm);
    const Json map = json_of(dir, {"map", "-t", machine, "-m", matrix, "-a", algorithm});
    write_text(dir.file("m.json"), map.dump());
    const Json compare = json_of(dir, {"compare", "-t", machine, "-m", matrix, "-a", algorithm});
    const Json cost =
        json_of(dir, {"evaluate", "-t", machine, "-m", matrix, "--mapping", dir.file("m.json")});
    CHECK(compare[0]["total"] == map["cost"]["total"]);
    CHECK(cost["cost"]["total"] == map["cost"]["total"]);
  }
}

TEST_CASE("ranks that all have the same CPUs of several nodes cost the same in map and evaluate") {
  const TempDir dir;
  const std::string matrix = ring(dir, 5), machine = "numa:2 core:2 pu:1";
  const Json map = json_of(dir, {"map", "-t", machine, "-m", matrix, "-c", "4", "--oversubscribe"});
  write_text(dir.file("m.json"), map.dump());
  const Ran ran = run_command(dir, {"evaluate", "-t", machine, "-m", matrix, "-f", "json",
                                    "--mapping", dir.file("m.json")});
  CHECK(Json::parse(ran.out)["cost"]["total"] == map["cost"]["total"]);
}

TEST_CASE("a mapping computed again from itself moves no rank, even if there are idle threads") {
  const TempDir dir;
  write_text(dir.file("m.mat"), "0 9 9 9 0\n9 0 9 9 0\n9 9 0 9 0\n9 9 9 0 0\n0 0 0 0 0\n");
  std::vector<std::string> words{
      "map", "-t", "numa:2 core:2 pu:2", "-m", dir.file("m.mat"), "--remote-distance", "100"};
  const Json first = json_of(dir, words);
  write_text(dir.file("m.json"), first.dump());
  words.insert(words.end(), {"-p", dir.file("m.json")});
  const Json again = json_of(dir, words);
  CHECK(again["cost"]["migrations"] == 0);
  CHECK(again["ranks"] == first["ranks"]);
}

TEST_CASE("the smallest number of bytes is mapped like any other") {
  const TempDir dir;
  write_text(dir.file("m.mat"), "0 5e-324 5e-324 5e-324\n0 0 5e-324 0\n0 0 0 0\n0 0 0 0\n");
  const Ran ran =
      run_command(dir, {"compare", "-t", "numa:2 core:2 pu:1", "-m", dir.file("m.mat")});
  CHECK(ran.status == 0);
  CHECK(ran.told() == 0);
}

TEST_CASE("options that cannot be followed are told") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4), machine = "numa:2 core:2 pu:1",
                    json = dir.file("m.json"), rankfile = dir.file("ranks");
  REQUIRE(run_command(dir, {"map", "-t", machine, "-m", matrix, "-f", "json", "-o", json}).status ==
          0);
  write_text(dir.file("two.csv"), "src,dst,bytes\n0,1,10\n");
  write_text(rankfile, "rank 0=a slot=0\nrank 1=b slot=1\n");
  write_text(dir.file("far"), "rank 0=a slot=0\nrank 1=a slot=1\nrank 5000=a slot=2\n");
  const std::vector<std::string> map{"map", "-t", machine, "-m", matrix};
  struct Wrong {
    std::vector<std::string> words;
    std::string told;
  };
  for (const auto& [words, told] :
       {Wrong{{"map", "-t", machine, "-m", dir.file("two.csv"), "-n", "2", "-p", json},
              "the file places rank 3, but there are 2 ranks (0 to 1)"},
        Wrong{{"map", "-t", machine, "-m", matrix, "-p", json, "-c", "4", "--oversubscribe"},
              "gives rank 0 1 CPU: leave the option out"},
        Wrong{{"map", "-t", machine, "-m", matrix, "-c", "5", "--oversubscribe"},
              "5 CPUs a rank, and there are 4 in all"},
        Wrong{{"map", "-t", machine, "-m", matrix, "-c", "2", "-a", "lama:scbnh"}, "bind=2c"},
        Wrong{{"compare", "-t", machine, "-m", matrix, "-c", "2", "-a", "lama:scbnh"}, "bind=2c"},
        Wrong{{"evaluate", "-t", machine, "-m", dir.file("two.csv"), "--mapping", rankfile},
              "nodes 'a' and 'b' (line 2); a mapping is of one node"},
        Wrong{{"evaluate", "-t", machine, "-m", dir.file("two.csv"), "--mapping", dir.file("far")},
              "the file does not place rank 2"},
        Wrong{{"topology", "-t", machine, "--cpuset", "2-100"},
              "CPUs 4-100 are not among those of the topology, which are 0-3"}}) {
    CAPTURE(told);
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CAPTURE(ran.err);
    CHECK(says(ran, told));
  }
  for (const char* nothing : {"", " "}) {
    const Ran empty = run_command(dir, {"topology", "-t", machine, "--cpuset", nothing});
    CHECK(empty.status == 2);
    CHECK(says(empty, "--cpuset: the list holds no CPU"));
  }
  const Json shared = json_of(dir, {"map", "-t", "core:4 pu:1", "-m", dir.file("two.csv"), "-n",
                                    "3", "-c", "2", "--oversubscribe"});
  for (const Json& rank : shared["ranks"]) CHECK(rank["pus"].size() == 2);
  const std::string wide = dir.file("wide.json");
  REQUIRE(run_command(dir, {"map", "-t", "numa:2 core:4 pu:1", "-m", matrix, "-c", "3",
                            "--oversubscribe", "-a", "packed", "-f", "json", "-o", wide})
              .status == 0);
  const Json again =
      json_of(dir, {"map", "-t", "numa:2 core:4 pu:1", "-m", matrix, "-p", wide, "-a", "random:2"});
  for (const Json& rank : again["ranks"]) CHECK(rank["pus"].size() == 3);
}

TEST_CASE("options that another one leaves without effect are refused") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4), machine = "numa:2 core:2 pu:1",
                    json = dir.file("m.json"), series = dir.file("series.csv");
  write_text(series, "interval,src,dst,bytes\n0,0,1,1000\n1,2,3,1000\n");
  REQUIRE(run_command(dir, {"map", "-t", machine, "-m", matrix, "-f", "json", "-o", json}).status ==
          0);
  struct Wrong {
    std::vector<std::string> words;
    std::string told;
    int status = 2;
  };
  for (const auto& [words, told, status] :
       {Wrong{{"evaluate", "-i", series, "--mapping", json, "-w", "0s:1s"}, "--window excludes"},
        Wrong{{"evaluate", matrix, "--mapping", json, "--interval", "1s"},
              "--interval requires --intervals"},
        Wrong{{"map", matrix, "-p", json, "--spread"}, "--spread excludes --previous"},
        Wrong{{"compare", matrix, "-p", json, "--pack"}, "--pack excludes --previous"},
        Wrong{{"replay", series, "--start", json, "--pack"}, "--pack excludes --previous"},
        Wrong{{"compare", matrix, "--adapter-bandwidth", "1GB/s"},
              "--adapter-bandwidth requires --nodes"},
        Wrong{{"compare", matrix, "--network-latency", "1us"},
              "--network-latency requires --nodes"},
        Wrong{{"explain", series, "--interval", "0", "--rank", "1"}, "--rank excludes --interval"},
        Wrong{{"replay", series, "--interval", "10s", "--max-interval", "1s"},
              "--max-interval: 1 s is below the interval of 10 s",
              1}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"-t", machine});
    const Ran ran = run_command(dir, all);
    CAPTURE(told, ran.err);
    CHECK(ran.status == status);
    CHECK(says(ran, told));
  }
  CHECK(run_command(dir, {"replay", series, "--interval", "60s", "-t", machine}).status == 0);
}

TEST_CASE("tables fit 80 columns, name their columns, and call a node without a number none") {
  const TempDir dir;
  const std::string machines = test_data() + "/topologies/";
  const Ran large = run_command(dir, {"topology", "-t", machines + "192em64t-24n8c2t.xml"});
  REQUIRE(large.status == 0);
  std::string squares = large.out.substr(large.out.find("distance"));
  CHECK(widest_line(squares) <= 80);
  CHECK(squares.find("NUMA node  0  1  2") != std::string::npos);
  const std::string matrix = test_data() + "/npb/cg.A.32/bytes.mat";
  const Ran compared = run_command(dir, {"compare", "-t", "numa:4 core:8 pu:1", "-m", matrix});
  REQUIRE(compared.status == 0);
  CHECK(widest_line(compared.out) <= 80);
}

TEST_CASE("topology draws offline CPUs, joined packages, and caches of several sizes") {
  const TempDir dir;
  const auto drawn = [&](std::vector<std::string> words) {
    words[0] = test_data() + "/topologies/" + words[0];
    words.insert(words.begin(), {"topology", "-t"});
    return run_command(dir, words).out;
  };
  const auto has = [](const std::string& text, const char* line) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  };
  has(drawn({"16em64t-4s2c2t-offlines.xml"}),
      "\noffline, or left out of the file: CPUs 2,5,7-11,13-14\n");
  has(drawn({"epyc-7763-2s8l8c2t.xml"}), "\npackages 0-1\n");
  has(drawn({"hybrid-6c2t-8c1t.xml"}), ", 6 L2 of 1.25 MiB, 2 L2 of 2 MiB\n");
  const std::string part = drawn({"epyc-7763-2s8l8c2t.xml", "--cpuset", "0"});
  has(part, "\n1 of 128 CPUs, 1 NUMA node\n");
  has(part, "\npackage 0\n");
}

TEST_CASE("topology tells memories without CPUs of their own that are alike in one line") {
  const TempDir dir;
  const auto memories = [&](const char* topology) {
    const std::string out = run_command(dir, {"topology", "-t", topology}).out;
    const std::size_t at = out.find("memory only: ");
    return out.substr(at, out.find("\n\n", at) - at);
  };
  CHECK(memories("[numa(memory=4GiB)][numa(memory=1GiB)][numa(memory=1GiB)][numa(memory=2GiB)] "
                 "core:4 pu:1") ==
        "memory only: nodes 1-2, 1 GiB each, near CPUs 0-3\n"
        "memory only: node 3, 2 GiB, near CPUs 0-3");
}

TEST_CASE("topology says which latencies a machine file does not have") {
  const TempDir dir;
  const std::string file = dir.file("node.json");
  write_text(file, R"({"ondeloc_machine": 1, "date": "2026-11-26", "host": "n1", "busy": false,
    "cpus": 4, "llcs": 1, "packages": 1, "domains": {"llc": {"latency_ns": 65, "bandwidth": 15e9,
    "home_other_ns": 70}}, "nodes": [{"os": 0, "alone": 1e11, "shared": 9e10}], "links": [],
    "core_bandwidth": 1.2e10, "port_bandwidth": 0})");
  const std::string machine = "package:1 numa:1 l3:1 core:4 pu:1";
  const Ran with = run_command(dir, {"topology", "-t", machine, "--machine", file});
  INFO(with.out << with.err);
  REQUIRE(with.status == 0);
  CHECK(with.out.find("  LLC           65 ns\n") != std::string::npos);
  CHECK(with.out.find("  machine    not measured\n") != std::string::npos);
  const Json latency = json_of(dir, {"topology", "-t", machine, "--machine", file})["latency"];
  CHECK(latency["llc"] == 65e-9);
  CHECK(latency["machine"] == nullptr);
  const Ran without = run_command(dir, {"topology", "-t", machine});
  CHECK(without.out.find("not measured") == std::string::npos);
}

TEST_CASE("evaluate takes what map made for silent ranks, whatever the matrix is written in") {
  const TempDir dir;
  const std::string machine = "numa:2 core:4 pu:1", mat = dir.file("m.mat"), json = dir.file("j"),
                    csv = dir.file("s.csv");
  write_text(mat, "0 10\n0 0\n");
  write_text(csv, "interval,src,dst,bytes\n0,0,1,10\n");
  const Json map = json_of(dir, {"map", "-t", machine, "-m", mat, "-n", "5"});
  write_text(json, map.dump());
  const std::vector<std::string> words{"evaluate", "-t", machine, "--mapping", json};
  const auto with = [&words](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  CHECK(json_of(dir, with({"-m", mat, "-n", "5"}))["cost"]["total"] == map["cost"]["total"]);
  CHECK(run_command(dir, with({"-i", csv, "-n", "5"})).status == 0);
  CHECK(says(run_command(dir, with({"-m", mat})), "the file places rank 4, but there are 2 ranks"));
  CHECK(says(run_command(dir, with({"-m", mat, "-n", "6"})), "the file does not place rank 5"));
  CHECK(says(run_command(dir, with({"-m", mat, "-n", "1"})), "1 is below the 2 ranks"));
}

TEST_CASE("a mapping that does not fit this machine may be of another: --topology says which") {
  const TempDir dir;
  const std::string matrix = two_ranks(dir), json = dir.file("m.json"), ranks = dir.file("ranks"),
                    hint = "(on this machine; name the machine of the ranks with --topology)";
  write_text(json, R"({"ranks":[{"rank":0,"pus":[0]},{"rank":1,"pus":[4095]}]})");
  write_text(ranks, "rank 0=a slot=0\nrank 1=a slot=4095\n");
  for (const std::string& file : {json, ranks}) {
    CAPTURE(file);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"evaluate", "-m", matrix, "--mapping", file},
          {"compare", "-m", matrix, "-p", file},
          {"map", "-m", matrix, "-n", "2", "--oversubscribe", "-p", file}}) {
      const Ran here = run_command(dir, words);
      CHECK(here.status == 1);
      CHECK(here.told() == 1);
      CHECK(says(here, hint));
    }
    const Ran there = run_command(dir, {"evaluate", "-t", "pu:2", "-m", matrix, "--mapping", file});
    CHECK(there.status == 1);
    CHECK(!says(there, hint));
  }
}

TEST_CASE("a mapping may begin with a byte order mark") {
  const TempDir dir;
  for (const char* text : {R"({"ranks":[{"rank":0,"pus":[0]},{"rank":1,"pus":[1]}]})",
                           "rank 0=a slot=0\nrank 1=a slot=1\n"}) {
    write_text(dir.file("mapping"), std::string("\xEF\xBB\xBF") + text);
    const Ran ran = run_command(dir, {"evaluate", "-t", "core:2 pu:1", "-m", two_ranks(dir),
                                      "--mapping", dir.file("mapping")});
    CAPTURE(text, ran.err);
    CHECK(ran.status == 0);
  }
}

TEST_CASE("an option with nothing in it is not one that is left out") {
  const TempDir dir;
  const std::string matrix = ring(dir, 4), machine = "numa:2 core:2 pu:1";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"topology", "-t", ""},
           {"map", "-t", machine, "-m", matrix, "-p", ""},
           {"map", "-t", machine, "-m", matrix, "-o", ""},
           {"compare", "-t", machine, "-m", matrix, "--previous="},
           {"replay", "-t", machine, "-i", matrix, "--start", ""},
           {"profile", "map", matrix, "-p", ""},
           {"profile", "metrics", matrix, "-w", ""},
           {"profile", "metrics", matrix, "--memory", ""},
           {"profile", "export", matrix, "-o", ""},
           {"profile", "heatmap", matrix, "-o", "p.svg", "-m", ""}}) {
    CAPTURE(words.front(), words[words.size() - 2]);
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
  }
}

TEST_CASE("an input without a name is called so") {
  const TempDir dir;
  const Ran ran = run_command(dir, {"map", "-t", "pu:2", "-m", ""});
  CHECK(ran.status == 1);
  CHECK(says(ran, "ondeloc: a file without a name: No such file or directory\n"));
}

TEST_CASE("the command tells its version") {
  const TempDir dir;
  const Ran ran = run_command(dir, {"--version"});
  CHECK(ran.status == 0);
  CHECK(ran.out.starts_with("ondeloc "));
}

TEST_CASE("bash completes what there is, and nothing from the examples") {
  const TempDir dir;
  const auto completed = [&dir](const std::string& words) {
    const std::string script = "COMP_WORDS=(\"$0\" " + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); . \"$1\"; _ondeloc; "
                               "echo \" ${COMPREPLY[*]} \"";
    return run_program(
               dir, "/bin/bash",
               {"-c", script, ONDELOC_COMMAND, test_data() + "/../../etc/completion/ondeloc"})
        .out;
  };
  CHECK(completed("''") ==
        " map evaluate compare place replay report explain top site heatmap algorithms topology "
        "measure profile threads help \n");
  CHECK(completed("threads ''") == " record \n");
  CHECK(completed("threads record --sa") == " --sample \n");
  CHECK(completed("help rep") == " replay report \n");
  CHECK(completed("profile ''").find(" import info merge export ") != std::string::npos);
  CHECK(completed("profile --progress-after 1s ti") == " timeline \n");
  CHECK(completed("map --cpu") == " --cpus-per-task --cpuset \n");
  CHECK(completed("map --o") == " --oversubscribe --output \n");
  CHECK(completed("profile map --w") == " --window --weight \n");
  CHECK(completed("profile map --p") == " --pack --previous \n");
  CHECK(completed("replay --s") == " --spread --start --seconds --slope \n");
  CHECK(completed("map -f ''") ==
        " table json rankfile cpu-bind omp-places gomp likwid taskset \n");
  CHECK(completed("profile heatmap p --scale l") == " log linear \n");
  CHECK(completed("compare -a p") == " packed \n");
  CHECK(completed("map -m ''") == "  \n");
  CHECK(completed("place --on") == "  \n");  // an example has srun --ondeloc
  CHECK(completed("map --format = rank") == " rankfile \n");
  CHECK(completed("map --format=rank") == " --format=rankfile \n");
  CHECK(completed("compare -a packed,sc") == " packed,scatter \n");
}

TEST_CASE("a profile of threads becomes a rankfile with the threads of a rank") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("t.prof"), small_header(4));
  REQUIRE(writer.ok());
  for (const std::uint32_t thread : {0u, 1u}) {
    REQUIRE(writer->add({1, thread, thread + 2, 64}).ok());
  }
  REQUIRE(writer->add_threads(std::vector<ThreadLabel>{{0, "main", ""}, {1, "", "work"}}).ok());
  REQUIRE(writer->finish().ok());
  const std::vector<std::string> machine{"-t", "package:2 core:2 pu:1"};
  const std::string out = dir.file("ranks.txt");
  const Ran ran = run_command(dir, {"map", dir.file("t.prof"), machine[0], machine[1], "-f",
                                    "rankfile", "--rank", "5", "-o", out});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const auto file = read_rankfile(out);
  REQUIRE(file.ok());
  REQUIRE(file->entries.size() == 1);
  CHECK(file->entries.at(WorldRank(5)).threads.size() == 4);
  // Threads 0 and 2 share a package, and so do 1 and 3.
  const Ran costs =
      run_command(dir, {"evaluate", dir.file("t.prof"), machine[0], machine[1], "--mapping", out});
  CAPTURE(costs.out, costs.err);
  CHECK(costs.status == 0);
  const Ran wrong = run_command(dir, {"map", two_ranks(dir), "-t", "pu:2", "--rank", "1"});
  CHECK(wrong.status == 1);
  CHECK(says(wrong, "is not a profile of threads"));
}
