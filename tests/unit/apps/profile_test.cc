// SPDX-License-Identifier: Apache-2.0
// Messages of `ondeloc profile`: one sentence for everything that it cannot do.
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <iterator>
#include <sstream>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

std::string import_npb(const TempDir& dir, const std::string& app) {
  std::string profile = dir.file(app + ".prof");
  REQUIRE(
      run_command(dir, {"profile", "import", npb_file(app, "events.csv"), "-o", profile}).status ==
      0);
  return profile;
}

void check_sentence(const Ran& ran, int status, const std::string& words) {
  CAPTURE(ran.err, words);
  CHECK(ran.status == status);
  CHECK(ran.err.find(words) != std::string::npos);
  CHECK(ran.out.empty());
}

}  // namespace

TEST_CASE("sizes and numbers that cannot be are one sentence") {
  const TempDir dir;
  write_text(dir.file("r.json"), R"({"job":1e300,"ranks":[{"rank":16777215}],"matrix":[]})");
  for (const char* format : {"matrix", "messages", "normalised"})
    check_sentence(run_command(dir, {"profile", "export", dir.file("r.json"), "-f", format}), 1,
                   "16777216 ranks is too large (4096 at most)");
  CHECK(run_command(dir, {"profile", "info", dir.file("r.json")}).status == 0);
  const std::string ep = import_npb(dir, "ep.A.32");
  for (const char* option : {"--commdyn", "--commr", "--dramr"})
    check_sentence(run_command(dir, {"profile", "classify", ep, option, "nan"}), 2,
                   "'nan' is not a number");
  check_sentence(run_command(dir, {"profile", "classify", ep, "--load", "1e6"}), 2,
                 "--load: '1e6' has no unit");
  check_sentence(run_command(dir, {"profile", "classify", ep, "-i", "1"}), 2,
                 "--interval: '1' has no unit");
}

TEST_CASE("info prints the amounts of a report as bytes and seconds") {
  const TempDir dir;
  write_text(dir.file("r.json"), R"({"job":7,"ranks":[{"rank":0},{"rank":1}],
    "matrix":[{"src":0,"dst":1,"bytes":127270912,"messages":3}],"intervals":[{"t":6.29363609}],
    "notes":["no MPI_Init","\u001b[2J",5]})");
  const Ran ran = run_command(dir, {"profile", "info", dir.file("r.json")});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.out.find("bytes             127270912\n") != std::string::npos);
  CHECK(ran.out.find("seconds           6.293636\n") != std::string::npos);
  CHECK(ran.out.find("notes             no MPI_Init\nnotes             ?[2J\n") !=
        std::string::npos);
}

TEST_CASE("a window without messages is told by every command that takes one") {
  const TempDir dir;
  const std::string ep = import_npb(dir, "ep.A.32");
  const std::vector<std::vector<std::string>> commands{{"metrics"},
                                                       {"clusters"},
                                                       {"classify"},
                                                       {"map", "-t", "numa:4 core:8 pu:1"},
                                                       {"export"},
                                                       {"export", "-f", "intervals"},
                                                       {"export", "-f", "matrix"},
                                                       {"heatmap", "-o", dir.file("h.svg")},
                                                       {"timeline", "-o", dir.file("t.svg")}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), "profile");
    words.insert(words.end(), {ep, "-w", "1s:1.5s"});
    check_sentence(run_command(dir, words), 1, "no message lies in '1s:1.5s'");
  }
  CHECK(!std::filesystem::exists(dir.file("h.svg")));
}

TEST_CASE("fewer clusters than asked for are told") {
  const TempDir dir;
  const std::string ep = import_npb(dir, "ep.A.32");
  const Ran ran = run_command(dir, {"profile", "clusters", ep, "-k", "90", "-f", "json"});
  CHECK(ran.status == 0);
  const auto clusters = nlohmann::json::parse(ran.out);
  CHECK(clusters.size() < 90);
  CHECK(ran.err.find(std::to_string(clusters.size()) + " clusters instead of 90") !=
        std::string::npos);
  CHECK(run_command(dir, {"profile", "clusters", ep, "-k", "2"}).err.empty());
}

