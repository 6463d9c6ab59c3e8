// SPDX-License-Identifier: Apache-2.0
// `ondeloc top` against processes that publish what a mapper publishes.
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "mapcore/mapper/live_report.h"
#include "tests/unit/apps/command.h"
#include "tests/unit/apps/on_terminal.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// A process with the name of a mapper; it has published `text`, or nothing if that is empty.
class Publisher {
 public:
  explicit Publisher(const std::string& text) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, "ondeloc-mapper");
      LiveReport live;
      if (!text.empty()) live.publish("an older text");
      if (!text.empty()) live.publish(text);
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char end = 0;
    REQUIRE(read(ready[0], &end, 1) == 0);
    close(ready[0]);
  }
  ~Publisher() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

 private:
  pid_t pid_ = -1;
};

// A number that no other test on this machine uses.
std::string job_of_test() { return std::to_string(2'000'000'000 + getpid()); }

std::string report_of_step(int step, const std::string& node = "n1") {
  return R"({"version": 1, "job": )" + job_of_test() + R"(, "step": )" + std::to_string(step) +
         R"(, "node": ")" + node + R"(", "mode": "online", "algorithm": "coordinated",
  "topology": {"numa": [{"os": 0, "pus": "0-1", "package": 0}, {"os": 1, "pus": "2-3", "package": 0}]},
  "ranks": [{"rank": 0, "initial_cpus": "0", "final_cpus": "0", "migrations": 0},
            {"rank": 1, "initial_cpus": "2", "final_cpus": "1", "migrations": 1},
            {"rank": 2, "initial_cpus": "1", "final_cpus": "2", "migrations": 1}],
  "intervals": [{"t": 0.5, "bytes": 1e9, "decision": "remaps", "gain": 0.1, "moved": [1, 2],
                 "cost_before": 0.2, "remote_share_before": 1, "remote_share_after": 0},
                {"t": 1.5, "bytes": 2e9, "decision": "keeps", "moved": [], "cost_before": 0.1}]})";
}

OnTerminal live_top(const std::string& step, unsigned short rows) {
  return {{ONDELOC_COMMAND, "top", step, "--delay", "100ms"}, rows, 80};
}

constexpr const char* kPageDown = "\033[6~";

}  // namespace

TEST_CASE("top shows who runs where, and the last decisions of a running step") {
  const TempDir dir;
  const Publisher mapper(report_of_step(3)), other(report_of_step(4, "n1"));
  const Ran ran = run_command(dir, {"top", job_of_test() + ".3", "--once"});
  CHECK(ran.status == 0);
  CAPTURE(ran.out);
  for (const std::string& part :
       {"job " + job_of_test() + " step 3 on n1", std::string("3 ranks, algorithm coordinated"),
        std::string("NUMA node  CPUs"), std::string("last decisions"), std::string("remaps"),
        std::string("keeps")})
    CHECK(ran.out.find(part) != std::string::npos);
  CHECK(ran.out.find("step 4") == std::string::npos);
  const auto line_of = [&](const std::string& begin) {
    const std::size_t at = ran.out.find("\n" + begin);
    return at == ran.out.npos ? "" : ran.out.substr(at + 1, ran.out.find('\n', at + 1) - at - 1);
  };
  CHECK(line_of("0          0-1").ends_with("0 1"));
  CHECK(line_of("1          2-3").ends_with(" 2"));
}

TEST_CASE("top lists steps for completion, and writes JSON for scripts") {
  const TempDir dir;
  const Publisher mapper(report_of_step(3)), other(report_of_step(4));
  const std::string list = run_command(dir, {"top", "--list"}).out;
  const std::size_t first = list.find(job_of_test() + ".3\n");
  REQUIRE(first != list.npos);
  CHECK(list.find(job_of_test() + ".4\n") > first);
  const Ran ran = run_command(dir, {"top", job_of_test(), "--once", "-f", "json"});
  CHECK(ran.status == 0);
  CAPTURE(ran.out);
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json.size() == 2);
  CHECK(json[0]["step"] == 3);
  CHECK(json[1]["step"] == 4);
}

