// SPDX-License-Identifier: Apache-2.0
// The first things that a user tries: the bare command, help, copied examples, a file of any kind
// behind any command.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <sstream>

#include "tests/unit/apps/command.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

constexpr const char* kTopology = "numa:2 core:2 pu:1";

// Files of every kind in a folder, of four ranks.
void write_inputs(const TempDir& dir) {
  write_text(dir.file("events.csv"),
             "time_us,src,dst,bytes\n0,0,1,1000\n5,1,0,3000\n900000,2,3,7000\n");
  REQUIRE(
      run_command(dir, {"profile", "import", dir.file("events.csv"), "-o", dir.file("app.prof")})
          .status == 0);
  for (const char* node : {"n1", "n2"}) {
    profile_format::FileHeader header = small_header(4);
    header.node = node;
    header.local_ranks = 2;
    auto writer = ProfileWriter::create(dir.file(std::string("app.prof.") + node), header);
    REQUIRE(writer->add({5, 0, 1, 10}).ok());
    REQUIRE(writer->finish().ok());
  }
  write_text(dir.file("bytes.mat"), "0 9 0 0\n9 0 0 0\n0 0 0 9\n0 0 9 0\n");
  write_text(dir.file("pairs.csv"), "src,dst,bytes\n0,1,9\n2,3,9\n");
  write_text(dir.file("intervals.csv"), "interval,src,dst,bytes\n0,0,1,9\n1,2,3,9\n");
  write_text(dir.file("report.json"), R"({"version":1,"node":"n1",
    "ranks":[{"rank":0,"final_cpus":"0"},{"rank":1,"final_cpus":"1"},
             {"rank":2,"final_cpus":"2"},{"rank":3,"final_cpus":"3"}],
    "matrix":[{"src":0,"dst":1,"bytes":9,"messages":1},{"src":2,"dst":3,"bytes":9,"messages":1}],
    "intervals":[{"t":0.5,"bytes":9,"decision":"waits"},
                 {"t":1.5,"bytes":9,"cost_before":0.1,"decision":"small","gain":0.02,
                  "threshold":0.03,"horizon":30}]})");
  write_text(dir.file("ranks.txt"),
             "rank 0=n slot=0\nrank 1=n slot=1\nrank 2=n slot=2\n"
             "rank 3=n slot=3\n");
  std::filesystem::copy_file(test_data() + "/topologies/32em64t-2n8c2t-pci-normalio.xml",
                             dir.file("node.xml"));
  REQUIRE(run_command(dir, {"map", "-t", kTopology, dir.file("bytes.mat"), "-f", "json", "-o",
                            dir.file("mapping.json")})
              .status == 0);
}

// The text with its broken lines put together.
std::string one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\n  "), " ");
}

struct InputCase {
  const char* file;
  bool traffic, series, mapping, events;
  const char* what;
};
constexpr InputCase kInputs[] = {
    {"app.prof", true, true, false, true, "a profile"},
    {"report.json", true, true, true, false, "the report of an online run"},
    {"bytes.mat", true, false, false, false, "a matrix"},
    {"pairs.csv", true, false, false, false, "a matrix in CSV"},
    {"intervals.csv", true, true, false, false, "a series of matrices in CSV"},
    {"mapping.json", false, false, true, false, "a mapping in JSON"},
    {"ranks.txt", false, false, true, false, "a rankfile"},
    {"events.csv", false, false, false, false, "a list of messages"},
    {"node.xml", false, false, false, false, "the topology of a machine"},
};

}  // namespace