TEST_CASE("one cluster, or as many as are looked for, is told with what to try") {
  const TempDir dir;
  const std::string ep = import_npb(dir, "ep.A.32");
  const std::vector<std::string> clusters{"profile", "clusters", ep};
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = clusters;
    words.insert(words.end(), more.begin(), more.end());
    return run_command(dir, words).err;
  };
  CHECK(said({}).empty());
  CHECK(said({"--bins", "1"}).find("one cluster in 1 time bins") != std::string::npos);
  CHECK(said({"--bins", "1"}).find("try --bins 10 --max-clusters 500") != std::string::npos);
  CHECK(said({"--max-clusters", "2"}).find("2 clusters in 100 time bins") != std::string::npos);
  CHECK(said({"-k", "1"}).empty());
}

TEST_CASE("dropped messages are told by every command that uses messages") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("d"), small_header(4));
  for (std::uint64_t t = 0; t < 30; ++t) REQUIRE(writer->add({t * 1'000'000, 0, 1, 5}).ok());
  REQUIRE(writer->add_drops(std::vector<RankDrops>{{0, 10, 50}}).ok());
  REQUIRE(writer->finish().ok());
  const std::vector<std::vector<std::string>> commands{{"metrics"},
                                                       {"clusters"},
                                                       {"classify"},
                                                       {"map", "-t", "numa:2 core:2 pu:1"},
                                                       {"heatmap", "-o", dir.file("h.svg")},
                                                       {"timeline", "-o", dir.file("t.svg")}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), "profile");
    words.push_back(dir.file("d"));
    const Ran ran = run_command(dir, words);
    CAPTURE(words[1], ran.err);
    CHECK(ran.status == 0);
    const std::size_t told = ran.err.find("10 messages (25 %) were dropped");
    CHECK(told != std::string::npos);
    CHECK(told == ran.err.rfind("10 messages"));  // once
  }
  const Ran json = run_command(dir, {"profile", "classify", dir.file("d"), "-f", "json"});
  CHECK(nlohmann::json::parse(json.out)["metrics"]["dropped_messages"] == 10);
}

TEST_CASE("classify and info show what the recorder noted") {
  const TempDir dir;
  const std::string note =
      "rank 0: windows of shared memory are used: loads and stores in them are not counted";
  const std::vector<std::string> notes{note, "n1: memory volumes: none"};
  auto writer = ProfileWriter::create(dir.file("n"), small_header(4));
  for (std::uint64_t t = 0; t < 30; ++t) REQUIRE(writer->add({t * 1'000'000, 0, 1, 5}).ok());
  REQUIRE(writer->add_notes(notes).ok());
  REQUIRE(writer->finish().ok());
  const Ran ran = run_command(dir, {"profile", "classify", dir.file("n")});
  CAPTURE(ran.out);
  CHECK(ran.out.find("\nnote: " + note + "\nverdict: ") != std::string::npos);
  const Ran json = run_command(
      dir, {"profile", "classify", dir.file("n"), "-f", "json", "-t", "numa:2 core:2 pu:1"});
  CHECK(nlohmann::json::parse(json.out)["notes"] == std::vector<std::string>{note});
  const Ran info = run_command(dir, {"profile", "info", dir.file("n")});
  for (const std::string& one : notes) CHECK(info.out.find(one + "\n") != std::string::npos);
  auto silent = ProfileWriter::create(dir.file("s"), small_header(4));
  REQUIRE(silent->add_notes(notes).ok());
  REQUIRE(silent->finish().ok());
  const Ran nothing = run_command(dir, {"profile", "classify", dir.file("s")});
  check_sentence(nothing, 1, "no message");
  CHECK(nothing.err.find(note + "\n") != std::string::npos);
}

