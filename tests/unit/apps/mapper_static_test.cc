// SPDX-License-Identifier: Apache-2.0
// What `ondeloc-mapper --bind` says is the user's error (exit status 1, which ends the step), and
// what is not (2, which does not).
#include <fmt/format.h>

#include "mapcore/binding/affinity.h"
#include "tests/unit/apps/command.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

struct Bind {
  TempDir dir;
  std::string topology = "host";
  pid_t pid = getpid();

  Ran with(const std::string& rankfile, const std::string& name = "ranks") const {
    write_text(dir.file(name), rankfile);
    return run_program(dir, ONDELOC_MAPPER,
                       {"--bind", dir.file(name), "--rank", "0", "--local-rank", "0", "--ranks",
                        "1", "--pid", fmt::format("{}", pid), "--node", "n1", "--node-index", "0",
                        "--topology", topology, "--relative"});
  }
};

const char* const kGood = "rank 0=n1 slot=0\n";

}  // namespace

TEST_CASE("a wrong rankfile is the user's error") {
  const Bind bind;
  for (const char* wrong : {"nonsense", "rank 1=n1 slot=0\n", "rank 0=n2 slot=0\n",
                            "rank 0=n1 slot=8191\n", "rank 0=n1 slot=0\nrank 1=n1 slot=0\n"}) {
    const Ran ran = bind.with(wrong);
    CAPTURE(wrong, ran.err);
    CHECK(ran.status == 1);
    CHECK(ran.told() == 1);
    CHECK(ran.err.starts_with("rankfile '"));
  }
}

TEST_CASE("errors of a rankfile name the end of a long path") {
  const Bind bind;
  const std::string folder = "a_project_with_a_long_name_and_a_folder_in_it";
  std::filesystem::create_directory(bind.dir.file(folder));
  for (const char* wrong : {"nonsense", "rank 1=n1 slot=0\n", "rank 0=n2 slot=0\n"}) {
    const Ran ran = bind.with(wrong, folder + "/ranks.txt");
    CAPTURE(wrong, ran.err);
    CHECK(ran.status == 1);
    CHECK(ran.err.find("/ranks.txt'") != std::string::npos);
  }
}

TEST_CASE("what is wrong with the machine or the process is not") {
  Bind bind;
  bind.topology = "nonsense";
  const Ran machine = bind.with(kGood);
  CHECK(machine.status == 2);
  CHECK(machine.told() == 1);
  CHECK(machine.err.find("topology 'nonsense'") != std::string::npos);
  bind.topology = "host";
  bind.pid = fork();
  if (bind.pid == 0) _exit(0);
  waitpid(bind.pid, nullptr, 0);
  const Ran gone = bind.with(kGood);
  CHECK(gone.status == 2);
  CHECK(gone.told() == 1);
  CHECK(gone.err.find("No such process") != std::string::npos);
}

TEST_CASE("a good rankfile binds") {
  Bind bind;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  bind.pid = fork();
  if (bind.pid == 0) {
    char byte;
    close(ends[1]);
    _exit(static_cast<int>(read(ends[0], &byte, 1)));
  }
  const Ran ran = bind.with(kGood);
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(get_affinity(bind.pid)->is_subset_of(*get_affinity(0)));
  close(ends[1]);
  waitpid(bind.pid, nullptr, 0);
  close(ends[0]);
}
