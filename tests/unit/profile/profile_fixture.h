// SPDX-License-Identifier: Apache-2.0
// Small profiles in a test's own directory.
#pragma once

#include <string>
#include <vector>

#include "mapcore/profile/import_csv.h"
#include "mapcore/profile/reader.h"
#include "mapcore/profile/writer.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/test_data.h"

namespace ondeloc {

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
  const auto counts = import_events_csv(test_data() + "/npb/" + app + ".A.32/events.csv", path);
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
