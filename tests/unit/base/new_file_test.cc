// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/catch.h"
#include "tests/unit/temp_folder.h"

using namespace ondeloc;

namespace {

bool has_nameless_files(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600)).valid();
}

}  // namespace

TEST_CASE("what is being written has no name: a writer that is killed leaves nothing") {
  const Folder folder;
  std::ofstream(folder / "f") << "old";
  auto file = NewFile::create(folder / "f");
  REQUIRE(file.ok());
  REQUIRE(file->write("new").ok());
  if (has_nameless_files(folder.path)) CHECK(folder.files() == 1);
  CHECK(text_of(folder / "f") == "old");
  REQUIRE(file->commit().ok());
  CHECK(text_of(folder / "f") == "new");
  CHECK(folder.files() == 1);
}

TEST_CASE("what is not committed leaves what was there") {
  const Folder folder;
  std::ofstream(folder / "f") << "old";
  {
    auto file = NewFile::create(folder / "f");
    REQUIRE(file.ok());
    REQUIRE(file->write("new").ok());
  }
  CHECK(text_of(folder / "f") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a folder that is not there is said") {
  const Folder folder;
  const auto file = NewFile::create(folder / "none/f");
  REQUIRE(!file.ok());
  CHECK(file.error().message() ==
        "'" + (folder / "none/f") + "' cannot be written: No such file or directory");
}
