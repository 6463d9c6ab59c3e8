// SPDX-License-Identifier: Apache-2.0
// The callbacks in slurmstepd, on a fake of Slurm: what a step gets, and what turns ondeloc off.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapcore/segment/rank_env.h"
#include "mapcore/segment/segment_view.h"
#include "tests/unit/catch.h"
#include "tests/unit/spank/fake_spank.h"

#include "spank/callbacks.h"
#include "spank/environment.h"
#include "spank/prepare.h"
#include "spank/user_log.h"

using namespace ondeloc;

namespace {

struct Begun {
  Step step;
  explicit Begun(const char* option, std::vector<std::string> words = {}) {
    FakeSpank& fake = use_fake();
    begin(fake, option, std::move(words));
  }
  Begun(FakeSpank fake, const char* option, std::vector<std::string> words = {}) {
    begin(use_fake(std::move(fake)), option, std::move(words));
  }
  bool is_on() const { return step.request.watch || step.request.bind; }

 private:
  void begin(const FakeSpank& fake, const char* option, std::vector<std::string> words) {
    if (option != nullptr) fake.give_option(option);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    stepd_init_post_opt(kSpank, pointers, step);
  }
};

FakeSpank with(spank_item_t item, std::uint32_t value) {
  FakeSpank fake = FakeSpank::normal_step();
  fake.items[item] = value;
  return fake;
}

FakeSpank with_env(const std::string& name, const std::string& value) {
  FakeSpank fake = FakeSpank::normal_step();
  fake.env[name] = value;
  return fake;
}

bool is_closed(const UniqueFd& read_end) {
  pollfd end{read_end.get(), 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

}  // namespace

TEST_CASE("an online step gets segment, channel, messages and kill switch") {
  const Begun begun("online");
  REQUIRE(begun.step.request.watch);
  CHECK_FALSE(begun.step.request.bind);
  CHECK(begun.step.request.user_requested);
  const Descriptors& fds = begun.step.fds;
  const auto view = SegmentView::open(fds.segment.get());
  REQUIRE(view.ok());
  CHECK(view->header().job_id == 7);
  CHECK(view->header().step_id == 1);
  CHECK(view->header().local_ranks == 2);
  CHECK(view->header().world_ranks == 4);
  for (const UniqueFd* fd : {&fds.segment, &fds.channel.read, &fds.channel.write, &fds.messages,
                             &fds.kill_switch.read, &fds.kill_switch.write})
    CHECK((fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(fds.channel.write.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK(fds.failure_token.read.valid());
  CHECK_FALSE(fds.error_token.read.valid());
}

TEST_CASE("a static step gets what binding needs, and a segment for a report only") {
  const Begun plain("static:ranks.txt");
  CHECK(plain.step.request.bind);
  CHECK_FALSE(plain.step.request.watch);
  CHECK(plain.step.fds.error_token.read.valid());
  CHECK(plain.step.fds.warning_token.read.valid());
  CHECK(plain.step.fds.failure_token.read.valid());
  CHECK_FALSE(plain.step.fds.segment.valid());
  struct stat kill_switch {};
  REQUIRE(fstat(plain.step.fds.kill_switch.read.get(), &kill_switch) == 0);
  CHECK((kill_switch.st_mode & 0777) == 0444);
  const Begun reported("static:ranks.txt,report=r.json");
  CHECK(reported.step.request.watch);
  CHECK(reported.step.fds.segment.valid());
}

TEST_CASE("ondeloc is off without a wish, and for batch and extern steps") {
  CHECK_FALSE(Begun(nullptr).is_on());
  CHECK_FALSE(Begun("off").is_on());
  CHECK_FALSE(Begun(with(S_JOB_STEPID, 0xfffffffb), "online").is_on());
  CHECK_FALSE(Begun(with(S_JOB_STEPID, 0xfffffffc), "online").is_on());
}

TEST_CASE("option, then ONDELOC, then the site's default") {
  CHECK(Begun(nullptr, {"default=online"}).is_on());
  CHECK_FALSE(Begun(nullptr, {"default=online"}).step.request.user_requested);
  CHECK_FALSE(Begun(with_env("ONDELOC", "off"), nullptr, {"default=online"}).is_on());
  const Begun by_variable(with_env("ONDELOC", "online"), nullptr);
  CHECK(by_variable.is_on());
  CHECK(by_variable.step.request.user_requested);
  CHECK_FALSE(Begun(with_env("ONDELOC", "online"), "off").is_on());
  CHECK(Begun(" online").is_on());  // of srun's variable
  CHECK_FALSE(Begun(with_env("ONDELOC", "off"), " online").is_on());
}

TEST_CASE("a failure is reported once, to a user that asked for ondeloc") {
  const auto told = [](Begun begun) {
    FakeSpank& fake = use_fake(FakeSpank::normal_step());
    stepd_user_init(kSpank, begun.step);
    CHECK_FALSE(begun.is_on());
    CHECK(fake.user_lines.size() + fake.log_lines.size() == 1);
    return fake.user_lines.empty() ? "log: " + fake.log_lines.front() : fake.user_lines.front();
  };
  CHECK(told(Begun("online", {"speed=1"})).starts_with("ondeloc: plugstack.conf: 'speed' is not"));
  CHECK(told(Begun(nullptr, {"speed=1"})).starts_with("log: ondeloc: plugstack.conf: 'speed'"));
  CHECK(told(Begun("nonsense")).starts_with("ondeloc: mode 'nonsense' is not known"));
  CHECK(told(Begun(with_env("ONDELOC", std::string(4097, 'x')), nullptr))
            .starts_with("ondeloc: ONDELOC is longer than 4096 characters; the job runs on"));
  CHECK(told(Begun("online", {"libexec=/nonexistent"})).starts_with("ondeloc: /nonexistent"));
  CHECK(told(Begun(nullptr, {"default=online", "libexec=/nonexistent"}))
            .starts_with(fmt::format("log: ondeloc: job 7 step 1 user {}: /nonexist", getuid())));
}

TEST_CASE("a failure of all tasks of a node is one sentence") {
  // The mount namespace of a job may hide the files that slurmstepd has found.
  const std::vector<std::string> words = {"rank-lib=/gone/rank.so", "libexec=/gone"};
  for (const char* option : {"online", "static:ranks.txt", "static:ranks.txt,report=r.json"}) {
    CAPTURE(option);
    Begun begun(option, words);
    FakeSpank& fake = use_fake();
    fake.env = {{"SLURM_PROCID", "2"}, {"SLURM_NODEID", "0"}};
    const Request request = begun.step.request;
    for (const std::uint32_t task : {1, 0}) {
      fake.items[S_TASK_ID] = task;
      begun.step.request = request;  // each task has the step as it was before the fork
      task_init(kSpank, begun.step);
      CHECK_FALSE(begun.is_on());
    }
    CHECK(fake.user_lines.size() == 1);
    CHECK(fake.log_lines.empty());
  }
}

TEST_CASE("a user who says off is not told that plugstack.conf is wrong") {
  const Begun by_option("off", {"speed=1"});
  CHECK_FALSE(by_option.is_on());
  CHECK(by_option.step.state.pending.empty());
  const Begun by_variable(with_env("ONDELOC", "off"), nullptr, {"speed=1"});
  CHECK_FALSE(by_variable.is_on());
  CHECK(by_variable.step.state.pending.empty());
}

TEST_CASE("users below min-uid= run without ondeloc") {
  const auto uid_5 = [] { return with(S_JOB_UID, 5); };
  Begun below(uid_5(), "online", {"min-uid=6"});
  CHECK_FALSE(below.is_on());
  CHECK_FALSE(below.step.fds.segment.valid());
  CHECK(below.step.state.pending ==
        "off for user 5: min-uid=6 in plugstack.conf; the job runs on without it");
  const Begun silent(uid_5(), nullptr, {"default=online", "min-uid=6"});
  CHECK_FALSE(silent.is_on());
  CHECK(silent.step.state.pending.empty());
  if (geteuid() == 0) CHECK(Begun(uid_5(), "online", {"min-uid=5"}).is_on());
}

TEST_CASE("a step that the site does not allow runs without ondeloc, and its user learns why") {
  Begun many("online", {"allow=ranks:3"});  // the step has 4 ranks
  CHECK_FALSE(many.is_on());
  CHECK(many.step.state.pending ==
        "off for a step of 4 ranks: a step may have 3 here (allow= in plugstack.conf); the job "
        "runs on without it");
  Begun by_default(nullptr, {"default=online,decide=never", "allow=ranks:3"});
  CHECK_FALSE(by_default.is_on());
  CHECK(by_default.step.state.pending.empty());
  CHECK_FALSE(Begun("profile:p", {"allow=online"}).is_on());
  const Begun good("online", {"allow=online,coordinated,ranks:4"});
  CHECK(good.is_on());
}

TEST_CASE("the site's default has keys") {
  const Begun begun(nullptr, {"default=online,decide=never,interval=1s"});
  CHECK(begun.is_on());
  CHECK(begun.step.request.options.decide == Decide::kNever);
  CHECK(begun.step.request.text == "online,decide=never,interval=1s");
}

TEST_CASE("a heterogeneous step counts the ranks of all its components") {
  FakeSpank fake = FakeSpank::normal_step();
  fake.env = {{"SLURM_STEP_NUM_TASKS", "10"}, {"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_ID", "6"}};
  const Begun begun(fake, "online");
  CHECK(begun.step.identity.is_component);
  CHECK(begun.step.identity.world_ranks == 10);
  CHECK(SegmentView::open(begun.step.fds.segment.get())->header().job_id == 6);
  fake.env = {{"SLURM_STEP_NUM_TASKS", "x"}, {"SLURM_JOB_ID", "6"}};
  const Begun plain(fake, "online");
  CHECK(plain.step.identity.world_ranks == 4);
  CHECK(SegmentView::open(plain.step.fds.segment.get())->header().job_id == 7);
}

TEST_CASE("the log names the job that Slurm knows, whatever the job's environment says") {
  FakeSpank forged = FakeSpank::normal_step();
  forged.env = {{"SLURM_HET_SIZE", "2"}, {"SLURM_JOB_ID", "424242"}};
  const Begun begun(forged, "online");
  FakeSpank& fake = use_fake();
  log_to_site(begun.step, "a line");
  REQUIRE(fake.log_lines.size() == 1);
  CHECK(fake.log_lines.front().starts_with("ondeloc: job 7 step 1 "));
}

TEST_CASE("the end of the step closes the kill switch, and nothing else does") {
  Begun begun("online");
  CHECK_FALSE(is_closed(begun.step.fds.kill_switch.read));
  stepd_exit(kSpank, begun.step);
  CHECK(is_closed(begun.step.fds.kill_switch.read));
}

TEST_CASE("ranks get ondeloc's variables beside the user's") {
  FakeSpank fake = FakeSpank::normal_step();
  fake.env = {{"LD_PRELOAD", "/lib/users.so"}, {"ASAN_OPTIONS", "detect_leaks=0"}};
  Begun begun(fake, "online", {"rank-lib=/opt/libondeloc_rank.so"});
  FakeSpank& now = use_fake(fake);
  REQUIRE(set_environment(kSpank, begun.step).ok());
  CHECK(now.env["LD_PRELOAD"] == "/lib/users.so:/opt/libondeloc_rank.so");
  CHECK(now.env["ASAN_OPTIONS"] == "detect_leaks=0:verify_asan_link_order=0");
  CHECK(now.env["ONDELOC_STEP"].find(" local_ranks=2 world_ranks=4 job=7 step=1") !=
        std::string::npos);
  // A step that is submitted from inside gets rid of them.
  remove_inherited(kSpank);
  CHECK(now.env == fake.env);
}

TEST_CASE("a step inside a step that only chose an adapter does not inherit that") {
  FakeSpank& fake = use_fake(FakeSpank::normal_step());
  fake.env = {{"ONDELOC_NIC", "UCX_NET_DEVICES=mlx5_0:1"}, {"UCX_NET_DEVICES", "mlx5_0:1"}};
  remove_inherited(kSpank);
  CHECK(fake.env.empty());
}

TEST_CASE("a preload path that the loader would split is refused before anything is changed") {
  FakeSpank fake = FakeSpank::normal_step();
  Begun begun(fake, "online", {"rank-lib=/opt/a:b.so"});
  FakeSpank& now = use_fake(fake);
  CHECK_FALSE(set_environment(kSpank, begun.step).ok());
  CHECK(now.env.empty());
}

TEST_CASE("a task that static leaves unbound keeps Open MPI and PSM2 from binding it") {
  FakeSpank fake = FakeSpank::normal_step();
  fake.env = {{"HFI_NO_CPUAFFINITY", "0"}};  // the user's
  Begun begun(fake, "static:ranks.txt");
  FakeSpank& now = use_fake(fake);
  REQUIRE(keep_task_unbound(kSpank, begun.step).ok());
  CHECK(now.env[ONDELOC_ENV_OPEN_MPI_BINDING] == ONDELOC_ENV_OPEN_MPI_BINDS_NOT);
  CHECK(now.env["HFI_NO_CPUAFFINITY"] == "0");
  CHECK(now.env["ONDELOC_STEP"].find("set=policy") != std::string::npos);
  remove_inherited(kSpank);
  CHECK(now.env == fake.env);
}
