// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>

#include "mapcore/base/new_file.h"
#include "mapcore/base/output_place.h"
#include "mapcore/base/text.h"

namespace ondeloc {

using profile_format::BlockHeader;
using profile_format::BlockType;
using profile_format::Octets;

// Level 1: the recorder shares the node with the application; higher levels gain little here.
constexpr int kCompressionLevel = 1;
constexpr std::size_t kRowsPerBlock = 32768;
static_assert(ZSTD_COMPRESSBOUND(profile_format::kMaxRaw) <= profile_format::kMaxStored);

struct ProfileWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  Octets octets;
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }
};

namespace {

// An empty file is not a profile: somebody else may need it.
bool is_profile(int fd) {
  char start[sizeof(profile_format::kFileMagic) - 1];
  return pread(fd, start, sizeof start, 0) == sizeof start &&
         std::equal(start, start + sizeof start,
                    static_cast<const char*>(profile_format::kFileMagic));
}

// File systems without locks behave as if there were no other writer.
Status lock(int fd, const std::string& label) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return Error(label + " is locked by another process", EWOULDBLOCK);
}

Status check_existing(const OutputPlace& place, const OutputPlace::Existing& existing) {
  if (!S_ISREG(existing.info.st_mode) || place.is_open_file())
    return place.refuse_kind(existing.info.st_mode);
  if (is_profile(existing.fd.get())) return {};
  return Error(place.label() +
               " exists and is not a profile; name another file, or remove this one");
}

// Others see the file only with its header and locked, so that a second recorder never takes it for
// an empty file of somebody else. Nothing: something has taken the name meanwhile.
Result<std::optional<UniqueFd>> create_new(const OutputPlace& place, const Octets& header) {
  auto file = PendingFile::create(place, O_RDWR);
  if (!file) return std::move(file).error();
  if (Status locked = lock(file->fd(), place.label()); !locked) return std::move(locked).error();
  const std::string_view octets(reinterpret_cast<const char*>(header.data()), header.size());
  if (Status wrote = write_to(file->fd(), octets, place.label() + " cannot be written"); !wrote)
    return std::move(wrote).error();
  if (file->take_free_name(place)) return std::optional<UniqueFd>(file->take_fd());
  if (errno == EEXIST) return std::optional<UniqueFd>();
  return place.cannot_write();
}

// Writes the header over the old one first: if that fails, the old profile is still there.
Status restart(const OutputPlace& place, int fd, const Octets& header) {
  const std::string_view octets(reinterpret_cast<const char*>(header.data()), header.size());
  if (Status wrote = write_to(fd, octets, place.label() + " cannot be written"); !wrote)
    return wrote;
  return ftruncate(fd, static_cast<off_t>(header.size())) == 0 ? Status() : place.cannot_write();
}

Result<UniqueFd> open_profile(const OutputPlace& place, const Octets& header) {
  constexpr int kAttempts = 10;  // each time another process has made or removed the file
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto existing = place.open_existing(O_RDWR);
    if (!existing) return std::move(existing).error();
    if (*existing) {
      if (Status good = check_existing(place, **existing); !good) return std::move(good).error();
      if (Status locked = lock((*existing)->fd.get(), place.label()); !locked)
        return std::move(locked).error();
      if (Status begun = restart(place, (*existing)->fd.get(), header); !begun)
        return std::move(begun).error();
      return std::move((*existing)->fd);
    }
    auto made = create_new(place, header);
    if (!made) return std::move(made).error();
    if (*made) return **std::move(made);
  }
  return Error(place.label() + " is created and removed all the time; name another file");
}

std::string label_of_profile(const std::string& path) {
  return fmt::format("profile '{}'", shorten_path(path));
}

}  // namespace

Status ProfileWriter::check(const std::string& path) {
  auto place = OutputPlace::find(path, label_of_profile(path));
  if (!place) return std::move(place).error();
  auto existing = place->open_existing(O_RDWR);
  if (!existing) return std::move(existing).error();
  if (*existing) return check_existing(*place, **existing);
  auto file = PendingFile::create(*place, O_RDWR);
  if (!file) return std::move(file).error();
  // A full disk may have room for the entry of a file and none for its first page.
  return write_to(file->fd(), std::string(4096, '\0'), place->label() + " cannot be written");
}