TEST_CASE("every command takes every kind of file that holds what it needs, and names any other") {
  const TempDir dir;
  write_inputs(dir);
  const std::string mapping = dir.file("mapping.json"), matrix = dir.file("bytes.mat"),
                    series = dir.file("intervals.csv");
  struct Command {
    bool InputCase::*needs;
    std::vector<std::string> words;  // "?" is the file
  };
  const Command commands[] = {
      {&InputCase::traffic, {"map", "-t", kTopology, "?"}},
      {&InputCase::traffic, {"map", "-t", kTopology, "-m", "?"}},
      {&InputCase::traffic, {"compare", "-t", kTopology, "?", "-a", "packed"}},
      {&InputCase::traffic, {"evaluate", "-t", kTopology, "?", "--mapping", mapping}},
      {&InputCase::traffic, {"heatmap", "?", "-o", "-"}},
      {&InputCase::traffic, {"place", "-N", "2", "-t", kTopology, "?"}},
      {&InputCase::traffic, {"profile", "info", "?"}},
      {&InputCase::traffic, {"profile", "export", "?", "-f", "matrix"}},
      {&InputCase::traffic, {"profile", "map", "-t", kTopology, "?"}},
      {&InputCase::series, {"replay", "-t", kTopology, "?"}},
      {&InputCase::traffic, {"profile", "heatmap", "?", "-o", "-"}},
      {&InputCase::series, {"explain", "-t", kTopology, "?"}},
      {&InputCase::series, {"report", "-t", kTopology, "?"}},
      {&InputCase::series, {"replay", "-t", kTopology, "-i", "?"}},
      {&InputCase::series, {"evaluate", "-t", kTopology, "-i", "?", "--mapping", mapping}},
      {&InputCase::mapping, {"evaluate", "-t", kTopology, matrix, "--mapping", "?"}},
      {&InputCase::mapping, {"map", "-t", kTopology, matrix, "-p", "?"}},
      {&InputCase::mapping, {"compare", "-t", kTopology, matrix, "-a", "packed", "-p", "?"}},
      {&InputCase::mapping, {"replay", "-t", kTopology, series, "-p", "?"}},
      {&InputCase::mapping, {"explain", "-t", kTopology, series, "-p", "?"}},
      {&InputCase::mapping, {"report", "-t", kTopology, series, "-p", "?"}},
      {&InputCase::mapping, {"heatmap", matrix, "-t", kTopology, "-m", "?", "-o", "-"}},
      {&InputCase::events, {"profile", "clusters", "?"}},
      {&InputCase::events, {"profile", "metrics", "?"}},
      {&InputCase::events, {"profile", "classify", "-t", kTopology, "?"}},
      {&InputCase::events, {"profile", "timeline", "?", "-o", "-"}},
      {&InputCase::events, {"profile", "survey", "?"}},
  };
  for (const Command& command : commands) {
    for (const InputCase& input : kInputs) {
      for (const bool by_pipe : {false, true}) {
        std::vector<std::string> words = command.words;
        const std::string file = dir.file(input.file);
        std::replace(words.begin(), words.end(), std::string("?"), by_pipe ? "-" : file);
        // These two tell of a recorded run, which they do not replay on a topology.
        if (file.ends_with("report.json") && (words[0] == "explain" || words[0] == "report") &&
            command.needs == &InputCase::series)
          words.erase(words.begin() + 1, words.begin() + 3);
        const Ran ran = run_command(dir, words, 0, by_pipe ? file : "");
        CAPTURE(words, input.file, ran.err);
        CHECK(ran.status == (input.*command.needs ? 0 : 1));
        if (input.*command.needs) continue;
        CHECK(ran.told() == 1);
        CHECK(ran.err.find(std::string("' is ") + input.what) != std::string::npos);
      }
    }
  }
}

TEST_CASE("the bare command and `help` print what there is") {
  const TempDir dir;
  const Ran bare = run_command(dir, {});
  CHECK(bare.status == 0);
  CHECK(run_command(dir, {"help"}).out == bare.out);
  for (const char* command :
       {"map", "place", "evaluate", "compare", "replay", "report", "explain", "heatmap", "profile"})
    CHECK(bare.out.find(std::string("\n  ") + command + " ") != std::string::npos);
  CHECK(run_command(dir, {"help", "map"}).out == run_command(dir, {"map", "--help"}).out);
  CHECK(run_command(dir, {"help", "profile", "info"}).out ==
        run_command(dir, {"profile", "info", "--help"}).out);
  CHECK(run_command(dir, {"help", "mpa"})
            .err.starts_with("ondeloc: 'mpa' is not a command; did you mean map?\n"));
}

