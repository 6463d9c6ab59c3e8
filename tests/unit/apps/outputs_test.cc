// SPDX-License-Identifier: Apache-2.0
// No command loses its input or a file that it would replace.
#include "mapcore/binding/affinity.h"
#include "tests/unit/apps/command.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

const char* const kLines = "time_us,src,dst,bytes\n0,0,1,10\n5,1,0,3\n2000000,2,3,7\n";

std::string imported(const TempDir& dir) {
  write_text(dir.file("e.csv"), kLines);
  REQUIRE(run_command(dir, {"profile", "import", dir.file("e.csv"), "-o", dir.file("p")}).status ==
          0);
  return dir.file("p");
}

std::size_t files_in(const TempDir& dir) {
  const std::filesystem::directory_iterator all(dir.file(""));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("an output that is the input is refused, whatever it is called") {
  const TempDir dir;
  const std::string profile = imported(dir);
  std::filesystem::create_symlink(profile, dir.file("link.svg"));
  std::filesystem::create_hard_link(dir.file("e.csv"), dir.file("hard"));
  const std::string before = read_text(profile);
  const std::vector<std::vector<std::string>> commands{
      {"import", dir.file("e.csv"), "-o", dir.file("e.csv")},
      {"import", dir.file("e.csv"), "-o", dir.file("hard")},
      {"export", profile, "-o", profile},
      {"export", profile, "-f", "matrix", "-o", dir.file("./p")},
      {"export", dir.file("link.svg"), "-o", profile},
      {"map", profile, "-t", "numa:2 core:2 pu:1", "-o", dir.file("link.svg")},
      {"heatmap", profile, "-o", dir.file("link.svg")},
      {"timeline", profile, "-o", dir.file("link.svg")}};
  for (std::vector<std::string> words : commands) {
    CAPTURE(words[0], words.back());
    words.insert(words.begin(), "profile");
    const Ran ran = run_command(dir, words);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(read_text(profile) == before);
    CHECK(read_text(dir.file("e.csv")) == kLines);
  }
}

TEST_CASE("no input of a command is its output: topology, mapping and standard input neither") {
  const TempDir dir;
  const std::string profile = imported(dir), json = dir.file("prev.json"), csv = dir.file("m.csv"),
                    xml = dir.file("node.xml"), svg = dir.file("pic.svg");
  const std::string machine = "numa:2 core:2 pu:1";
  write_text(csv, "src,dst,bytes\n0,1,10\n2,3,7\n");
  REQUIRE(run_command(dir, {"map", "-t", machine, "-m", csv, "-f", "json", "-o", json}).status ==
          0);
  std::filesystem::copy_file(test_data() + "/topologies/32em64t-2n8c2t-pci-normalio.xml", xml);
  std::filesystem::create_symlink(json, svg);
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands{
      {xml, {"map", "-t", xml, "-m", csv, "-o", xml}},
      {json, {"map", "-t", machine, "-m", csv, "-p", json, "-o", json}},
      {csv, {"map", "-t", machine, "-m", "-", "-o", csv}},
      {xml, {"profile", "map", profile, "-t", xml, "-o", xml}},
      {json, {"profile", "map", profile, "-t", machine, "-p", json, "-o", json}},
      {json, {"profile", "heatmap", profile, "-t", machine, "-m", json, "-o", svg}}};
  for (const auto& [input, words] : commands) {
    CAPTURE(words[0], words[1], input);
    const std::string before = read_text(input);
    const Ran ran = run_command(dir, words, 0, csv);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(ran.err.find("is the input; write to another file") != std::string::npos);
    CHECK(read_text(input) == before);
  }
  CHECK(run_command(dir, {"map", "-t", machine, "-m", "-", "-o", "/dev/null"}, 0, csv).status == 0);
}

TEST_CASE("a disk that fills up is one sentence, and the former output stays") {
  const TempDir dir;
  const std::string profile = imported(dir);
  const std::string csv = npb_file("is.A.32", "events.csv");
  REQUIRE(run_command(dir, {"profile", "import", csv, "-o", dir.file("is")}).status == 0);
  // A machine's first picture leaves a cache of fonts behind; on a full disk fontconfig tells that
  // it cannot.
  REQUIRE(
      run_command(dir, {"profile", "heatmap", dir.file("is"), "-o", dir.file("a.svg")}).status ==
      0);
  const std::vector<std::vector<std::string>> commands{
      {"profile", "import", csv, "-o", dir.file("old.svg")},
      {"profile", "export", dir.file("is"), "-o", dir.file("old.svg")},
      {"profile", "export", dir.file("is"), "-f", "matrix", "-o", dir.file("old.svg")},
      {"profile", "map", dir.file("is"), "-t", "numa:4 core:8 pu:1", "-f", "json", "-o",
       dir.file("old.svg")},
      {"map", "-m", npb_file("is.A.32", "bytes.mat"), "-t", "numa:4 core:8 pu:1", "-f", "json",
       "-o", dir.file("old.svg")},
      {"profile", "heatmap", dir.file("is"), "-o", dir.file("old.svg")},
      {"profile", "timeline", dir.file("is"), "-o", dir.file("old.svg")}};
  for (const auto& words : commands) {
    CAPTURE(words[0], words[1]);
    write_text(dir.file("old.svg"), "precious");
    const std::size_t files = files_in(dir);
    const Ran ran = run_command(dir, words, 1000);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(ran.err.find("old.svg") != std::string::npos);
    CHECK(ran.err.find("File too large") != std::string::npos);
    CHECK(read_text(dir.file("old.svg")) == "precious");
    CHECK(files_in(dir) == files);
  }
  const Ran full = run_command(dir, {"profile", "export", profile, "-o", "/dev/full"});
  CHECK(full.status == 1);
  CHECK(full.err.find("No space left on device") != std::string::npos);
  for (const char* what : {"events", "intervals", "matrix"}) {
    const std::string line =
        std::string(ONDELOC_COMMAND " profile export ") + profile + " -f " + what + " > /dev/full";
    const Ran ran = run_program(dir, "/bin/sh", {"-c", line});
    CHECK(ran.status == 1);
    CHECK(ran.err.find("No space left on device") != std::string::npos);
  }
}

TEST_CASE("links keep their targets, modes stay, a file without write permission is kept") {
  const TempDir dir;
  const std::string profile = imported(dir);
  write_text(dir.file("target"), "old");
  std::filesystem::permissions(dir.file("target"), std::filesystem::perms(0640));
  std::filesystem::create_symlink(dir.file("target"), dir.file("link"));
  CHECK(run_command(dir, {"profile", "export", profile, "-o", dir.file("link")}).status == 0);
  CHECK(std::filesystem::is_symlink(dir.file("link")));
  CHECK(read_text(dir.file("target")) == kLines);
  CHECK(std::filesystem::status(dir.file("target")).permissions() == std::filesystem::perms(0640));
  const Ran out = run_command(dir, {"profile", "export", profile, "-o", "/dev/stdout"});
  CHECK(out.status == 0);
  CHECK(out.out == kLines);
}

TEST_CASE("merging: one file under two names is refused, and so is an input as the output") {
  const TempDir dir;
  const std::string profile = imported(dir), before = read_text(profile);
  const Ran twice =
      run_command(dir, {"profile", "merge", profile, dir.file("./p"), "-o", dir.file("out")});
  CHECK(twice.status == 1);
  CHECK(twice.err.find("are the same file") != std::string::npos);
  std::filesystem::copy_file(profile, dir.file("q"));
  const Ran onto =
      run_command(dir, {"profile", "merge", profile, dir.file("q"), "-o", dir.file("./p")});
  CHECK(onto.status == 1);
  CHECK(onto.err.find("is an input") != std::string::npos);
  CHECK(read_text(profile) == before);
}

TEST_CASE("- as output is standard output, and no file of that name") {
  const TempDir dir;
  const std::string profile = imported(dir);
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(dir.file(""));
  const auto written = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "profile");
    words.insert(words.end(), {"-o", "-"});
    Ran ran = run_command(dir, words);
    CHECK(ran.status == 0);
    return ran;
  };
  const std::string events = run_command(dir, {"profile", "export", profile}).out;
  CHECK(written({"export", profile}).out == events);
  CHECK(written({"export", profile, "-f", "matrix"}).out.starts_with("0 10 0 0\n"));
  CHECK(written({"map", profile, "-t", "numa:2 core:2 pu:1", "-f", "cpu-bind"})
            .out.starts_with("map_cpu:"));
  CHECK(written({"heatmap", profile}).out.find("<svg") != std::string::npos);
  CHECK(written({"timeline", profile}).out.find("<svg") != std::string::npos);
  const Ran import = written({"import", dir.file("e.csv")});
  CHECK(import.out == read_text(profile));
  CHECK(import.err == "3 messages of 4 ranks in -\n");
  CHECK_FALSE(std::filesystem::exists(dir.file("-")));
  std::filesystem::current_path(here);
}

