// SPDX-License-Identifier: Apache-2.0
// Errors of `ondeloc-mapper --bind`: exit status 1 for the user's errors, which end the step, and 2
// for all others, which do not.
#include <fmt/format.h>

#include "mapcore/binding/affinity.h"
#include "mapcore/options/mapper_arguments.h"
#include "mapcore/topology/load.h"
#include "tests/unit/apps/command.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

struct Bind {
  TempDir dir;
  std::string topology = "host";
  pid_t pid = getpid();
  std::uint32_t cpus_per_task = 1;

  Ran with(const std::string& rankfile, const std::string& name = "ranks") const {
    write_text(dir.file(name), rankfile);
    BindArguments call;
    call.file = dir.file(name);
    call.rank = 0;
    call.ranks = 1;
    call.pid = pid;
    call.node = "n1";
    call.node_index = 0;
    call.cpus_per_task = cpus_per_task;
    call.topology = topology;
    call.relative = true;
    const ProgramWords words = call.to_words();
    return run_program(dir, ONDELOC_MAPPER, words.arguments, 0, "", words.environment);
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

TEST_CASE("a fault of the machine or the process is not the user's") {
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
  CHECK(ran.err.empty());
  // The test itself may be bound elsewhere. Slot 0 is the first core.
  const Machine host = *load_machine("host");
  const std::string cpus = get_affinity(bind.pid)->to_list();
  CHECK(get_affinity(bind.pid)->is_subset_of(host.allowed));
  CHECK((cpus != host.allowed.to_list() ||
         host.pus.front().at(Level::kCore) == host.pus.back().at(Level::kCore)));
  // A file made for one CPU per rank, in a step with more.
  bind.cpus_per_task = 1000;
  const Ran narrowed = bind.with(kGood);
  CHECK(narrowed.status == 0);
  CHECK(narrowed.told() == 1);
  CHECK(narrowed.err.find("but the step has 1000 for each rank; name more CPUs") !=
        std::string::npos);
  close(ends[1]);
  waitpid(bind.pid, nullptr, 0);
  close(ends[0]);
}

TEST_CASE("a file that puts a rank away from its GPU is told of on one node of those alike") {
  const TempDir dir;
  const int child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  write_text(dir.file("ranks"),
             "rank 0=n1 slot=0\nrank 1=n1 slot=0\nrank 2=n2 slot=0\nrank 3=n2 slot=1\n");
  const auto ask = [&](int rank, const char* node, const std::string& gpu) {
    BindArguments call;
    call.file = dir.file("ranks");
    call.rank = rank;
    call.ranks = 4;
    call.pid = child;
    call.node = node;
    call.node_index = rank / 2;
    call.nodes = 2;
    call.topology = test_data() + "/topologies/made-2n-2gpu.xml";
    call.device_variables = "ROCR_VISIBLE_DEVICES=" + gpu;
    const ProgramWords words = call.to_words();
    return run_program(dir, ONDELOC_MAPPER, words.arguments, 0, "", words.environment);
  };
  const Ran far = ask(1, "n1", "0000:20:00.0");
  CHECK(far.status == 0);
  CHECK(far.told() == 1);
  CHECK(far.err.find("ranks': rank 1 is bound to CPUs 0, away from its GPU renderD129") !=
        std::string::npos);
  CHECK(ask(1, "n1", "0000:10:00.0").told() == 0);
  CHECK(ask(2, "n2", "0000:20:00.0").told() == 0);  // rank 0 on n1 has the same slot
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a layout binds without a file, and its errors are the user's") {
  const TempDir dir;
  const int child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto ask = [&](const std::string& layout, int local_ranks) {
    BindArguments call;
    call.file = layout;
    call.rank = 5;
    call.ranks = 8;
    call.local_rank = 0;
    call.local_ranks = local_ranks;
    call.pid = child;
    call.node = "n1";
    call.topology = "host";
    const ProgramWords words = call.to_words();
    return run_program(dir, ONDELOC_MAPPER, words.arguments, 0, "", words.environment);
  };
  const Ran ran = ask("lama:core", 1);
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(get_affinity(child)->count() == 1);
  const Ran many = ask("lama:core", 10'000);
  CHECK(many.status == 1);
  CHECK(many.told() == 1);
  CHECK(many.err.find("layout 'lama:core': ") != std::string::npos);
  CHECK(many.err.find("add /oversubscribe to share CPUs") != std::string::npos);
  CHECK(ask("lama:core/oversubscribe", 10'000).status == 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}