TEST_CASE("a command tells the CPUs that it gives each rank by default") {
  const TempDir dir;
  write_text(dir.file("r.json"), R"({"version":1,"node":"n1","matrix":[],"intervals":[],
    "ranks":[{"rank":0,"initial_cpus":"0-1"},{"rank":1,"initial_cpus":"2-3"}]})");
  const Ran mapped = run_command(dir, {"map", dir.file("r.json"), "-t", kTopology, "-f", "json"});
  CHECK(nlohmann::json::parse(mapped.out)["ranks"][0]["pus"].size() == 2);
  const Ran placed =
      run_command(dir, {"place", dir.file("r.json"), "-N", "1", "-t", kTopology, "-f", "json"});
  CHECK(nlohmann::json::parse(placed.out)["nodes"][0]["ranks"][0]["cpus"] == "0");
  for (const char* command : {"map", "compare", "place", "replay", "explain", "report"}) {
    const std::string help =
        std::regex_replace(run_command(dir, {command, "--help"}).out, std::regex("\\s+"), " ");
    const std::string name = command;
    CAPTURE(name, help);
    CHECK(help.find(name == "map" || name == "compare"
                        ? "(default: as many as in the recorded run, or as many of these as fit;"
                        : "CPUs of each rank (default: 1, or a whole core") != std::string::npos);
  }
}

TEST_CASE("a file that is missing is called as --help calls it") {
  const TempDir dir;
  for (const char* command :
       {"map", "compare", "replay", "explain", "report", "heatmap", "place"}) {
    const Ran ran = run_command(dir, {command});
    CAPTURE(command);
    CHECK(ran.status == 2);
    CHECK(ran.err == std::string("ondeloc: FILE is required\nondeloc: 'ondeloc ") + command +
                         " --help' tells more\n");
  }
  CHECK(run_command(dir, {"evaluate", dir.file("m.mat")})
            .err.starts_with("ondeloc: --mapping is required\n"));
}

TEST_CASE("a value that is missing, given twice or one too many is told in a sentence") {
  const TempDir dir;
  const auto told = [&](std::vector<std::string> words) {
    const Ran ran = run_command(dir, std::move(words));
    CHECK(ran.status == 2);
    return ran.err.substr(0, ran.err.find('\n'));
  };
  CHECK(told({"map", "a.mat", "-n"}) == "ondeloc: --ranks needs a value");
  CHECK(told({"map", "a.mat", "--format="}) == "ondeloc: --format needs a value");
  CHECK(told({"map", "a.mat", "-t", "a", "-t", "b"}) ==
        "ondeloc: --topology is given more than once; give it once");
  CHECK(told({"map", "a.mat", "b.mat"}) ==
        "ondeloc: 'b.mat' is one word too many; 'ondeloc map' takes fewer");
}

TEST_CASE("explain tells what was decided in each interval, and at which rule it failed") {
  const TempDir dir;
  write_inputs(dir);
  const Ran all = run_command(dir, {"explain", dir.file("report.json")});
  CHECK(all.status == 0);
  CHECK(all.out.find("small") != std::string::npos);
  CHECK(one_line(all.out).find(
            "verdict: could have gained 1.3 % of the run (20 ms), predicted, but was not "
            "moved because the gain is below the threshold\n") != std::string::npos);
  const Ran one = run_command(dir, {"explain", dir.file("report.json"), "--interval", "1"});
  CHECK(one.out.find("interval 1, 500 ms to 1.5 s: small;") == 0);
  CHECK(one.out.find("is it better than the mapping in force?                    yes\n") !=
        std::string::npos);
  CHECK(one.out.find("is the gain above the threshold, migration included?       no\n"
                     "  later rules were not asked\n") != std::string::npos);
  const Ran rank = run_command(dir, {"explain", dir.file("report.json"), "--rank", "2"});
  CHECK(rank.out.find("rank 2 was never moved\n") != std::string::npos);
  const Ran beyond = run_command(dir, {"explain", dir.file("report.json"), "--interval", "2"});
  CHECK(beyond.status == 1);
  CHECK(beyond.err == "ondeloc: --interval: the run has 2 intervals, numbered from 0\n");
  const Ran strange = run_command(dir, {"explain", dir.file("report.json"), "--rank", "4"});
  CHECK(strange.status == 1);
  CHECK(strange.err == "ondeloc: --rank: the run has 4 ranks, numbered 0-3\n");
}

