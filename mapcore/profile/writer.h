// SPDX-License-Identifier: Apache-2.0
// Writes a profile file (format.h) while a program runs. Memory is bounded by one block: events are
// kept until a block is full or flush() is called, then sorted by time, compressed and written with
// one write. After an error (full disk) the writer keeps the complete blocks on disk and drops all
// that follows; ok() returns false. Ownership: owns the file. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/codec.h"
#include "mapcore/profile/event.h"
#include "mapcore/profile/format.h"
#include "mapcore/profile/recorded_cpus.h"
#include "mapcore/profile/thread_label.h"

namespace ondeloc {

struct PairTotal {
  std::uint32_t src = 0, dst = 0;
  std::uint64_t bytes = 0, messages = 0;
};
struct RankDrops {
  std::uint32_t rank = 0;
  std::uint64_t events = 0, bytes = 0;
};
// Bytes of one rank, from perf_event counters or a --memory file.
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
  // Creates the file, or starts an existing profile anew, as the calling user, mode 0644 less the
  // umask. Readers see what has been written at once, and it stays after an error. The file never
  // exists without a header: if there is no room for it, no file is left. Refuses any other file
  // (also an empty one), pipes, devices, and links and files of other users in folders that others
  // may write to (base/output_place.h). So nothing but a profile is overwritten, and nobody waits
  // for a recorder. The file is locked (flock(2)) until it is closed; a locked one is an error with
  // code EWOULDBLOCK. File systems without locks do not prevent two writers.
  static Result<ProfileWriter> create(const std::string& path,
                                      const profile_format::FileHeader& header);
  // Leaves nothing; an error if create() would refuse the file, or has no room for it. A file that
  // is only locked is good.
  static Status check(const std::string& path);
  // Writes into an open, empty file that will have this name (base/new_file.h).
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
  // `step`: all CPUs that the step could use on this node; empty: not known.
  Status add_cpus(std::span<const RankCpuSet> ranks, const CpuSet& step);
  Status add_threads(std::span<const ThreadLabel> threads);  // texts are cut at kNameSize
  Status add_notes(std::span<const std::string> notes);      // cut at kMaxNote
  // Flushes, writes the end block, calls fsync and closes. An exceeded quota or a full disk is
  // reported here at the latest. Nothing may be added afterwards. Without `ended` there is no end
  // block: a recording inside did not end by itself.
  Status finish(bool ended = true);

  bool ok() const { return status_.ok(); }
  std::uint64_t events() const { return events_; }  // written or waiting
  std::uint64_t octets() const { return octets_; }  // written to the file

 private:
  ProfileWriter(UniqueFd fd, std::string failed, std::uint32_t ranks);
  Status write_rows(profile_format::BlockType type, std::size_t width,
                    std::span<const std::uint64_t> values);
  // Appends record i.
  using PutRecord = std::function<void(std::size_t i, profile_format::Octets&)>;
  Status write_records(profile_format::BlockType type, std::size_t count, const PutRecord& put);
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