TEST_CASE("damage is told even if it leaves no message") {
  const TempDir dir;
  const std::string ft = import_npb(dir, "ft.A.32");
  write_text(dir.file("cut"), read_text(ft).substr(0, 5000));
  for (const char* command : {"metrics", "clusters", "classify"}) {
    const Ran ran = run_command(dir, {"profile", command, dir.file("cut")});
    check_sentence(ran, 1, "no message between different ranks is in the profile");
    CHECK(ran.told() == 2);
    CHECK(ran.err.find("window") == std::string::npos);
  }
}

TEST_CASE("the map of a profile is coordinated's; deloc takes one group per cluster, not the sum") {
  const TempDir dir;
  const std::string ft = import_npb(dir, "mg.A.32");
  const auto map = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"profile", "map", ft, "-t", "numa:4 core:8 pu:1", "-f", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_command(dir, words);
    REQUIRE(ran.status == 0);
    return nlohmann::json::parse(ran.out)["ranks"];
  };
  CHECK(map({"-a", "deloc"}) != map({"-a", "deloc", "-k", "1"}));
  CHECK(map({}) == map({"-a", "coordinated:30"}));
  CHECK(map({}) != map({"-a", "deloc"}));
}

TEST_CASE("a map of a profile gives each rank as many CPUs as the recorded run") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("p"), small_header(2));
  REQUIRE(writer.ok());
  for (std::uint64_t t = 0; t < 30; ++t) REQUIRE(writer->add({t * 1'000'000, 0, 1, 5}).ok());
  const std::vector<RankCpuSet> cpus{{0, *CpuSet::parse_list("0-1")},
                                     {1, *CpuSet::parse_list("2-3")}};
  REQUIRE(writer->add_cpus(cpus, *CpuSet::parse_list("0-3")).ok());
  REQUIRE(writer->finish().ok());
  const auto widths = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"profile", "map", dir.file("p"), "-f", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_command(dir, words);
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    std::vector<std::size_t> counts;
    const auto mapping = nlohmann::json::parse(ran.out);
    for (const auto& rank : mapping["ranks"]) counts.push_back(rank["pus"].size());
    return std::pair(counts, ran.err);
  };
  using Widths = std::vector<std::size_t>;
  CHECK(widths({"-t", "numa:2 core:4 pu:1"}).first == Widths{2, 2});
  CHECK(widths({"-t", "numa:2 core:4 pu:1", "-c", "1"}).first == Widths{1, 1});
  const auto [narrow, said] = widths({"-t", "numa:1 core:2 pu:1"});
  CHECK(narrow == Widths{1, 1});
  CHECK(said == "ondeloc: each rank had 2 CPUs when '" + dir.file("p") +
                    "' was recorded, and only 1 CPU per rank fit here; choose others with "
                    "--cpuset or --topology\n");
  const Ran info = run_command(dir, {"profile", "info", dir.file("p")});
  CHECK(info.out.find("cpus per rank     2\n") != std::string::npos);
  CHECK(info.out.find("step cpus         0-3\n") != std::string::npos);
}

namespace {

// A profile of a node with ranks 1, 3 and 4 of six; 1 and 3 talk, 4 only to other nodes.
std::string node_profile(const TempDir& dir, const std::string& name, std::uint32_t nodes = 1,
                         std::uint32_t recorded = 3) {
  profile_format::FileHeader header = small_header(6);
  header.local_ranks = recorded;
  header.nodes = nodes;
  header.node = "n7";
  auto writer = ProfileWriter::create(dir.file(name), header);
  REQUIRE(writer.ok());
  for (std::uint64_t at = 0; at < 100; ++at) {
    REQUIRE(writer->add({at, 1, 3, 1000}).ok());
    REQUIRE(writer->add({at, 4, 0, 1000}).ok());
  }
  const RankDrops drops[] = {{1, 0, 0}, {3, 0, 0}, {4, 0, 0}};
  REQUIRE(writer->add_drops(drops).ok());
  if (nodes > 1) {
    const NodeShift parts[] = {{"n7", 0, 3}, {"n8", 0, 3}};
    REQUIRE(writer->add_nodes(parts).ok());
  }
  REQUIRE(writer->finish().ok());
  return dir.file(name);
}

}  // namespace