TEST_CASE("explain of a replayed run answers no rule that decide= leaves out") {
  const TempDir dir;
  const std::string series = two_pairs(dir, 1'000'000'000);
  const auto explained = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"explain", series, "-t", kTopology, "--interval", "0"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_command(dir, words);
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    return ran.out;
  };
  const std::string rule = "is it better than the mapping in force?                    ";
  CHECK(explained({}).find(rule + "yes\n") != std::string::npos);
  CHECK(explained({"--always"}).find(rule + "not asked\n") != std::string::npos);
  CHECK(explained({"--many"}).find(rule + "not asked\n") != std::string::npos);
}

TEST_CASE("a report of another version, and one that is cut off, are refused in one sentence") {
  const TempDir dir;
  write_inputs(dir);
  const std::string whole = read_text(dir.file("report.json")), json = dir.file("r.json"),
                    matrix = dir.file("bytes.mat");
  std::string newer = whole;
  newer.replace(whole.find(":1"), 2, ":99");
  const std::string job = R"({"version":1,"job":0,"step":0,"nodes":[)";
  struct Case {
    std::string text, problem;
  };
  const std::string version =
      "' is a report of version 99, and this ondeloc reads version 1; use the ondeloc that wrote "
      "it";
  const std::string cut = "' is damaged or cut off: it is not valid JSON";
  const Case cases[] = {{newer, version},
                        {whole.substr(0, whole.find("\"matrix\"") - 1), cut},
                        {whole.substr(0, whole.size() - 2), cut}};
  const Case jobs[] = {{job + newer + "]}", version},
                       {R"({"version":99,"step":0,"nodes":[)" + whole + "]}", version},
                       {job + whole, cut}};
  const auto check = [&](const std::vector<std::string>& words, const std::string& problem) {
    const Ran ran = run_command(dir, words);
    CAPTURE(words, ran.err, problem);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(ran.err.find("r.json" + problem) != std::string::npos);
  };
  const std::vector<std::vector<std::string>> of_any{
      {"report", json}, {"profile", "info", json}, {"place", "-N", "2", "-t", kTopology, json}};
  const std::vector<std::vector<std::string>> of_one_node{
      {"explain", json},
      {"replay", "-t", kTopology, json},
      {"map", "-t", kTopology, json},
      {"map", "-t", kTopology, matrix, "-p", json},
      {"profile", "merge", json, dir.file("report.json"), "-o", dir.file("out.json")}};
  for (const Case& one : cases) {
    write_text(json, one.text);
    for (const auto& words : of_any) check(words, one.problem);
    for (const auto& words : of_one_node) check(words, one.problem);
  }
  for (const Case& one : jobs) {
    write_text(json, one.text);
    for (const auto& words : of_any) check(words, one.problem);
  }
}

TEST_CASE("explain of a replayed run knows its ranks, which are those of the program") {
  const TempDir dir;
  profile_format::FileHeader header = small_header(8);
  header.node = "n1";
  header.local_ranks = 4;
  auto writer = ProfileWriter::create(dir.file("p"), header);
  for (std::uint64_t t = 0; t < 120; ++t) {  // 12 s; the pairs 4 and 6, 5 and 7 are apart at first
    REQUIRE(writer->add({t * 100'000'000, 4, 6, 100'000'000}).ok());
    REQUIRE(writer->add({t * 100'000'000, 5, 7, 100'000'000}).ok());
  }
  const std::vector<RankDrops> none{{4, 0, 0}, {5, 0, 0}, {6, 0, 0}, {7, 0, 0}};
  REQUIRE(writer->add_drops(none).ok());
  REQUIRE(writer->finish().ok());
  const auto explained = [&](const char* rank) {
    return run_command(dir, {"explain", dir.file("p"), "-t", kTopology, "--rank", rank});
  };
  int moved = 0;
  for (const char* rank : {"4", "5", "6", "7"}) {
    const Ran ran = explained(rank);
    CHECK(ran.status == 0);
    moved += ran.out.find(std::string("rank ") + rank + " was moved in ") != std::string::npos;
  }
  CHECK(moved == 2);
  const Ran strange = explained("3");
  CHECK(strange.status == 1);
  CHECK(strange.err == "ondeloc: --rank: the run has 4 ranks, numbered 4-7\n");
}

