// SPDX-License-Identifier: Apache-2.0
// Files of a test in a directory of its own, and small profiles.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mapcore/profile/import_csv.h"
#include "mapcore/profile/reader.h"
#include "mapcore/profile/writer.h"
#include "tests/unit/catch.h"

namespace ondeloc {

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/ondeloc-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline profile_format::FileHeader small_header(std::uint32_t ranks) {
  profile_format::FileHeader header;
  header.ranks = header.local_ranks = ranks;
  header.node = "n1";
  header.origin = "test";
  return header;
}

// Writes the events, a block after every `block` of them.
inline std::string write_profile(const TempDir& dir, std::uint32_t ranks,
                                 const std::vector<ProfileEvent>& events,
                                 std::size_t block = 1000) {
  const std::string path = dir.file("p.prof");
  auto writer = ProfileWriter::create(path, small_header(ranks));
  REQUIRE(writer.ok());
  for (std::size_t i = 0; i < events.size(); ++i) {
    REQUIRE(writer->add(events[i]).ok());
    if ((i + 1) % block == 0) REQUIRE(writer->flush().ok());
  }
  REQUIRE(writer->finish().ok());
  return path;
}

inline ProfileReader open_npb(const TempDir& dir, const std::string& app) {
  const std::string path = dir.file(app + ".prof");
  const auto counts =
      import_events_csv(std::string(ONDELOC_TEST_DATA) + "/npb/" + app + ".A.32/events.csv", path);
  REQUIRE(counts.ok());
  REQUIRE(counts->ranks == 32);
  auto reader = ProfileReader::open(path);
  REQUIRE(reader.ok());
  return std::move(*reader);
}

inline std::vector<ProfileEvent> all_events(ProfileReader& reader) {
  std::vector<ProfileEvent> all;
  reader.for_each(
      {}, [&](std::span<const ProfileEvent> e) { all.insert(all.end(), e.begin(), e.end()); });
  return all;
}

}  // namespace ondeloc
