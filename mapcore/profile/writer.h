// SPDX-License-Identifier: Apache-2.0
// Writes a profile file (format.h) while a program runs. Memory is bounded by one block: events are
// kept until a block is full or flush() is called, then sorted by time, compressed and written with
// one write. After an error (full disk) the writer stays failed, keeps the complete blocks on disk
// and drops what comes; ok() tells. Ownership: owns the file. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/codec.h"
#include "mapcore/profile/event.h"
#include "mapcore/profile/format.h"

namespace ondeloc {

struct PairTotal {
  std::uint32_t src = 0, dst = 0;
  std::uint64_t bytes = 0, messages = 0;
};
struct RankDrops {
  std::uint32_t rank = 0;
  std::uint64_t events = 0, bytes = 0;
};
// What perf_event counters or a --memory file say of one rank, bytes.
struct RankMemory {
  std::uint32_t rank = 0;
  std::uint64_t accessed = 0;
  bool dram_known = false;
  std::uint64_t dram = 0;
};
// One recording inside a merged profile.
struct NodeShift {
  std::string node;
  std::int64_t shift_ns = 0;  // added to the node's times
  std::uint32_t local_ranks = 0;
};

class ProfileWriter {
 public:
  // Creates the file, or empties one that is a profile already, as the calling user, mode 0644 less
  // the umask; any other file stays as it is. What is written can be read at once and stays after
  // an error: for recorders. A named pipe is refused: opening or writing one waits for its reader,
  // and nobody waits for a recorder. The file is locked (flock(2)) until it is closed: one that
  // another writer holds is left as it is, an error with code EWOULDBLOCK. File systems without
  // locks tell nothing. Where there is no room for the header no file is left.
  static Result<ProfileWriter> create(const std::string& path,
                                      const profile_format::FileHeader& header);
  // Into an open, empty file that `name` will be the name of (base/new_file.h).
  static Result<ProfileWriter> over(UniqueFd fd, const std::string& name,
                                    const profile_format::FileHeader& header);
  ProfileWriter(ProfileWriter&&) noexcept;
  ProfileWriter& operator=(ProfileWriter&&) noexcept;
  ~ProfileWriter();  // leaves the file without an end block unless finish() was called

  // REQUIRES: src, dst < header.ranks.
  Status add(const ProfileEvent& event);
  Status flush();  // writes the events that wait, if any
  Status add_totals(std::span<const PairTotal> totals);
  Status add_drops(std::span<const RankDrops> drops);
  Status add_memory(std::span<const RankMemory> memory);
  Status add_nodes(std::span<const NodeShift> nodes);
  Status add_notes(std::span<const std::string> notes);  // cut at kMaxNote
  // Flush, end block, fsync and close: a quota or a full disk is told here at the latest. Nothing
  // may be added after it.
  Status finish();

  bool ok() const { return status_.ok(); }
  std::uint64_t events() const { return events_; }  // written or waiting
  std::uint64_t octets() const { return octets_; }  // written to the file

 private:
  ProfileWriter(UniqueFd fd, const std::string& name, const char* lost, std::uint32_t ranks);
  Status write_rows(profile_format::BlockType type, std::size_t width,
                    std::span<const std::uint64_t> values);
  Status write_block(profile_format::BlockHeader header, std::span<const std::uint8_t> raw);
  Status write_all(std::span<const std::uint8_t> octets);

  struct Compressor;
  UniqueFd fd_;
  std::string failed_;  // what errors begin with
  std::uint32_t ranks_ = 0;
  std::unique_ptr<Compressor> compressor_;
  std::vector<ProfileEvent> waiting_;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t octets_ = 0;
  Status status_;
};

}  // namespace ondeloc