TEST_CASE("threads record has no standard output to write to, and makes no file named -") {
  const TempDir dir;
  const Ran ran = run_program(dir, "/bin/sh",
                              {"-c", "cd \"$1\" && exec \"$0\" threads record -o - -- /bin/true",
                               ONDELOC_COMMAND, dir.file("")});
  CHECK(ran.status == 1);
  CHECK(ran.err == "ondeloc: --output: standard output is that of the program; name a file\n");
  CHECK_FALSE(std::filesystem::exists(dir.file("-")));
}

TEST_CASE("threads record puts the rank in each place of %t") {
  const TempDir dir;
  const Ran ran = run_program(
      dir, "/bin/sh",
      {"-c", "cd \"$1\" && exec \"$0\" threads record -o run.%t/%t/app.%t.prof -- /bin/true",
       ONDELOC_COMMAND, dir.file("")},
      0, "", {"OMPI_COMM_WORLD_RANK=12"});
  CAPTURE(ran.err);
  CHECK(ran.status == 1);  // no such folder
  CHECK(ran.err.find("run.12/12/app.12.prof") != std::string::npos);
  CHECK(ran.err.find("%t") == std::string::npos);
}

TEST_CASE("messages to a closed standard error do not get into the output") {
  const TempDir dir;
  const std::string profile = imported(dir), out = dir.file("out");
  const Ran ran =
      run_program(dir, "/bin/sh",
                  {"-c", "exec \"$0\" profile --progress-after 0s export \"$1\" -o \"$2\" <&- 2>&-",
                   ONDELOC_COMMAND, profile, out});
  CHECK(ran.status == 0);
  CHECK(read_text(out) == kLines);
  // A closed standard output or a full disk is still an error.
  for (const char* line : {"exec \"$0\" profile export \"$1\" >&-", "exec \"$0\" topology >&-",
                           "exec \"$0\" --version >/dev/full", "exec \"$0\" --help >/dev/full",
                           "exec \"$0\" map --help >&-"}) {
    CAPTURE(line);
    const Ran lost = run_program(dir, "/bin/sh", {"-c", line, ONDELOC_COMMAND, profile});
    CHECK(lost.status == 1);
    CHECK(lost.told() == 1);
  }
}