Result<ProfileWriter> ProfileWriter::create(const std::string& path,
                                            const profile_format::FileHeader& header) {
  const std::string label = label_of_profile(path);
  auto place = OutputPlace::find(path, label);
  if (!place) return std::move(place).error();
  const Octets octets = encode(header);
  auto fd = open_profile(*place, octets);
  if (!fd) return std::move(fd).error();
  ProfileWriter writer(*std::move(fd), label + " ends early, its complete blocks are usable",
                       header.ranks);
  writer.octets_ = octets.size();
  return writer;
}

Result<ProfileWriter> ProfileWriter::over(UniqueFd fd, const std::string& name,
                                          const profile_format::FileHeader& header) {
  ProfileWriter writer(std::move(fd), fmt::format("profile '{}' cannot be written", name),
                       header.ranks);
  if (Status wrote = writer.write_all(encode(header)); !wrote) return std::move(wrote).error();
  return writer;
}

ProfileWriter::ProfileWriter(UniqueFd fd, std::string failed, std::uint32_t ranks)
    : fd_(std::move(fd)),
      failed_(std::move(failed)),
      ranks_(ranks),
      compressor_(std::make_unique<Compressor>()) {}
ProfileWriter::ProfileWriter(ProfileWriter&&) noexcept = default;
ProfileWriter& ProfileWriter::operator=(ProfileWriter&&) noexcept = default;
ProfileWriter::~ProfileWriter() = default;

Status ProfileWriter::add(const ProfileEvent& event) {
  if (!status_) return status_;
  if (waiting_.capacity() == 0) waiting_.reserve(profile_format::kMaxEventsPerBlock);
  waiting_.push_back(event);
  ++events_;
  return waiting_.size() < profile_format::kMaxEventsPerBlock ? Status() : flush();
}

Status ProfileWriter::flush() {
  if (waiting_.empty() || !status_) return status_;
  std::stable_sort(
      waiting_.begin(), waiting_.end(),
      [](const ProfileEvent& a, const ProfileEvent& b) { return a.time_ns < b.time_ns; });
  BlockHeader header{.type = static_cast<std::uint32_t>(BlockType::kEvents),
                     .count = static_cast<std::uint32_t>(waiting_.size()),
                     .first_ns = waiting_.front().time_ns,
                     .last_ns = waiting_.back().time_ns};
  const Octets raw = profile_format::encode_events(waiting_);
  waiting_.clear();
  return write_block(header, raw);
}

Status ProfileWriter::write_block(BlockHeader header, std::span<const std::uint8_t> raw) {
  if (!status_) return status_;
  if (raw.size() > profile_format::kMaxRaw)
    return status_ = Error(fmt::format("{}: a block has {} bytes, and readers take {}", failed_,
                                       raw.size(), profile_format::kMaxRaw));
  Octets& out = compressor_->octets;
  out.resize(profile_format::kBlockHeaderSize + ZSTD_compressBound(raw.size()));
  const std::size_t stored = ZSTD_compressCCtx(
      compressor_->context, out.data() + profile_format::kBlockHeaderSize,
      out.size() - profile_format::kBlockHeaderSize, raw.data(), raw.size(), kCompressionLevel);
  if (ZSTD_isError(stored)) {
    return status_ = Error(fmt::format("{}: zstd cannot compress the block: {}", failed_,
                                       ZSTD_getErrorName(stored)));
  }
  out.resize(profile_format::kBlockHeaderSize + stored);
  header.stored = static_cast<std::uint32_t>(stored);
  header.raw = static_cast<std::uint32_t>(raw.size());
  header.ranks = ranks_;
  header.sequence = sequence_++;
  header.payload_crc =
      profile_format::crc32(std::span(out).subspan(profile_format::kBlockHeaderSize));
  const Octets head = encode(header);
  std::copy(head.begin(), head.end(), out.begin());
  return write_all(out);
}

