// SPDX-License-Identifier: Apache-2.0
// Reads a profile file (format.h), untrusted: truncated, bit-flipped and foreign files give one
// sentence, and all complete blocks of a damaged file stay usable. Memory is bounded by one block
// and the index (about 80 bytes a block). Ownership: owns the file. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/codec.h"
#include "mapcore/profile/event.h"
#include "mapcore/profile/writer.h"

namespace ondeloc {

class ProfileReader {
 public:
  struct Block {
    std::uint64_t offset = 0;  // of the payload
    profile_format::BlockHeader header;
  };
  using Visit = std::function<void(std::span<const ProfileEvent>)>;

  // Reads the header, the index and the small blocks; the event payloads are not touched yet.
  static Result<ProfileReader> open(const std::string& path);
  static Result<ProfileReader> from_fd(UniqueFd fd, const std::string& name);

  const profile_format::FileHeader& header() const { return header_; }
  int ranks() const { return static_cast<int>(header_.ranks); }
  // Event blocks in file order; their times may overlap.
  const std::vector<Block>& blocks() const { return blocks_; }
  std::uint64_t events() const;  // by the block headers
  TimeWindow span() const;       // [first, last + 1) ns; {0, 0} without events
  std::uint64_t file_octets() const { return size_; }
  // Exact running totals per pair, from the ranks' own counters; may be empty.
  std::vector<PairTotal> totals() const;
  std::vector<RankDrops> drops() const;    // ascending rank
  std::vector<RankMemory> memory() const;  // ascending rank
  std::vector<RankCpuSet> cpus() const;    // ascending rank; empty: recorded by an earlier release
  const CpuSet& step_cpus() const { return step_cpus_; }  // of one node; may be empty
  const std::vector<NodeShift>& nodes() const { return nodes_; }
  // Ascending thread; empty if the ranks are ranks of MPI.
  std::vector<ThreadLabel> threads() const;
  const std::vector<std::string>& notes() const { return notes_; }
  bool complete() const { return ended_; }  // the recorder ended by itself
  // Empty for an undamaged file; else one sentence, without a full stop, that says what is lost. It
  // grows if read() finds a damaged payload.
  std::string damage() const;

  // Returns the events of one block in time order. If its payload is damaged, that is counted and
  // the result is empty.
  std::vector<ProfileEvent> read(const Block& block);
  // Every event in the window, block by block in file order.
  void for_each(const TimeWindow& window, const Visit& visit, const Progress& progress = {});
  // Every event in the window in time order (ties: file order), in pieces. Memory: the blocks whose
  // times overlap.
  void for_each_in_order(const TimeWindow& window, const Visit& visit,
                         const Progress& progress = {});

 private:
  ProfileReader() = default;
  bool read_at(std::uint64_t offset, std::span<std::uint8_t> out) const;
  void scan();
  std::uint64_t take_block(std::uint64_t offset, const profile_format::BlockHeader& header);
  std::uint64_t next_block(std::uint64_t from);  // offset of the next sound header, or the end
  void take_small(const Block& block);
  void take_rows(const Block& block, std::span<const std::uint8_t> raw);
  bool take_nodes(std::span<const std::uint8_t> raw, std::uint32_t count);
  void take_notes(std::span<const std::uint8_t> raw, std::uint32_t count);
  bool take_threads(std::span<const std::uint8_t> raw, std::uint32_t count);
  bool take_cpus(std::span<const std::uint8_t> raw, std::uint32_t count);
  profile_format::Octets payload(const Block& block);

  UniqueFd fd_;
  std::string name_;
  std::uint64_t size_ = 0;
  profile_format::FileHeader header_;
  bool header_lost_ = false;
  bool ended_ = false;
  bool truncated_ = false;
  std::uint64_t lost_octets_ = 0;
  std::map<std::uint64_t, bool> bad_payloads_;  // by offset: counted once however often read
  std::vector<Block> blocks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, PairTotal> totals_;
  std::map<std::uint32_t, RankDrops> drops_;
  std::map<std::uint32_t, RankMemory> memory_;
  std::vector<NodeShift> nodes_;
  std::map<std::uint32_t, RankCpuSet> cpus_;
  CpuSet step_cpus_;
  std::size_t cpu_words_ = 0;  // of all lists that the file holds
  std::map<std::uint32_t, ThreadLabel> threads_;
  std::vector<std::string> notes_;
};

}  // namespace ondeloc