TEST_CASE("top --once of a step that does not run is an error") {
  const TempDir dir;
  const Publisher mapper(report_of_step(3));
  for (const char* format : {"text", "json"}) {
    const Ran step = run_command(dir, {"top", job_of_test() + ".4", "--once", "-f", format});
    CHECK(step.status == 1);
    CHECK(step.out.empty());
    CHECK(step.err.find("no step " + job_of_test() + ".4 of yours runs here") != std::string::npos);
    CHECK(step.err.find("'ondeloc top --list' names the steps that do\n") != std::string::npos);
  }
  const Ran job = run_command(dir, {"top", "1" + job_of_test(), "--once"});
  CHECK(job.status == 1);
  CHECK(job.err.find("no step of job 1" + job_of_test() + " runs here") != std::string::npos);
}

TEST_CASE("top of a named step does not count mappers of other steps that have no interval yet") {
  const TempDir dir;
  const Publisher mapper(report_of_step(3)), nothing("");
  const Ran ran = run_command(dir, {"top", job_of_test() + ".3", "--once"});
  CHECK(ran.status == 0);
  CHECK(ran.out.find("job " + job_of_test() + " step 3 on n1") != std::string::npos);
  CHECK(ran.out.find("without an interval yet") == std::string::npos);
}

TEST_CASE("top names the versions if a mapper of another version runs") {
  const TempDir dir;
  std::string later = report_of_step(3);
  later.replace(later.find("1"), 1, "7");
  const Publisher mapper(report_of_step(4)), other(later);
  const std::string sentence =
      "is a report of version 7, and this ondeloc reads version 1; use the ondeloc that wrote it\n";
  const auto ends_sentence = [&](const std::string& text) {
    return text.find(sentence) != std::string::npos;
  };
  const Ran all = run_command(dir, {"top", "--once"});
  CAPTURE(all.out, all.err);
  CHECK(all.status == 0);
  CHECK(ends_sentence(all.out));
  CHECK(all.err.empty());
  const Ran json = run_command(dir, {"top", "--once", "-f", "json"});
  CHECK(json.status == 0);
  CHECK_FALSE(ends_sentence(json.out));
  CHECK(ends_sentence(json.err));
  const Ran missing = run_command(dir, {"top", job_of_test() + ".3", "--once"});
  CHECK(missing.status == 1);
  CHECK(missing.out.empty());
  CHECK(ends_sentence(missing.err));
  CHECK(missing.err.find("no step " + job_of_test() + ".3 of yours runs here, or") !=
        std::string::npos);
  CHECK(missing.err.find("or its report is of another version; ") != std::string::npos);
  const Ran named = run_command(dir, {"top", job_of_test() + ".4", "--once"});
  CHECK(named.status == 0);
  CHECK_FALSE(ends_sentence(named.out + named.err));
}

TEST_CASE("top refuses a wrong job and counts the steps whose memory it cannot read") {
  const TempDir dir;
  const Publisher nothing(""), garbage("{\"job\": "), list("[1, 2]");
  const Ran ran = run_command(dir, {"top", "--once"});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.out.find("more steps without an interval yet") != std::string::npos);
  const Ran wrong = run_command(dir, {"top", "12.x", "--once"});
  CHECK(wrong.status == 1);
  CHECK(wrong.err.find("'12.x' is not a job or step; write JOBID or JOBID.STEP") !=
        std::string::npos);
}

TEST_CASE("a user who has scrolled down sees on top that the step has ended") {
  std::optional<Publisher> mapper(report_of_step(3));
  OnTerminal top = live_top(job_of_test() + ".3", 6);
  REQUIRE(top.is_open());
  REQUIRE(top.shows("step 3 on n1"));
  REQUIRE(top.type(kPageDown));
  REQUIRE(top.type(kPageDown));
  REQUIRE(top.shows("keeps"));
  mapper.reset();
  CHECK(top.shows("o step of yours runs"));
}

TEST_CASE("top shows the end of a line that is longer than the terminal is wide") {
  const std::string note =
      "the first rank does something unusual, which costs time and gains it "
      "nothing at all; use decide=never or \u00e9 ask for help";
  std::string report = report_of_step(3);
  report.replace(report.rfind('}'), 1, R"(,"notes":[")" + note + "\"]}");
  const Publisher mapper(report);
  OnTerminal top = live_top(job_of_test() + ".3", 50);
  REQUIRE(top.is_open());
  CHECK(top.shows("ask for help"));
}
