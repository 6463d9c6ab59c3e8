// SPDX-License-Identifier: Apache-2.0
// ondeloc site --containers.
#include <string>
#include <vector>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

Ran containers(const TempDir& dir, std::vector<std::string> variables) {
  return run_program(dir, ONDELOC_COMMAND, {"site", "--containers"}, 0, "", std::move(variables));
}

bool tells(const Ran& ran, const std::string& text) { return ran.out.find(text) != ran.out.npos; }

}  // namespace

TEST_CASE("inside a step the mounts of a container have the step's paths") {
  const TempDir dir;
  const Ran ran = containers(dir, {"LD_PRELOAD=/opt/mine/lib/ondeloc/libondeloc_rank.so",
                                   "PMIX_SERVER_TMPDIR=/var/spool/here/pmix.7.0/"});
  CHECK(ran.status == 0);
  CHECK(tells(ran, "--ro-bind /opt/mine/lib/ondeloc /opt/mine/lib/ondeloc"));
  CHECK(tells(ran, "--bind /var/spool/here /var/spool/here"));
  CHECK(tells(ran, "-v /opt/mine/lib/ondeloc:/opt/mine/lib/ondeloc:ro"));
  CHECK_FALSE(tells(ran, "SlurmdSpoolDir"));
  CHECK_FALSE(tells(ran, "{"));
}

TEST_CASE("outside of a step the mounts have the installation's paths") {
  const TempDir dir;
  const Ran ran = containers(dir, {"LD_PRELOAD=", "PMIX_SERVER_TMPDIR="});
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  CHECK(tells(ran, "/ondeloc, read-only, at the same path: libondeloc_rank.so"));
  CHECK(tells(ran, "scontrol show config | grep SlurmdSpoolDir"));
}

TEST_CASE("site refuses options that neither verdicts nor the mounts of containers obey") {
  const TempDir dir;
  const std::vector<std::vector<std::string>> others = {
      {"--since", "7d"}, {"--format", "json"},     {"--cluster", "c"},
      {"--top", "3"},    {"--remove-older", "1d"}, {"--remove-above", "1GB"}};
  const std::vector<std::string> verdicts{"--verdicts", "12", "--user", "1000"},
      mounts{"--containers"};
  const auto refuses = [&](const std::vector<std::string>& use,
                           const std::vector<std::string>& other) {
    std::vector<std::string> words{"site", dir.file("")};
    words.insert(words.end(), use.begin(), use.end());
    words.insert(words.end(), other.begin(), other.end());
    const Ran ran = run_command(dir, words);
    CAPTURE(words, ran.out, ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(use[0]) != std::string::npos);
    CHECK(ran.err.find(other[0]) != std::string::npos);
  };
  for (const std::vector<std::string>& other : others) {
    refuses(verdicts, other);
    refuses(mounts, other);
  }
  refuses(verdicts, mounts);
  CHECK(run_command(dir, {"site", "--containers", "-o", dir.file("mounts")}).status == 0);
}

TEST_CASE("site needs a directory, except for the mounts of containers") {
  const TempDir dir;
  const Ran ran = run_command(dir, {"site"});
  CHECK(ran.status != 0);
  CHECK(ran.err == "ondeloc: DIR: missing; name the directory of the reports\n");
}