TEST_CASE("explain and report of a recorded run refuse the options that only a replay obeys") {
  const TempDir dir;
  write_inputs(dir);
  const std::string report = dir.file("report.json");
  const std::vector<std::vector<std::string>> options{{"--topology", kTopology},
                                                      {"--topology", dir.file("none.xml")},
                                                      {"--weight", "time"},
                                                      {"--ranks", "4"},
                                                      {"--oversubscribe"},
                                                      {"--algorithm", "packed"},
                                                      {"--algorithm", "none"},
                                                      {"--previous", dir.file("mapping.json")},
                                                      {"--seconds", "1s"},
                                                      {"--threshold", "0.5"},
                                                      {"--resident", "4GB"},
                                                      {"--always"},
                                                      {"--many"}};
  for (const char* command : {"explain", "report"}) {
    for (const std::vector<std::string>& option : options) {
      std::vector<std::string> words{command, report};
      words.insert(words.end(), option.begin(), option.end());
      const Ran ran = run_command(dir, words);
      CAPTURE(words);
      CHECK(ran.status == 1);
      CHECK(ran.out.empty());
      CHECK(ran.err.ends_with("report.json' tells what was decided; use 'ondeloc replay' to try " +
                              option[0] + "\n"));
    }
  }
  // A profile beside the report is replayed with them.
  CHECK(run_command(dir, {"report", report, dir.file("app.prof"), "-t", kTopology}).status == 0);
}

TEST_CASE("report tells the same of a run to people and to monitoring") {
  const TempDir dir;
  write_inputs(dir);
  const std::string report = dir.file("report.json");
  const auto as = [&](const char* format) {
    const Ran ran = run_command(dir, {"report", report, "-f", format});
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    return ran.out;
  };
  const std::string text = one_line(as("text"));
  CHECK(text.find("verdict: could have gained 1.3 % of the run") != std::string::npos);
  CHECK(text.find("small") != std::string::npos);
  CHECK(as("prom").find("# TYPE ondeloc_bytes_total counter\n"
                        "ondeloc_bytes_total{job=\"0\",step=\"0\",node=\"n1\"} 18\n") !=
        std::string::npos);
  CHECK(as("influx").starts_with("ondeloc,job=0,step=0,node=n1 ranks=4,"));
  CHECK(as("json").find("\"bytes_total\": 18") != std::string::npos);
  const Ran replayed = run_command(dir, {"report", dir.file("app.prof"), "-t", kTopology});
  CHECK(replayed.status == 0);
  CHECK(replayed.out.find("mode replayed from ") != std::string::npos);
  CHECK(run_command(dir, {"report", report, "-o", report}).status == 1);
}

TEST_CASE("the interval in which a replay moves ranks tells the share after the move") {
  const TempDir dir;
  const std::string series = two_pairs(dir, 900'000'000);
  const Ran report = run_command(dir, {"report", series, "-t", "numa:2 core:2 pu:1"});
  REQUIRE(report.status == 0);
  CAPTURE(report.out);
  CHECK(report.out.find(" 100 % -> 0 % ") != std::string::npos);
}