TEST_CASE("a node's profile maps the ranks that ran there, by name of node and rank") {
  const TempDir dir;
  const std::string part = node_profile(dir, "app.prof.n7");
  const std::vector<std::string> words{"profile", "map", part, "-t", "numa:2 core:2 pu:1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_command(dir, more);
  };
  const Ran file = with({"-f", "rankfile"});
  CAPTURE(file.out, file.err);
  CHECK(file.out ==
        "rank 1=n7 slot=0\n"
        "rank 3=n7 slot=1\n"
        "rank 4=n7 slot=2\n");
  const auto json = nlohmann::json::parse(with({"-f", "json"}).out);
  CHECK(json["node"] == "n7");
  CHECK(json["ranks"][2]["rank"] == 4);
  // Bytes that leave the node load the memory of their sender.
  CHECK(json["cost"]["peak_load"].get<double>() < 1.5);
  CHECK(with({"-a", "deloc", "-f", "rankfile"}).out.find("rank 4=n7") != std::string::npos);
  check_sentence(with({"-n", "8"}), 1, "--ranks: '" + part + "' has only the 3 ranks of node 'n7'");
}

TEST_CASE("a node's profile is mapped again from its own mapping, and gets no further ranks") {
  const TempDir dir;
  const std::string part = node_profile(dir, "app.prof.n7"), machine = "numa:2 core:2 pu:1";
  const auto ran = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-t", machine});
    return run_command(dir, words);
  };
  for (const char* format : {"json", "rankfile"}) {
    const std::string mapping = dir.file("mapping"), again = dir.file("again");
    REQUIRE(ran({"map", part, "-f", format, "-o", mapping}).status == 0);
    REQUIRE(ran({"map", part, "-p", mapping, "-f", format, "-a", "identity", "-o", again}).status ==
            0);
    const Ran cost = ran({"evaluate", part, "--mapping", mapping});
    CHECK(cost.status == 0);
    CHECK(ran({"evaluate", part, "--mapping", again}).out == cost.out);
  }
  const std::string told = "--ranks: '" + part + "' has only the 3 ranks of node 'n7'";
  for (const char* command : {"map", "compare", "replay"})
    check_sentence(ran({command, part, "-n", "4"}), 1, told);
  check_sentence(ran({"evaluate", part, "-n", "4", "--mapping", dir.file("mapping")}), 1, told);
}

TEST_CASE("the picture of a node's part is sorted by the mapping of that part") {
  const TempDir dir;
  const std::string part = node_profile(dir, "part"), mapping = dir.file("mapping");
  const auto drawn = [&](const std::string& profile) {
    return run_command(
        dir, {"profile", "heatmap", profile, "-o", "-", "-t", "numa:2 core:2 pu:1", "-m", mapping});
  };
  for (const char* format : {"json", "rankfile"}) {
    REQUIRE(run_command(dir, {"profile", "map", part, "-t", "numa:2 core:2 pu:1", "-f", format,
                              "-o", mapping})
                .status == 0);
    const Ran ran = drawn(part);
    CAPTURE(format, ran.err);
    CHECK(ran.status == 0);
    CHECK(ran.out.starts_with("<?xml"));
  }
  // Only others may be left out.
  check_sentence(drawn(node_profile(dir, "early", 1, 4)), 1, "the file does not place rank 0");
  write_text(mapping, "rank 1=n7 slot=0\nrank 4=n7 slot=1\n");
  check_sentence(drawn(part), 1, "the file does not place rank 3");
}