Status ProfileWriter::write_all(std::span<const std::uint8_t> octets) {
  while (!octets.empty()) {
    const ssize_t wrote = ::write(fd_.get(), octets.data(), octets.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      return status_ = Error::from_errno(failed_);
    }
    octets_ += static_cast<std::uint64_t>(wrote);
    octets = octets.subspan(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status ProfileWriter::write_rows(BlockType type, std::size_t width,
                                 std::span<const std::uint64_t> values) {
  while (!values.empty() && status_.ok()) {
    const auto now = values.first(std::min(values.size(), kRowsPerBlock * width));
    values = values.subspan(now.size());
    BlockHeader header{.type = static_cast<std::uint32_t>(type),
                       .count = static_cast<std::uint32_t>(now.size() / width)};
    (void)write_block(header, profile_format::encode_rows(now));
  }
  return status_;
}

Status ProfileWriter::add_totals(std::span<const PairTotal> totals) {
  std::vector<std::uint64_t> rows;
  for (const PairTotal& t : totals) rows.insert(rows.end(), {t.src, t.dst, t.bytes, t.messages});
  return write_rows(BlockType::kTotals, 4, rows);
}

Status ProfileWriter::add_drops(std::span<const RankDrops> drops) {
  std::vector<std::uint64_t> rows;
  for (const RankDrops& d : drops) rows.insert(rows.end(), {d.rank, d.events, d.bytes});
  return write_rows(BlockType::kDrops, 3, rows);
}

Status ProfileWriter::add_memory(std::span<const RankMemory> memory) {
  std::vector<std::uint64_t> rows;
  for (const RankMemory& m : memory)
    rows.insert(rows.end(), {m.rank, m.accessed, m.dram_known ? m.dram + 1 : 0});
  return write_rows(BlockType::kMemory, 3, rows);
}

Status ProfileWriter::write_records(BlockType type, std::size_t count, const PutRecord& put) {
  constexpr std::size_t kFullBlock = 1U << 20;  // a record fits behind it
  Octets raw;
  std::uint32_t inside = 0;
  for (std::size_t i = 0; i < count && status_.ok(); ++i) {
    put(i, raw);
    ++inside;
    if (raw.size() < kFullBlock && i + 1 < count) continue;
    (void)write_block({.type = static_cast<std::uint32_t>(type), .count = inside}, raw);
    raw.clear();
    inside = 0;
  }
  return status_;
}

Status ProfileWriter::add_nodes(std::span<const NodeShift> nodes) {
  return write_records(BlockType::kNodes, nodes.size(), [&](std::size_t i, Octets& raw) {
    const NodeShift& node = nodes[i];
    profile_format::put_text(raw, node.node, profile_format::kNameSize);
    const auto shift = static_cast<std::uint64_t>(node.shift_ns);
    profile_format::put_varint(raw, (shift << 1) ^ (node.shift_ns < 0 ? ~0ULL : 0ULL));
    profile_format::put_varint(raw, node.local_ranks);
  });
}

Status ProfileWriter::add_cpus(std::span<const RankCpuSet> ranks, const CpuSet& step) {
  const std::size_t first = step.empty() ? 0 : 1;  // record of a rank
  return write_records(BlockType::kCpus, first + ranks.size(), [&](std::size_t i, Octets& raw) {
    const RankCpuSet* rank = i < first ? nullptr : &ranks[i - first];
    profile_format::put_varint(raw, rank == nullptr ? 0 : std::uint64_t{rank->rank} + 1);
    const CpuSet& cpus = rank == nullptr ? step : rank->cpus;
    profile_format::put_text(raw, cpus.to_list(), profile_format::kMaxCpuList);
  });
}

Status ProfileWriter::add_threads(std::span<const ThreadLabel> threads) {
  return write_records(BlockType::kThreads, threads.size(), [&](std::size_t i, Octets& raw) {
    profile_format::put_varint(raw, threads[i].thread);
    profile_format::put_text(raw, threads[i].name, profile_format::kNameSize);
    profile_format::put_text(raw, threads[i].function, profile_format::kNameSize);
  });
}

Status ProfileWriter::add_notes(std::span<const std::string> notes) {
  return write_records(BlockType::kNotes, notes.size(), [&](std::size_t i, Octets& raw) {
    profile_format::put_text(raw, notes[i], profile_format::kMaxNote);
  });
}

Status ProfileWriter::finish(bool ended) {
  (void)flush();
  if (ended) (void)write_block({.type = static_cast<std::uint32_t>(BlockType::kEnd)}, {});
  if (status_) status_ = sync_fd(fd_.get(), failed_);
  if (::close(fd_.release()) != 0 && status_) status_ = Error::from_errno(failed_);
  return status_;
}

}  // namespace ondeloc