TEST_CASE("changes of NUMA nodes add up beyond two thousand millions") {
  const TempDir dir;
  std::string ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks += fmt::format(R"({}{{"rank":{},"migrations":1000000000}})", rank > 0 ? "," : "", rank);
  write_text(dir.file("r.json"), R"({"intervals":[],"matrix":[],"ranks":[)" + ranks + "]}");
  const Ran prom = run_command(dir, {"report", dir.file("r.json"), "-f", "prom"});
  CHECK(prom.out.find("ondeloc_migrations_total{job=\"0\",step=\"0\",node=\"\"} 4000000000\n") !=
        std::string::npos);
  const Ran page = run_command(dir, {"report", dir.file("r.json"), "-f", "html"});
  CHECK(page.out.find(R"(["Changes of NUMA node","4000000000"])") != std::string::npos);
}

TEST_CASE("ondeloc(1) names every command and every long option") {
  const TempDir dir;
  const std::string page = read_text(test_data() + "/../../etc/man/ondeloc.1");
  const std::regex option("--([a-z-]+)");
  const std::vector<std::string> commands = every_command(dir);
  REQUIRE(commands.size() >= 24);
  for (const std::string& command : commands) {
    const std::string last = command.substr(command.rfind(' ') + 1);
    CAPTURE(command);
    CHECK(std::regex_search(page, std::regex("\n\\.B[IR]* (map, )?" + last + "\\b")));
    const std::string help =
        run_program(dir, "/bin/sh", {"-c", ONDELOC_COMMAND " " + command + " --help"}).out;
    const std::string options = help.substr(0, help.find("\nExample"));
    for (std::sregex_iterator at(options.begin(), options.end(), option), end; at != end; ++at) {
      std::string name = (*at)[1];
      CAPTURE(name);
      if (name == "ondeloc") continue;
      for (std::size_t dash = 0; (dash = name.find('-', dash)) != name.npos; dash += 2)
        name.insert(dash, 1, '\\');
      CHECK(page.find("\\-\\-" + name) != std::string::npos);
    }
  }
}

TEST_CASE("compare and classify say what a second run would gain, and by which mapping") {
  const TempDir dir;
  const auto verdict_of = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-t", kTopology});
    const std::string out = one_line(run_command(dir, words).out);
    return out.substr(std::min(out.size(), out.find("verdict: ")));
  };
  write_text(dir.file("m.csv"), "src,dst,bytes\n0,2,1000000\n1,3,1000000\n");
  CHECK(verdict_of({"compare", dir.file("m.csv")})
            .starts_with("verdict: a run with coordinated:30 could gain "));
  CHECK(verdict_of({"compare", dir.file("m.csv")})
            .find("predicted from its messages and the cost model's defaults\n") !=
        std::string::npos);
  write_text(dir.file("m.csv"), "src,dst,bytes\n0,1,1000000\n2,3,1000000\n");
  CHECK(verdict_of({"compare", dir.file("m.csv")}).starts_with("verdict: already as good as"));
  std::string events = "time_us,src,dst,bytes\n";
  for (int i = 0; i < 400; ++i)
    events += std::to_string(i * 10000) + "," + std::to_string(i % 2) + "," +
              std::to_string(i % 2 + 2) + ",30000000\n";
  write_text(dir.file("events.csv"), events);
  const std::string profile = dir.file("app.prof");
  REQUIRE(run_command(dir, {"profile", "import", dir.file("events.csv"), "-o", profile}).status ==
          0);
  CHECK(verdict_of({"profile", "classify", profile})
            .starts_with("verdict: a run with coordinated:30 could gain "));
  const Ran json =
      run_command(dir, {"profile", "classify", profile, "-t", kTopology, "-f", "json"});
  CHECK(json.out.find("\"verdict\": \"a run with coordinated:30 could gain ") != std::string::npos);
  const Ran none = run_command(dir, {"profile", "classify", profile, "-t", "numa:1 core:1 pu:1"});
  CHECK(none.status == 0);
  const std::string why =
      "no gain is predicted: 4 ranks of 1 CPU each do not fit on 1 CPU; name their machine with "
      "--topology";
  CHECK(one_line(none.out).ends_with("verdict: " + why + "\n"));
  const Ran null =
      run_command(dir, {"profile", "classify", profile, "-t", "numa:1 core:1 pu:1", "-f", "json"});
  CHECK(null.out.find("\"verdict\": null") != std::string::npos);
  CHECK(null.out.find("\"" + why + "\"\n") != std::string::npos);
}