TEST_CASE("a report of one node of several maps its own ranks") {
  const TempDir dir;
  write_text(dir.file("r.json"), R"({"node":"n2","ranks":[{"rank":9},{"rank":8}],
    "matrix":[{"src":8,"dst":9,"bytes":1000,"messages":3}],
    "off_node":[{"src":9,"bytes":5,"messages":1}]})");
  const Ran ran = run_command(
      dir, {"profile", "map", dir.file("r.json"), "-t", "numa:2 core:2 pu:1", "-f", "rankfile"});
  CHECK(ran.out ==
        "rank 8=n2 slot=0\n"
        "rank 9=n2 slot=2\n");
}

TEST_CASE("commands that need all ranks, or the ranks of one node, say so") {
  const TempDir dir;
  const std::string part = node_profile(dir, "part"), merged = node_profile(dir, "merged", 2, 6);
  for (const char* command : {"metrics", "classify"})
    check_sentence(run_command(dir, {"profile", command, part}), 1,
                   "holds 3 of the 6 ranks: put the profiles of all nodes together first");
  CHECK(run_command(dir, {"profile", "classify", merged}).status == 0);
  check_sentence(run_command(dir, {"profile", "map", merged, "-t", "numa:2 core:4 pu:1"}), 1,
                 "holds the recordings of 2 nodes, and a mapping is of one");
  const std::string early = node_profile(dir, "early", 1, 4);
  check_sentence(run_command(dir, {"profile", "map", early, "-t", "numa:2 core:4 pu:1"}), 1,
                 "has 4 of 6 ranks, and names only 3 of them");
}

TEST_CASE("long work says how far it is") {
  const TempDir dir;
  for (const char* after : {"0s", "1000s"}) {
    std::vector<std::string> words{"profile", "--progress-after", after};
    words.insert(words.end(), {"info", import_npb(dir, "mg.A.32")});
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 0);
    CHECK((ran.err.find("ondeloc: reading ") != std::string::npos) == (after == std::string("0s")));
  }
}

TEST_CASE("matrices are exported as counted from the events") {
  const TempDir dir;
  const std::string is = import_npb(dir, "is.A.32");
  const auto cells = [](const std::string& text) {
    std::istringstream in(text);
    return std::vector<double>{std::istream_iterator<double>(in), {}};
  };
  const auto exported = [&](const char* format) {
    return cells(run_command(dir, {"profile", "export", is, "-f", format}).out);
  };
  for (const char* kind : {"bytes", "messages"}) {
    std::vector<double> recorded =
        cells(read_text(npb_file("is.A.32", kind + std::string(".mat"))));
    REQUIRE(recorded.size() == 32 * 32);
    for (std::size_t i = 0; i < 32; ++i) recorded[i * 33] = 0;
    CHECK(exported(kind == std::string("bytes") ? "matrix" : "messages") == recorded);
    if (kind == std::string("messages")) continue;
    const double most = *std::max_element(recorded.begin(), recorded.end());
    const std::vector<double> scaled = exported("normalised");
    REQUIRE(scaled.size() == recorded.size());
    for (std::size_t i = 0; i < scaled.size(); ++i)
      CHECK(scaled[i] == Approx(recorded[i] / most).epsilon(1e-5));
  }
}

TEST_CASE("a matrix of bytes is exported with its fractions, and without messages") {
  const TempDir dir;
  write_text(dir.file("n.mat"), "0 0.4\n0.3 0\n");
  const auto exported = [&](const char* file, const char* format) {
    return run_command(dir, {"profile", "export", dir.file(file), "-f", format});
  };
  const std::string csv = exported("n.mat", "matrix-csv").out;
  CHECK(csv == "src,dst,bytes\n0,1,0.4\n1,0,0.3\n");
  check_sentence(exported("n.mat", "messages"), 1, "does not tell the number of messages; use");
  write_text(dir.file("n.csv"), csv);
  CHECK(exported("n.csv", "matrix").out == "0 0.4\n0.3 0\n");
  write_text(dir.file("m.csv"), "src,dst,bytes,messages\n0,1,12345678901,3\n1,0,5,0\n");
  CHECK(exported("m.csv", "matrix-csv").out ==
        "src,dst,bytes,messages\n0,1,12345678901,3\n1,0,5,0\n");
  CHECK(exported("m.csv", "messages").out == "0 3\n0 0\n");
}

