// SPDX-License-Identifier: Apache-2.0
// The profile file, version 1, byte by byte (ondeloc-profile(5) says the same to users). All
// numbers are little-endian. A file is one file header and then blocks, each complete in itself. So
// a file that a killed recorder or a full disk cut off is readable up to its last complete block,
// and a damaged block costs that block alone: a reader looks for the next block header with a
// correct checksum.
//
// File header, 256 bytes; magic, version and checksum stand there in every version, so that a
// damaged header is not taken for another version
//     0  char[8]   "ODLPROF1"
//     8  u32       version, 1
//    12  u32       size of this header, 256
//    16  u32       ranks of MPI_COMM_WORLD, 1 to 2^24
//    20  u32       nodes whose recordings are inside (more than 1 after a merge)
//    24  u32       Slurm job, 0 where there was none
//    28  u32       Slurm step
//    32  i64       CLOCK_REALTIME at time zero, nanoseconds since 1970; 0 = unknown
//    40  u32       ranks recorded on this node (0 = unknown)
//    44  u32       zero
//    48  char[64]  node name, empty after a merge, zero-padded, always ends with a zero
//   112  char[64]  what wrote the file, zero-padded, always ends with a zero
//   176  76 bytes  zero
//   252  u32       CRC-32 (IEEE 802.3) of bytes 0 to 251
//
// Block header, 64 bytes, followed by `stored` bytes of payload: one zstd frame of `raw` bytes
//     0  char[4]   "ODBK"
//     4  u32       type: 1 events, 2 totals, 3 drops, 4 memory, 5 nodes, 6 end, 7 notes, 8 CPUs,
//                  9 threads;
//                  unknown types are skipped
//     8  u32       stored: bytes of payload in the file, at most 8 MiB
//    12  u32       raw: bytes after decompression, at most 4 MiB
//    16  u32       count of records in the payload
//    20  u32       ranks, as in the file header (a lost file header costs its text only)
//    24  u64       smallest time in the block, nanoseconds since time zero (events; else 0)
//    32  u64       largest time in the block
//    40  u64       sequence number, from 0
//    48  u32       CRC-32 of the stored payload
//    52  8 bytes   zero
//    60  u32       CRC-32 of bytes 0 to 59
//
// Numbers in payloads are varints (LEB128: 7 bits a byte, low bits first, at most 10 bytes).
//   events  (1)  four columns of `count` varints, one after the other, events in time order:
//                time - time of the event before (the first: - smallest time), src, dst, bytes
//   totals  (2)  count x {src, dst, bytes, messages}: exact running totals from the rank's own
//                counters; the last record of a pair counts; src = dst: what src sent off the node
//   drops   (3)  count x {rank, events, bytes}: lost because the recorder was behind, or because
//                threads of the rank sent at the same time (a note says how many those are);
//                running totals, the last record of a rank counts
//   memory  (4)  count x {rank, bytes accessed, bytes from DRAM + 1 or 0 = unknown}; the last
//                record of a rank counts
//   nodes   (5)  count x {length of name, name, first-event offset ns (zigzag), ranks recorded}:
//                what a merge put together, and by how much each node's clock was shifted
//   end     (6)  count = 0: the recorder ended by itself, after a merge all recorders did
//   notes   (7)  count x {length of text, text}: what a reader of the profile should know, such as
//                what the memory volumes rest on or why there are none; ASCII, at most 1024 bytes
//   cpus    (8)  count x {rank + 1 or 0 = the step on this node, length of list, list}: the CPUs
//                of the rank as Slurm bound its task, or all that the step could use on the node;
//                ASCII such as "0-3,8", at most 65536 bytes; the last record of a rank counts.
//                Programs before version 1.1 skip this block
//   threads (9)  count x {thread, length of name, name, length of function, function}: the ranks of
//                this profile are threads of one program; the name that the program gave the thread
//                and the function with which it began, each empty if unknown; ASCII, at most 64
//                bytes. A message is what a thread read of the lines of 64 bytes that another wrote
//
// Clocks: the events of one node share CLOCK_MONOTONIC. Between nodes only the CLOCK_REALTIME of
// each header is known; a merge shifts by it and writes the shift down in `nodes`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/base/ids.h"

namespace ondeloc::profile_format {

inline constexpr char kFileMagic[9] = "ODLPROF1";
inline constexpr char kBlockMagic[5] = "ODBK";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kFileHeaderSize = 256;
inline constexpr std::size_t kBlockHeaderSize = 64;
inline constexpr std::size_t kNameSize = 64;
inline constexpr std::size_t kMaxNote = 1024;
inline constexpr std::size_t kMaxCpuList = 65536;
inline constexpr std::uint32_t kMaxRanks = kMaxWorldRank + 1;
inline constexpr std::uint32_t kMaxStored = 8U << 20;
inline constexpr std::uint32_t kMaxRaw = 4U << 20;
// Four varints of at most 10, 5, 5 and 10 bytes always fit in kMaxRaw.
inline constexpr std::uint32_t kMaxEventsPerBlock = 1U << 16;

enum class BlockType : std::uint32_t {
  kEvents = 1,
  kTotals = 2,
  kDrops = 3,
  kMemory = 4,
  kNodes = 5,
  kEnd = 6,
  kNotes = 7,
  kCpus = 8,
  kThreads = 9,
};

struct FileHeader {
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 1;
  std::uint32_t job = 0;
  std::uint32_t step = 0;
  std::int64_t realtime_ns = 0;
  std::uint32_t local_ranks = 0;
  std::string node;
  std::string origin;
};

struct BlockHeader {
  std::uint32_t type = 0;
  std::uint32_t stored = 0;
  std::uint32_t raw = 0;
  std::uint32_t count = 0;
  std::uint32_t ranks = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t sequence = 0;
  std::uint32_t payload_crc = 0;
};

}  // namespace ondeloc::profile_format