TEST_CASE("a report without a job and a node is told without them") {
  const TempDir dir;
  write_inputs(dir);
  const Ran ran = run_command(dir, {"report", dir.file("intervals.csv"), "-t", kTopology});
  CHECK(ran.out.starts_with("run: 4 ranks, mode replayed from "));
  CHECK(ran.out.find("\nat stake: messages take ") != std::string::npos);
}

TEST_CASE("messages on a terminal fit its width") {
  const TempDir dir;
  const Ran ran = run_program(
      dir, "/usr/bin/script",
      {"-qec", "stty cols 60; exec " ONDELOC_COMMAND " replay /dev/null 2>&1", "/dev/null"});
  CAPTURE(ran.out);
  CHECK(ran.out.find("ondeloc: '/dev/null' is empty;") != std::string::npos);
  std::istringstream lines(ran.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 61);  // and CR
  CHECK(count >= 2);
}

TEST_CASE("replay ends with a verdict") {
  const TempDir dir;
  const std::string intervals = two_pairs(dir, 1000000000);
  const auto last_line = [&](const std::string& topology) {
    const std::string out = run_command(dir, {"replay", "-t", topology, intervals}).out;
    return one_line(out.substr(out.rfind("\nverdict: ") + 1));
  };
  CHECK(last_line(kTopology).starts_with("verdict: would have moved ranks in 1 of 12 intervals; "));
  CHECK(last_line("numa:1 core:4 pu:1").starts_with("verdict: already as good as it gets: "));
}

TEST_CASE("the verdict of a replay compares the same bytes with and without moves") {
  const TempDir dir;
  std::string series = "interval,src,dst,bytes\n0,0,1,1000\n";  // on one node at the start
  for (int i = 1; i < 12; ++i) series += fmt::format("{0},0,2,1000000000\n{0},1,3,1000000000\n", i);
  write_text(dir.file("late.csv"), series);
  const Ran ran = run_command(dir, {"report", dir.file("late.csv"), "-t", kTopology});
  CAPTURE(ran.out);
  CHECK(one_line(ran.out).find("bytes between NUMA nodes 100 -> 27 %") != std::string::npos);
  // Three of the eleven intervals have passed when the ranks move.
  const std::size_t across = ran.out.find("across packages     22 GB 100 %");
  REQUIRE(across != std::string::npos);
  CHECK(ran.out.find(" 6 GB  27 %", across) != std::string::npos);
  CHECK(ran.out.find("the mapper used") == std::string::npos);  // no mapper ran
}

// 0 sends to 2 and 1 to 3 for 400 ms; the file does not tell more of the run.
TEST_CASE("a replay of a recorded run ends when the run does, and moves no rank then") {
  const TempDir dir;
  std::string events = "time_us,src,dst,bytes\n";
  for (int at = 0; at <= 400'000; at += 10'000)
    for (const char* pair : {",0,2,", ",1,3,"}) events += std::to_string(at) + pair + "30000000\n";
  write_text(dir.file("events.csv"), events);
  const std::string profile = dir.file("app.prof");
  REQUIRE(run_command(dir, {"profile", "import", dir.file("events.csv"), "-o", profile}).status ==
          0);
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {profile, "-t", kTopology});
    const Ran ran = run_command(dir, words);
    REQUIRE(ran.status == 0);
    return one_line(ran.out);
  };
  const std::string replayed = run({"replay"});
  CAPTURE(replayed);
  CHECK(replayed.find("remaps") > replayed.find("tells more"));  // only in the list of decisions
  CHECK(replayed.find("would have moved") == replayed.npos);
  CHECK(std::regex_search(run({"explain"}), std::regex(" 0 +400 ms ")));
  CHECK(std::regex_search(run({"report"}), std::regex(" 0 +400 ms ")));
  const auto at_stake = [&](const char* seconds) {
    const std::string text = run({"report", "--seconds", seconds});
    const std::size_t from = text.find("at stake: ");
    return text.substr(from, text.find('\n', from) - from);
  };
  CHECK(at_stake("10s") == at_stake("500ms"));
  CHECK(run({"replay", "--seconds", "100ms"}).find("would have moved") != std::string::npos);
}

