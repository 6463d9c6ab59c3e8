// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "mapcore/base/new_file.h"

namespace ondeloc {

using profile_format::BlockHeader;
using profile_format::BlockType;
using profile_format::Octets;

// Level 1: the recorder shares the node with the application; higher levels gain little here.
constexpr int kCompressionLevel = 1;
constexpr std::size_t kRowsPerBlock = 32768;

struct ProfileWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  Octets octets;
  Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }
};

namespace {

bool is_pipe(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

// True for what a profile begins with, however little of it there is.
bool begins_like_profile(int fd) {
  char start[8];
  const ssize_t got = pread(fd, start, sizeof(start), 0);
  return got >= 0 &&
         std::equal(start, start + got, static_cast<const char*>(profile_format::kFileMagic));
}

// Locked before it is emptied, so that what another recorder has written stays. Where the file
// system has no locks it is as if there were nobody else.
Status empty_alone(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error(fmt::format("profile '{}' is being written by another recorder", path),
                 EWOULDBLOCK);
  if (!begins_like_profile(fd))
    return Error(
        fmt::format("profile '{}' cannot be written: the file that is there is no profile", path));
  if (ftruncate(fd, 0) == 0) return {};
  return Error::from_errno(fmt::format("profile '{}' cannot be written", path));
}

// What has not even a header is of no use to anybody. Where links lead; a device, or a file that
// somebody has put there meanwhile, stays.
void remove_file(int fd, const std::string& path) {
  char target[PATH_MAX];
  struct stat mine {
  }, there{};
  if (fstat(fd, &mine) != 0 || !S_ISREG(mine.st_mode) || !realpath(path.c_str(), target)) return;
  if (lstat(target, &there) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
    unlink(target);
}

}  // namespace

Result<ProfileWriter> ProfileWriter::create(const std::string& path,
                                            const profile_format::FileHeader& header) {
  // Without a reader a pipe is ENXIO; for other files O_NONBLOCK means nothing.
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if ((!fd.valid() && errno == ENXIO) || (fd.valid() && is_pipe(fd.get())))
    return Error(fmt::format("profile '{}' cannot be written: it is a pipe, not a file", path));
  if (!fd.valid()) return Error::from_errno(fmt::format("profile '{}' cannot be written", path));
  if (Status empty = empty_alone(fd.get(), path); !empty) return std::move(empty).error();
  ProfileWriter writer(std::move(fd), path, "cannot be written", header.ranks);
  if (Status wrote = writer.write_all(encode(header)); !wrote) {
    remove_file(writer.fd_.get(), path);
    return std::move(wrote).error();
  }
  writer.failed_ = fmt::format("profile '{}' ends early, its complete blocks are usable", path);
  return writer;
}

Result<ProfileWriter> ProfileWriter::over(UniqueFd fd, const std::string& name,
                                          const profile_format::FileHeader& header) {
  ProfileWriter writer(std::move(fd), name, "cannot be written", header.ranks);
  if (Status wrote = writer.write_all(encode(header)); !wrote) return std::move(wrote).error();
  return writer;
}

ProfileWriter::ProfileWriter(UniqueFd fd, const std::string& name, const char* lost,
                             std::uint32_t ranks)
    : fd_(std::move(fd)),
      failed_(fmt::format("profile '{}' {}", name, lost)),
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
  Octets& out = compressor_->octets;
  out.resize(profile_format::kBlockHeaderSize + ZSTD_compressBound(raw.size()));
  const std::size_t stored = ZSTD_compressCCtx(
      compressor_->context, out.data() + profile_format::kBlockHeaderSize,
      out.size() - profile_format::kBlockHeaderSize, raw.data(), raw.size(), kCompressionLevel);
  if (ZSTD_isError(stored)) {
    return status_ = Error(
               fmt::format("{}: it cannot be compressed: {}", failed_, ZSTD_getErrorName(stored)));
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

Status ProfileWriter::add_nodes(std::span<const NodeShift> nodes) {
  if (nodes.empty()) return status_;
  Octets raw;
  for (const NodeShift& node : nodes) {
    profile_format::put_text(raw, node.node, profile_format::kNameSize);
    const auto shift = static_cast<std::uint64_t>(node.shift_ns);
    profile_format::put_varint(raw, (shift << 1) ^ (node.shift_ns < 0 ? ~0ULL : 0ULL));
    profile_format::put_varint(raw, node.local_ranks);
  }
  return write_block({.type = static_cast<std::uint32_t>(BlockType::kNodes),
                      .count = static_cast<std::uint32_t>(nodes.size())},
                     raw);
}

Status ProfileWriter::add_notes(std::span<const std::string> notes) {
  if (notes.empty()) return status_;
  Octets raw;
  for (const std::string& note : notes)
    profile_format::put_text(raw, note, profile_format::kMaxNote);
  return write_block({.type = static_cast<std::uint32_t>(BlockType::kNotes),
                      .count = static_cast<std::uint32_t>(notes.size())},
                     raw);
}

Status ProfileWriter::finish() {
  (void)flush();
  (void)write_block({.type = static_cast<std::uint32_t>(BlockType::kEnd)}, {});
  if (status_) status_ = sync_fd(fd_.get(), failed_);
  if (::close(fd_.release()) != 0 && status_) status_ = Error::from_errno(failed_);
  return status_;
}

}  // namespace ondeloc
