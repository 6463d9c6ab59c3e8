// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

NewFile written(const std::string& path) {
  auto file = NewFile::create(path);
  REQUIRE(file.ok());
  REQUIRE(file->write("new").ok());
  return *std::move(file);
}

bool has_nameless_files(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600)).valid();
}

}  // namespace

TEST_CASE("a file has no name while it is written: a killed writer leaves nothing") {
  const TempDir dir;
  std::ofstream(dir.file("f")) << "old";
  auto file = written(dir.file("f"));
  if (has_nameless_files(dir.path())) CHECK(dir.files() == 1);
  CHECK(read_text(dir.file("f")) == "old");
  REQUIRE(file.commit().ok());
  CHECK(read_text(dir.file("f")) == "new");
  CHECK(dir.files() == 1);
}

TEST_CASE("without a commit the old file stays") {
  const TempDir dir;
  std::ofstream(dir.file("f")) << "old";
  { const auto file = written(dir.file("f")); }
  CHECK(read_text(dir.file("f")) == "old");
  CHECK(dir.files() == 1);
}

TEST_CASE("a new file that is put off is not there until something is written") {
  const TempDir dir;
  std::ofstream(dir.file("f")) << "old";
  REQUIRE(::chmod(dir.file("f").c_str(), 0640) == 0);
  auto file = NewFile::create(dir.file("f"));
  REQUIRE(file.ok());
  file->put_off();
  CHECK(file->fd() < 0);
  CHECK(dir.files() == 1);
  REQUIRE(file->write("n").ok());
  REQUIRE(file->write("ew").ok());
  REQUIRE(file->commit().ok());
  CHECK(read_text(dir.file("f")) == "new");
  struct stat info {};
  REQUIRE(::stat(dir.file("f").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(dir.files() == 1);
}

TEST_CASE("a file that is written in place stays open while it is put off") {
  auto file = NewFile::create("/dev/null");
  REQUIRE(file.ok());
  file->put_off();
  CHECK(file->fd() >= 0);
  CHECK(file->write("new").ok());
  CHECK(file->commit().ok());
}

TEST_CASE("a folder that is not there is said") {
  const TempDir dir;
  const auto file = NewFile::create(dir.file("none/f"));
  REQUIRE(!file.ok());
  CHECK(file.error().message() ==
        "'" + dir.file("none/f") + "' cannot be written: No such file or directory");
}