namespace {

// The reports of a step on two nodes, each of two ranks that send to the other node.
void write_node_reports(const TempDir& dir) {
  for (int node = 0; node < 2; ++node) {
    const int rank = 2 * node, other = 2 - rank;
    write_text(dir.file("ondeloc-1234.0.n" + std::to_string(node) + ".json"),
               R"({"version":1,"job":1234,"step":0,"node":"n)" + std::to_string(node) +
                   R"(","ranks":[{"rank":)" + std::to_string(rank) + R"(},{"rank":)" +
                   std::to_string(rank + 1) + R"(}],"matrix":[],"off_node":[{"src":)" +
                   std::to_string(rank) +
                   R"(,"bytes":9,"messages":1}],"off_node_matrix":[{"src":)" +
                   std::to_string(rank) + R"(,"dst":)" + std::to_string(other) +
                   R"(,"bytes":9,"messages":1}],"intervals":[]})");
  }
}

}  // namespace

TEST_CASE("every example of every --help can be copied and works") {
  const TempDir home;
  const std::regex example("\n  (ondeloc (?:\\\\\n|.)*)");
  int run = 0;
  for (const std::string& command : every_command(home)) {
    const TempDir dir;  // an example may write over an input of another
    write_inputs(dir);
    std::filesystem::create_directory(dir.file("reports"));  // of a site
    write_node_reports(dir);
    for (const char* program : {"cg", "ft", "mg"})
      std::filesystem::copy_file(dir.file("app.prof"), dir.file(program + std::string(".prof")));
    const Ran help = run_program(dir, "/bin/sh", {"-c", ONDELOC_COMMAND " " + command + " --help"});
    for (std::sregex_iterator at(help.out.begin(), help.out.end(), example), end; at != end; ++at) {
      const std::string line = (*at)[1];
      const std::string script = "cd \"$1\"; ondeloc() { \"$0\" \"$@\"; }; " + line;
      const Ran ran = run_program(dir, "/bin/sh", {"-c", script, ONDELOC_COMMAND, dir.file("")});
      CAPTURE(command, line, ran.err);
      // The host of the test may have fewer CPUs than the example has ranks.
      const bool is_small = ran.err.find("do not fit on the") != std::string::npos ||
                            ran.err.find("on this machine") != std::string::npos;
      const bool needs_terminal =
          line == "ondeloc top" && ran.err.find("terminal") != std::string::npos;
      const bool needs_step = ran.err.find(" of yours runs here") != std::string::npos;
      CHECK((ran.status == 0 || is_small || needs_terminal || needs_step));
      ++run;
    }
  }
  CHECK(run >= 18);
}

TEST_CASE("site --verdicts tells how many files of a large job it left out") {
  const TempDir dir;
  const auto add_report = [&](int node) {
    write_text(dir.file(fmt::format("ondeloc-12.0.n{:03}.json", node)),
               R"({"version": 1, "job": 12, "ranks": [], "matrix": [], "intervals": []})");
  };
  const std::vector<std::string> words{"site", dir.file(""), "--verdicts",
                                       "12",   "--user",     std::to_string(getuid())};
  for (int node = 0; node < 100; ++node) add_report(node);
  const Ran whole = run_command(dir, words);
  CAPTURE(whole.err);
  CHECK(whole.status == 0);
  CHECK(whole.err.empty());
  for (int node = 100; node < 103; ++node) add_report(node);
  const Ran cut = run_command(dir, words);
  CHECK(cut.status == 0);
  CHECK(cut.out == whole.out);
  CHECK(cut.err ==
        "ondeloc: 3 files of job 12 left out: the verdicts are those of the first 100 reports; "
        "'ondeloc report' tells the verdict of each\n");
}
