// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/read_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

TEST_CASE("a file of any size up to the limit is read whole") {
  const TempDir dir;
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 8192, 12288, 12289, 1 << 20}) {
    std::string text(size, 'x');
    if (size > 0) text.back() = '\0';
    write_text(dir.file("f"), text);
    INFO(size);
    const auto same = read_file(dir.file("f"), size);
    CHECK((same.ok() && *same == text));
    if (size == 0) continue;
    const auto larger = read_file(dir.file("f"), size - 1);
    REQUIRE(!larger.ok());
    CHECK(larger.error().message().find("/f: larger than ") != std::string::npos);
  }
  const auto missing = read_file(dir.file("none"), 1);
  REQUIRE(!missing.ok());
  CHECK(missing.error().message().find("/none: No such file") != std::string::npos);
}

TEST_CASE("a reader that wants a file takes no pipe, device or standard input") {
  const TempDir dir;
  write_text(dir.file("f"), "text");
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  CHECK(*read_file(dir.file("f"), 10, ReadFrom::kFile) == "text");
  for (const std::string& other : {dir.file("pipe"), dir.path(), std::string("/dev/null")}) {
    const auto refused = read_file(other, 10, ReadFrom::kFile);
    REQUIRE(!refused.ok());
    CHECK(refused.error().message().ends_with(": not a regular file; name one"));
  }
  CHECK_FALSE(read_file("-", 10, ReadFrom::kFile).ok());
}

TEST_CASE("a file of /proc, which gives a page at a time, is read whole") {
  constexpr std::size_t kMappings = 200, kPage = 4096;
  auto* pages = static_cast<char*>(
      mmap(nullptr, kMappings * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  for (std::size_t i = 0; i < kMappings; i += 2)
    REQUIRE(mprotect(pages + i * kPage, kPage, PROT_READ) == 0);
  const auto maps = read_file("/proc/self/maps", std::size_t{1} << 23);
  munmap(pages, kMappings * kPage);
  REQUIRE(maps.ok());
  CHECK(std::count(maps->begin(), maps->end(), '\n') >= static_cast<long>(kMappings));
  CHECK(maps->back() == '\n');
}