TEST_CASE("memory volumes of a profile count unless the window leaves out a part") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("p"), small_header(2));
  for (std::uint64_t t = 0; t < 30; ++t) REQUIRE(writer->add({t * 1'000'000, 0, 1, 5}).ok());
  const RankMemory memory[] = {{0, 100, true, 50}, {1, 100, true, 50}};
  REQUIRE(writer->add_memory(memory).ok());
  REQUIRE(writer->add_notes(std::vector<std::string>{"n1: memory volumes: counters"}).ok());
  REQUIRE(writer->finish().ok());
  const auto metrics = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"profile", "metrics", dir.file("p")};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(dir, words).out;
  };
  const std::string whole = metrics({});
  CHECK(whole.find("DramR    0.5\nCommLoc") != std::string::npos);
  CHECK(whole.ends_with("\nn1: memory volumes: counters\n"));
  CHECK(metrics({"--window", "0s:"}) == whole);
  CHECK(metrics({"--window", "0s:10s"}) == whole);
  const std::string part = metrics({"--window", "10ms:"});
  CHECK(part.find("DramR    unavailable") != std::string::npos);
  CHECK(part.ends_with(
      "memory volumes: the profile holds those of the whole run, not of a window\n"));
}

TEST_CASE("memory volumes come from a pipe too") {
  const TempDir dir;
  write_text(dir.file("e.csv"), "time_us,src,dst,bytes\n0,0,1,10\n2000000,1,0,7\n");
  REQUIRE(run_command(dir, {"profile", "import", dir.file("e.csv"), "-o", dir.file("p")}).status ==
          0);
  const std::string line = "printf '\\357\\273\\2770,100,50\\n1,100,50\\n' | " ONDELOC_COMMAND
                           " profile metrics " +
                           dir.file("p") + " --memory ";
  for (const char* name : {"/dev/stdin", "-"}) {
    const Ran ran = run_program(dir, "/bin/sh", {"-c", line + name});
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    CHECK(ran.out.find("DramR    0.5") != std::string::npos);
  }
  check_sentence(run_command(dir, {"profile", "metrics", dir.file("p"), "--memory", "/dev/null"}),
                 1, "has no line rank,accessed_bytes");
}

TEST_CASE("merge reads each profile once, so that pipes and standard input can be merged") {
  const TempDir dir;
  for (const char* node : {"n1", "n2"}) {
    profile_format::FileHeader header = small_header(4);
    header.node = node;
    header.local_ranks = 2;
    auto writer = ProfileWriter::create(dir.file(node), header);
    REQUIRE(writer->add({5, 0, 1, 10}).ok());
    REQUIRE(writer->finish().ok());
  }
  const auto merge = [&](const std::string& before, const std::string& after) {
    return run_program(dir, "/bin/bash",
                       {"-c", "cd \"$1\"; " + before + " \"$0\" profile merge " + after,
                        ONDELOC_COMMAND, dir.file("")});
  };
  const std::string named = merge("", "n1 n2 -o out").out;
  CHECK(named.starts_with("2 messages of 2 nodes in out\n"));
  CHECK(merge("cat n1 |", "- n2 -o out").out == named);
  CHECK(merge("", "n1 - -o out < n2").out == named);
  CHECK(merge("", "<(cat n1) <(cat n2) -o out").out == named);
  check_sentence(merge("cat n1 |", "- - -o out"), 1, "standard input (-) can be read only once");
  check_sentence(merge("cat n1 |", "- n1 -o out"), 1, "'standard input' and 'n1' are both of node");
}

