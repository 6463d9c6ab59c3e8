// SPDX-License-Identifier: Apache-2.0
// Parses the files that `ondeloc profile` reads. The first byte chooses:
//   'r'  a file of the input's bytes
//   'x'  a valid small profile with the rest xored in, from byte 4 x (second byte) on
//   'p'  a block with type, ranks and count from the next bytes, the rest as its payload, and
//        correct checksums, so that the decoders see it
//   'l'  lines of events.csv, of a --memory file, and a JSON report
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <string_view>

#include "mapcore/profile/import_csv.h"
#include "mapcore/profile/memory_csv.h"
#include "mapcore/profile/reader.h"
#include "mapcore/profile/report_input.h"

namespace {

using namespace ondeloc;
using profile_format::Octets;

UniqueFd file_of(const Octets& octets) {
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC));
  if (pwrite(fd.get(), octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size()))
    std::abort();
  return fd;
}

void append(Octets& file, const Octets& more) { file.insert(file.end(), more.begin(), more.end()); }

Octets block_of(profile_format::BlockHeader header, std::span<const std::uint8_t> raw) {
  Octets stored(ZSTD_compressBound(raw.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 1));
  header.stored = static_cast<std::uint32_t>(stored.size());
  header.raw = static_cast<std::uint32_t>(raw.size());
  header.payload_crc = profile_format::crc32(stored);
  Octets block = encode(header);
  append(block, stored);
  return block;
}

profile_format::FileHeader head(std::uint32_t ranks) {
  profile_format::FileHeader header;
  header.ranks = ranks;
  header.node.assign(1, 'n');  // GCC 12 warns of = "n" (its bug 105651)
  return header;
}

Octets sound_file() {
  Octets file = encode(head(8));
  const std::vector<ProfileEvent> events{{5, 0, 1, 10}, {9, 7, 2, 1 << 20}, {9, 1, 0, 0}};
  profile_format::BlockHeader header{.type = 1, .count = 3, .ranks = 8};
  header.first_ns = 5;
  header.last_ns = 9;
  append(file, block_of(header, profile_format::encode_events(events)));
  header.type = 2;
  header.count = 1;
  const std::uint64_t row[] = {0, 1, 10, 1};
  append(file, block_of(header, profile_format::encode_rows(row)));
  return file;
}

void read_all(UniqueFd fd) {
  auto profile = ProfileReader::from_fd(std::move(fd), "fuzz");
  if (!profile) {
    if (profile.error().message().size() > 300) std::abort();
    return;
  }
  std::uint64_t seen = 0, last = 0, in_order = 0;
  profile->for_each({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) {
      if (event.src >= profile->header().ranks || event.dst >= profile->header().ranks)
        std::abort();
    }
    seen += events.size();
  });
  profile->for_each_in_order({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) {
      if (event.time_ns < last) std::abort();
      last = event.time_ns;
    }
    in_order += events.size();
  });
  // The last nanosecond of the clock lies outside every window.
  if (seen > profile->events() || in_order != seen) std::abort();
  for (const PairTotal& total : profile->totals()) {
    if (total.src >= profile->header().ranks || total.dst >= profile->header().ranks) std::abort();
  }
  for (const ThreadLabel& thread : profile->threads())
    if (thread.thread >= profile->header().ranks) std::abort();
  for (const RankCpuSet& rank : profile->cpus()) {
    if (rank.rank >= profile->header().ranks) std::abort();
  }
  if (recorded_share(profile->cpus()) < 0) std::abort();
  if (profile->damage().size() > 300) std::abort();
}

void read_lines(std::string_view text) {
  parse_event_line(text);
  const auto memory = parse_memory_csv(text, "fuzz", 8);
  if (!memory && memory.error().message().size() > 300) std::abort();
  const auto report = parse_report(text, "fuzz");
  if (report && report->matrix.ranks <= 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  if (data[0] == 'r') {
    read_all(file_of(Octets(rest.begin(), rest.end())));
  } else if (data[0] == 'x') {
    Octets file = sound_file();
    for (std::size_t i = 1, at = rest[0] * 4U; i < rest.size() && at < file.size(); ++i, ++at)
      file[at] ^= rest[i];
    read_all(file_of(file));
  } else if (data[0] == 'p') {
    profile_format::BlockHeader header{.type = rest[0], .count = rest[2], .ranks = rest[1] + 1U};
    header.last_ns = rest[3] * 1000U;
    Octets file = encode(head(header.ranks));
    append(file, block_of(header, rest.subspan(4)));
    read_all(file_of(file));
  } else {
    read_lines({reinterpret_cast<const char*>(rest.data()), rest.size()});
  }
  return 0;
}
