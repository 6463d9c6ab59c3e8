// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/recording.h"

#include <fcntl.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "mapcore/profile/reader.h"
#include "mapcore/threads/counts_file.h"
#include "mapcore/threads/program.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/profile_fixture.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

TEST_CASE("the growth of the counts becomes events, sums, volumes and names") {
  TempDir dir;
  auto file = CountsFile::create();
  REQUIRE(file.ok());
  auto& counts = file->counts();
  auto recording = ThreadRecording::start(counts, 1);
  REQUIRE(recording.ok());
  counts.threads.store(2);
  counts.thread[1].lines_from[0].store(10);
  recording->look(1000);
  recording->look(2000);  // nothing new
  counts.threads.store(3);
  counts.thread[1].lines_from[0].store(15);
  counts.thread[0].lines_from[2].store(1);
  counts.thread[2].accessed.store(1000);
  counts.thread[2].beyond_llc.store(4);
  std::strcpy(counts.thread[2].name, "helper");
  std::memset(counts.thread[1].name, 'x', sizeof counts.thread[1].name);  // without a zero
  counts.ended.store(1);
  recording->look(3000);
  REQUIRE(recording->write(dir.file("p.prof"), {}).ok());
  auto profile = ProfileReader::open(dir.file("p.prof"));
  REQUIRE(profile.ok());
  CHECK(profile->ranks() == 3);
  CHECK(profile->damage().empty());
  CHECK(all_events(*profile) ==
        std::vector<ProfileEvent>{{1000, 0, 1, 640}, {3000, 2, 0, 64}, {3000, 0, 1, 320}});
  REQUIRE(profile->totals().size() == 2);
  CHECK(profile->totals()[0].bytes == 960);
  CHECK(profile->totals()[0].messages == 2);
  REQUIRE(profile->memory().size() == 3);
  CHECK(profile->memory()[2].accessed == 1000);
  CHECK(profile->memory()[2].dram == 256);
  REQUIRE(profile->threads().size() == 3);
  CHECK(profile->threads()[1].name == std::string(16, 'x'));
  CHECK(profile->threads()[2].text() == "helper");
}

TEST_CASE("a program that is started now inherits no descriptor of the recording") {
  auto file = CountsFile::create();
  REQUIRE(file.ok());
  auto recording = ThreadRecording::start(file->counts(), 1);
  REQUIRE(recording.ok());
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.find("ondeloc-events") == std::string::npos) continue;
    CHECK((fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC) != 0);
    ++found;
  }
  CHECK(found == 2);
}

TEST_CASE("the recording of a sample counts each line for all") {
  TempDir dir;
  auto file = CountsFile::create();
  REQUIRE(file.ok());
  auto recording = ThreadRecording::start(file->counts(), 10);
  REQUIRE(recording.ok());
  file->counts().threads.store(2);
  file->counts().thread[1].lines_from[0].store(3);
  recording->look(1000);
  CHECK(recording->bytes() == 1920);
}

TEST_CASE("a program that counts more threads than there is room for is recorded up to it") {
  TempDir dir;
  auto file = CountsFile::create();
  REQUIRE(file.ok());
  auto recording = ThreadRecording::start(file->counts(), 1);
  REQUIRE(recording.ok());
  file->counts().threads.store(0xFFFFFFFF);
  recording->look(1000);
  REQUIRE(recording->write(dir.file("p.prof"), {}).ok());
  auto profile = ProfileReader::open(dir.file("p.prof"));
  REQUIRE(profile.ok());
  CHECK(profile->ranks() == static_cast<int>(ondeloc_threads::kMostThreads));
}

TEST_CASE("programs are found on PATH and by their path") {
  const auto shell = find_program("sh");
  REQUIRE(shell.ok());
  CHECK(find_program(*shell).ok());
  CHECK_FALSE(find_program("").ok());
  CHECK_FALSE(find_program("/").ok());
  CHECK_FALSE(find_program("/etc/passwd").ok());
}