TEST_CASE("measure keeps to the mask that it was started with") {
  const TempDir dir;
  const CpuSet before = *get_affinity(0);
  CpuSet one;
  one.set(before.to_vector().front());
  REQUIRE(set_affinity(0, one).ok());
  const Ran ran = run_command(dir, {"measure", "--seconds", "1"});
  REQUIRE(set_affinity(0, before).ok());
  CHECK(ran.status == 1);
  CHECK(ran.err.find("measure: this process may use one CPU only") != std::string::npos);
}

TEST_CASE("measure refuses an output that cannot be written before it measures") {
  const TempDir dir;
  const Ran ran = run_command(dir, {"measure", "--seconds", "1", "-o", dir.file("none/node.json")});
  CHECK(ran.status == 1);
  CHECK(ran.err.find("none/node.json' cannot be written: No such file or directory\n") !=
        std::string::npos);
  CHECK(ran.told() == 1);  // it has not told that it measures
}

TEST_CASE("a name that is not UTF-8 is shown in JSON with its bytes replaced") {
  const TempDir dir;
  const std::string odd = dir.file("p\xff");
  std::filesystem::rename(imported(dir), odd);
  const Ran ran = run_command(dir, {"profile", "info", odd, "-f", "json"});
  CHECK(ran.status == 0);
  CHECK(ran.told() == 0);
  CHECK(ran.out.find("p\xef\xbf\xbd\"") != std::string::npos);  // U+FFFD
}

TEST_CASE("memory that runs out is one sentence") {
  const TempDir dir;
  const std::string large = dir.file("large.csv");
  write_text(large, "0,1,10");
  std::filesystem::resize_file(large, 1 << 29);  // sparse
  const Ran ran =
      run_program(dir, "/bin/sh",
                  {"-c", "ulimit -v 200000; exec \"$0\" map -t 'numa:2 core:2 pu:1' -m \"$1\"",
                   ONDELOC_COMMAND, large});
  CHECK(ran.status == 1);
  CHECK(ran.err == "ondeloc: out of memory\n");
}

TEST_CASE("both programs tell the same version") {
  const TempDir dir;
  const Ran mapper = run_program(dir, ONDELOC_MAPPER, {"--version"});
  CHECK(mapper.status == 0);
  CHECK(mapper.out.starts_with("ondeloc-mapper "));
  const Ran command = run_command(dir, {"--version"});
  CHECK(command.out == "ondeloc " + mapper.out.substr(mapper.out.find(' ') + 1));
}