TEST_CASE("events come from standard input too, a file or a pipe") {
  const TempDir dir;
  const std::string events = npb_file("is.A.32", "events.csv"), named = import_npb(dir, "is.A.32");
  const std::string import = " " ONDELOC_COMMAND " profile import - -o " + dir.file("out");
  for (const std::string& line : {import + " < " + events, "cat " + events + " |" + import}) {
    const Ran ran = run_program(dir, "/bin/sh", {"-c", line});
    CAPTURE(line, ran.err);
    CHECK(ran.status == 0);
    CHECK(read_text(dir.file("out")) == read_text(named));
  }
  write_text(dir.file("bad"), "0,0,1,10\nx\n");
  check_sentence(
      run_command(dir, {"profile", "import", "-", "-o", dir.file("none")}, 0, dir.file("bad")), 1,
      "events 'standard input', line 2: 'x' is not an event");
  CHECK(!std::filesystem::exists(dir.file("none")));
}

TEST_CASE("endless input that is no list of events is refused at its first line") {
  const TempDir dir;
  const std::string import = ONDELOC_COMMAND " profile import - -o " + dir.file("out");
  for (const char* endless : {"yes", "(echo; yes)", "tr '\\0' x < /dev/zero"}) {
    CAPTURE(endless);
    const std::string line = endless + std::string(" | timeout 20 ") + import;
    check_sentence(run_program(dir, "/bin/sh", {"-c", line}), 1, "is not an event; expected");
  }
}

TEST_CASE("a pipe is not a file of events, and no command waits for it") {
  const TempDir dir;
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  check_sentence(run_program(dir, "/usr/bin/timeout",
                             {"10", ONDELOC_COMMAND, "profile", "import", dir.file("pipe"), "-o",
                              dir.file("out")}),
                 1,
                 "is not a regular file, and import reads it twice; give a pipe as standard "
                 "input (-)\n");
  check_sentence(run_program(dir, "/usr/bin/timeout",
                             {"10", ONDELOC_COMMAND, "profile", "info", dir.file("pipe")}),
                 1, "pipe' is empty; give one of: ");
}

TEST_CASE("the header of events may come after empty lines; an output needs a name") {
  const TempDir dir;
  write_text(dir.file("e.csv"), "\ntime_us,src,dst,bytes\n0,0,1,5\n");
  CHECK(run_command(dir, {"profile", "import", dir.file("e.csv"), "-o", dir.file("p")}).status ==
        0);
  const Ran ran = run_command(dir, {"profile", "import", dir.file("e.csv"), "-o", ""});
  CHECK(ran.status == 2);
  CHECK(ran.err.starts_with("ondeloc: --output: the value is empty"));
}

TEST_CASE("a survey shows several profiles side by side, as table, JSON and bars") {
  const TempDir dir;
  const std::string ep = import_npb(dir, "ep.A.32"), is = import_npb(dir, "is.A.32");
  const Ran table = run_command(dir, {"profile", "survey", ep, is});
  CAPTURE(table.out, table.err);
  CHECK(table.status == 0);
  CHECK(table.out.find("\nep.A.32.prof") != std::string::npos);
  CHECK(table.out.find("\nis.A.32.prof") != std::string::npos);
  const std::string picture = dir.file("bars.svg");
  const Ran json = run_command(dir, {"profile", "survey", ep, is, "-f", "json", "-o", picture});
  REQUIRE(json.status == 0);
  const auto rows = nlohmann::json::parse(json.out);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["profile"] == "is.A.32.prof");
  // Each line says what the command for one profile says.
  const Ran one = run_command(dir, {"profile", "classify", is, "-f", "json"});
  const auto alone = nlohmann::json::parse(one.out);
  for (const char* name : {"Lcomm", "CommC", "CommLoc", "CommDyn"})
    CHECK(rows[1][name] == alone["metrics"][name]);
  CHECK(rows[1]["class"] == alone["class"]);
  CHECK(rows[1]["published_class"] == alone["published_class"]);
  std::ifstream file(picture);
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  CHECK(svg.find("<svg") != std::string::npos);
  check_sentence(run_command(dir, {"profile", "survey", ep, dir.file("none")}), 1, "none");
  check_sentence(run_command(dir, {"profile", "survey", ep, "-o", ep}), 1, "ep.A.32.prof");
}
