// SPDX-License-Identifier: Apache-2.0
// slurmstepd reports the mapper at the end of a step, and waits for that for a bounded time.
#include "spank/step_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "mapcore/options/mapper_messages.h"
#include "mapcore/options/powercap_switch.h"
#include "mapcore/segment/record_check.h"
#include "tests/unit/catch.h"
#include "tests/unit/spank/fake_spank.h"
#include "tests/unit/temp_dir.h"

#include "spank/callbacks.h"

using namespace ondeloc;

namespace {

using Lines = std::vector<std::string>;
constexpr int kKilled = SIGKILL;  // a wait status
constexpr std::chrono::seconds kLongestWait(10);

struct Ended {
  Step step;
  UniqueFd mappers;  // the mapper's end

  explicit Ended(const char* option) {
    auto options = parse_options(option);
    REQUIRE(options.ok());
    step.request.options = *options;
    step.request.user_requested = true;
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    step.fds.messages.reset(ends[0]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    mappers.reset(ends[1]);
  }

  void say(const std::string& text) const {
    REQUIRE(write(mappers.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  Lines told(int last_status = 0) const {
    FakeSpank& fake = use_fake();
    relay_mapper_messages(step, last_status);
    return fake.user_lines;
  }
};

const std::string kStarted(1, kMapperStarted);

}  // namespace

TEST_CASE("the mapper's lines reach the user") {
  Ended ended("online");
  ended.say(kStarted + encode_messages({"first", "second"}));
  ended.mappers.reset();
  CHECK(ended.told() == Lines{"ondeloc: first", "ondeloc: second"});
}

TEST_CASE("a line for the log names the step and its user, and does not reach the user") {
  Ended ended("online");
  ended.step.identity.job_id = 12;
  ended.step.identity.uid = 1000;
  ended.say(kStarted + encode_messages({std::string(1, kForLog) + std::string(500, 'x'), "mine"}));
  ended.mappers.reset();
  FakeSpank& fake = use_fake();
  relay_mapper_messages(ended.step, 0);
  CHECK(fake.user_lines == Lines{"ondeloc: mine"});
  CHECK(fake.log_lines ==
        Lines{"ondeloc: job 12 step 0 user 1000: " + std::string(397, 'x') + "..."});
}

TEST_CASE("no line of the mapper names another job, whoever reads it") {
  constexpr const char* kForged = "job 99 step 0 user 0: online, 4 ranks, 0 remaps";
  for (const std::string blanks : {"", " "}) {
    Ended ended("online");
    ended.step.identity.job_id = 12;
    ended.step.identity.uid = 1000;
    ended.say(kStarted + encode_messages({blanks + kForged, "jobs are fine"}));
    ended.mappers.reset();
    // slurm_spank_log writes into slurmd's log too.
    CHECK(ended.told() == Lines{"ondeloc: mapper: " + blanks + kForged, "ondeloc: jobs are fine"});
  }
  Ended by_default("online");
  by_default.step.request.user_requested = false;
  by_default.step.identity.job_id = 12;
  by_default.step.identity.uid = 1000;
  by_default.say(kStarted + encode_messages({kForged}));
  by_default.mappers.reset();
  FakeSpank& fake = use_fake();
  relay_mapper_messages(by_default.step, 0);
  CHECK(fake.user_lines.empty());
  CHECK(fake.log_lines ==
        Lines{std::string("ondeloc: job 12 step 0 user 1000: mapper: ") + kForged});
}

TEST_CASE("a long sentence reaches the user whole, and one that is cut says so") {
  const std::string note(300, 'x'), longest(400, 'y'), longer(401, 'z');
  Ended ended("online");
  ended.say(kStarted + encode_messages({note, longest, longer}));
  ended.mappers.reset();
  CHECK(ended.told() == Lines{"ondeloc: " + note, "ondeloc: " + longest,
                              "ondeloc: " + std::string(397, 'z') + "..."});
}

TEST_CASE("a report that nobody asked for is waited for, and missed in the log alone") {
  Ended hangs("online");
  hangs.step.request.site.report_dir = "/var/spool/ondeloc";
  hangs.say(kStarted);
  FakeSpank& fake = use_fake();
  relay_mapper_messages(hangs.step, 0);
  CHECK(fake.user_lines.empty());
  REQUIRE(fake.log_lines.size() == 1);
  CHECK(fake.log_lines[0].ends_with("the report in report-dir= may be missing"));
}

TEST_CASE("the mapper's last word ends the wait, whoever keeps the pipe open") {
  const Ended ended("online,report=r.json");
  ended.say(kStarted + encode_messages({"done"}));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(ended.told() == Lines{"ondeloc: done"});
  CHECK(std::chrono::steady_clock::now() - begin < kLongestWait / 2);
}

TEST_CASE("hostile text is bounded and shown without controls") {
  Ended ended("online");
  std::string text = kStarted + kMessagesBegin;
  for (int line = 0; line < 30; ++line)
    text +=
        "\xc2\x9b"
        "31m\u202e\n";
  ended.say(text + std::string(1000, 'x'));
  ended.mappers.reset();
  const Lines lines = ended.told();
  REQUIRE(lines.size() == 20);
  CHECK(lines.front() == "ondeloc: ?31m?");
}

TEST_CASE("why the mapper did not start is told once, and a loader's warning is not a cause") {
  const std::string loader = "/x/ondeloc-mapper: error while loading shared libraries: libx.so.1\n";
  Ended missing("online,report=r.json");
  missing.say(kStarted + loader + "a second line\n");
  missing.mappers.reset();
  CHECK(missing.told() ==
        Lines{"ondeloc: the mapper did not start, the ranks stay where they are: "
              "/x/ondeloc-mapper: error while loading shared libraries: libx.so.1"});
  Ended warned("online");
  warned.say(kStarted + "/x/ondeloc-mapper: /x/libx.so.1: no version information available\n" +
             encode_messages({"first"}));
  warned.mappers.reset();
  CHECK(warned.told() == Lines{"ondeloc: first"});
}

TEST_CASE("a mapper that was killed is told of by what it leaves undone") {
  const auto told = [](const char* option, int last_status) {
    Ended ended(option);
    ended.say(kStarted);
    ended.mappers.reset();
    const Lines lines = ended.told(last_status);
    return lines.empty() ? "" : lines.front();
  };
  CHECK(told("online", 0) ==
        "ondeloc: the mapper ended before the ranks: they stay where they are");
  CHECK(told("online,report=r.json", 0).ends_with("the report is preliminary or missing"));
  CHECK(told("online", kKilled) == "");
  CHECK(told("online,report=r.json", kKilled).starts_with("ondeloc: the mapper was killed with"));
  CHECK(told("profile:p", kKilled).starts_with("ondeloc: the recorder was killed"));
}

TEST_CASE("a mapper that never started is not missed, and one that hangs costs a bounded wait") {
  Ended none("online,report=r.json");
  none.mappers.reset();
  CHECK(none.told().empty());
  const Ended hangs("online");
  hangs.say(kStarted);
  CHECK(hangs.told().empty());  // no file, no word; the wait has ended
  CHECK(hangs.told(kKilled).empty());
}

TEST_CASE("lines that do not come are missed by those who asked for them") {
  Ended user("online,verbose");
  user.say(kStarted);
  CHECK(user.told() ==
        Lines{"ondeloc: the mapper is not done 1 s after the last task: its lines are missing"});
  Ended site("online");
  site.step.request.site.log = SiteLog::kLine;
  site.say(kStarted);
  FakeSpank& fake = use_fake();
  relay_mapper_messages(site.step, 0);
  CHECK(fake.user_lines.empty());
  REQUIRE(fake.log_lines.size() == 1);
  CHECK(fake.log_lines[0].ends_with("the line of log= is missing"));
}

namespace {

void open_channel(Step& step) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  step.fds.channel.read.reset(ends[0]);
  step.fds.channel.write.reset(ends[1]);
}

// The record in the channel, which has to be END.
ondeloc_record_end read_end(const Step& step) {
  std::byte bytes[4096];
  const ssize_t got = read(step.fds.channel.read.get(), bytes, sizeof(bytes));
  REQUIRE(got > 0);
  std::span<const std::byte> rest(bytes, static_cast<std::size_t>(got));
  const auto record = take_record(rest);
  REQUIRE(record);
  REQUIRE(std::holds_alternative<ondeloc_record_end>(*record));
  return std::get<ondeloc_record_end>(*record);
}

}  // namespace

TEST_CASE("the END record has the energy since the tasks were forked") {
  const TempDir tree;
  const std::string zone = tree.file("intel-rapl:0");
  std::filesystem::create_directory(zone);
  write_text(zone + "/name", "package-0\n");
  write_text(zone + "/energy_uj", "1000\n");
  write_text(zone + "/max_energy_range_uj", "262143328850\n");
  Step step;
  open_channel(step);
  step.request.watch = true;
  step.request.site.test_switches = {std::string(kSwitchPowercap) + tree.path()};
  stepd_task_post_fork(step);
  write_text(zone + "/energy_uj", "1500\n");
  stepd_task_post_fork(step);  // of the second task
  write_text(zone + "/energy_uj", "1700\n");
  send_end(step);
  const ondeloc_record_end end = read_end(step);
  CHECK(end.package_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(end.package_energy.microjoules == 700);
  CHECK(end.energy_ns > 0);
}

TEST_CASE("the END record is written if there is room, and never blocks") {
  Step step;
  open_channel(step);
  send_end(step);
  (void)read_end(step);
  const std::byte bytes[4096]{};
  while (write(step.fds.channel.write.get(), bytes, sizeof(bytes)) > 0) {
  }
  send_end(step);
}
