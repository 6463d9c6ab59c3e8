// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <queue>

#include "mapcore/base/text.h"

namespace ondeloc {

using profile_format::BlockHeader;
using profile_format::BlockType;
using profile_format::kBlockHeaderSize;
using profile_format::Octets;

// A merge of the largest steps writes a few notes per node.
constexpr std::size_t kMaxNotes = 1U << 16;
constexpr std::size_t kMaxNodes = 1U << 16;     // more than any step has
constexpr std::size_t kMaxCpuWords = 1U << 24;  // of all lists of CPUs: 128 MiB

Result<ProfileReader> ProfileReader::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // no wait for a pipe
  if (!fd.valid()) return Error::from_errno(fmt::format("profile '{}' cannot be read", path));
  return from_fd(std::move(fd), path);
}

Result<ProfileReader> ProfileReader::from_fd(UniqueFd fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return Error(fmt::format("profile '{}' is not a regular file", name));
  ProfileReader reader;
  reader.fd_ = std::move(fd);
  reader.name_ = name;
  reader.size_ = static_cast<std::uint64_t>(info.st_size);
  Octets head(profile_format::kFileHeaderSize);
  const bool whole = reader.read_at(0, head);
  const auto version = whole ? profile_format::file_version(head) : std::nullopt;
  if (version && *version != profile_format::kVersion) {
    return Error(fmt::format("profile '{}' is of version {}, this program reads version {}", name,
                             *version, profile_format::kVersion));
  }
  const auto header = whole ? profile_format::decode_file_header(head) : std::nullopt;
  if (header) reader.header_ = *header;
  reader.header_lost_ = !header;
  reader.scan();
  if (reader.header_.ranks == 0) {
    return Error(
        fmt::format("'{}' is not an ondeloc profile: the file has neither a sound header "
                    "nor one complete block",
                    name));
  }
  return reader;
}

bool ProfileReader::read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void ProfileReader::scan() {
  std::uint64_t at = header_lost_ ? 0 : profile_format::kFileHeaderSize;
  Octets head(kBlockHeaderSize);
  while (at < size_) {
    const auto header = read_at(at, head) ? profile_format::decode_block_header(head)
                                          : std::optional<BlockHeader>();
    if (header && (header_.ranks == 0 || header->ranks == header_.ranks)) {
      at = take_block(at, *header);
      continue;
    }
    const std::uint64_t next = next_block(at + 1);
    lost_octets_ += next - at;
    at = next;
  }
  if (header_lost_ && header_.ranks > 0)
    lost_octets_ -= std::min<std::uint64_t>(lost_octets_, profile_format::kFileHeaderSize);
}

std::uint64_t ProfileReader::take_block(std::uint64_t offset, const BlockHeader& header) {
  const Block block{offset + kBlockHeaderSize, header};
  if (header.stored > size_ - block.offset) {
    truncated_ = true;
    return size_;
  }
  header_.ranks = header.ranks;
  if (header.type == static_cast<std::uint32_t>(BlockType::kEvents)) {
    blocks_.push_back(block);
  } else {
    take_small(block);
  }
  return block.offset + header.stored;
}

std::uint64_t ProfileReader::next_block(std::uint64_t from) {
  constexpr std::size_t kStep = 1U << 16;
  Octets window(kStep + kBlockHeaderSize);
  for (; from < size_; from += kStep) {
    const auto have =
        static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), size_ - from));
    const std::span<std::uint8_t> now = std::span(window).first(have);
    if (!read_at(from, now)) return size_;
    for (std::size_t i = 0; i < std::min(kStep, have); ++i) {
      const void* hit = std::memchr(now.data() + i, profile_format::kBlockMagic[0], have - i);
      if (hit == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(hit) - now.data());
      if (profile_format::decode_block_header(now.subspan(i))) return from + i;
    }
  }
  return size_;
}

Octets ProfileReader::payload(const Block& block) {
  Octets stored(block.header.stored);
  Octets raw(block.header.raw);
  const bool good =
      read_at(block.offset, stored) && profile_format::crc32(stored) == block.header.payload_crc &&
      ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size()) == raw.size();
  if (good) return raw;
  bad_payloads_[block.offset] = true;
  return {};
}

void ProfileReader::take_small(const Block& block) {
  const auto type = static_cast<BlockType>(block.header.type);
  ended_ |= type == BlockType::kEnd;
  if (type > BlockType::kThreads) return;
  const Octets raw = payload(block);
  if (type == BlockType::kNotes) take_notes(raw, block.header.count);
  if ((type == BlockType::kNodes && !take_nodes(raw, block.header.count)) ||
      (type == BlockType::kCpus && !take_cpus(raw, block.header.count)) ||
      (type == BlockType::kThreads && !take_threads(raw, block.header.count)))
    bad_payloads_[block.offset] = true;
  if (type < BlockType::kNodes) take_rows(block, raw);
}

void ProfileReader::take_rows(const Block& block, std::span<const std::uint8_t> raw) {
  const auto type = static_cast<BlockType>(block.header.type);
  const std::size_t width = type == BlockType::kTotals ? 4 : 3;
  const auto rows = profile_format::decode_rows(block.header, width, raw);
  if (!rows) {
    bad_payloads_[block.offset] = true;
    return;
  }
  for (std::size_t r = 0; r < rows->size(); r += width) {
    const std::uint64_t* row = rows->data() + r;
    const auto first = static_cast<std::uint32_t>(row[0]),
               second = static_cast<std::uint32_t>(row[1]);
    if (row[0] >= header_.ranks) continue;
    if (type == BlockType::kTotals && row[1] < header_.ranks)
      totals_[{first, second}] = {first, second, row[2], row[3]};
    if (type == BlockType::kDrops) drops_[first] = {first, row[1], row[2]};
    if (type == BlockType::kMemory)
      memory_[first] = {first, row[1], row[2] != 0, row[2] != 0 ? row[2] - 1 : 0};
  }
}

bool ProfileReader::take_nodes(std::span<const std::uint8_t> raw, std::uint32_t count) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto name = profile_format::get_text(raw, at, profile_format::kNameSize);
    if (!name || nodes_.size() >= kMaxNodes) return false;
    NodeShift node{*name, 0, 0};
    const auto shift = profile_format::get_varint(raw, at),
               local = profile_format::get_varint(raw, at);
    if (!shift || !local) return false;
    node.shift_ns = static_cast<std::int64_t>((*shift >> 1) ^ (~(*shift & 1) + 1));
    node.local_ranks = static_cast<std::uint32_t>(*local);
    nodes_.push_back(std::move(node));
  }
  return true;
}

void ProfileReader::take_notes(std::span<const std::uint8_t> raw, std::uint32_t count) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count && notes_.size() < kMaxNotes; ++i) {
    auto note = profile_format::get_text(raw, at, profile_format::kMaxNote);
    if (!note) return;
    notes_.push_back(*std::move(note));
  }
}

bool ProfileReader::take_cpus(std::span<const std::uint8_t> raw, std::uint32_t count) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto key = profile_format::get_varint(raw, at);
    const auto list = profile_format::get_text(raw, at, profile_format::kMaxCpuList);
    auto cpus = list ? CpuSet::parse_list(*list) : Result<CpuSet>(Error("no list"));
    if (!key || *key > header_.ranks || !cpus) return false;
    cpu_words_ += cpus->words().size();
    if (cpu_words_ > kMaxCpuWords) return false;
    if (*key == 0) {
      step_cpus_ = *std::move(cpus);
    } else {
      const auto rank = static_cast<std::uint32_t>(*key - 1);
      cpus_[rank] = {rank, *std::move(cpus)};
    }
  }
  return true;
}

bool ProfileReader::take_threads(std::span<const std::uint8_t> raw, std::uint32_t count) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto thread = profile_format::get_varint(raw, at);
    auto name = profile_format::get_text(raw, at, profile_format::kNameSize);
    auto function = profile_format::get_text(raw, at, profile_format::kNameSize);
    if (!thread || *thread >= header_.ranks || !name || !function) return false;
    const auto number = static_cast<std::uint32_t>(*thread);
    threads_[number] = {number, *std::move(name), *std::move(function)};
  }
  return true;
}

std::uint64_t ProfileReader::events() const {
  std::uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.header.count;
  return sum;
}

TimeWindow ProfileReader::span() const {
  if (blocks_.empty()) return {0, 0};
  TimeWindow all{UINT64_MAX, 0};
  for (const Block& block : blocks_) {
    all.from_ns = std::min(all.from_ns, block.header.first_ns);
    all.to_ns = std::max(all.to_ns, block.header.last_ns);
  }
  if (all.to_ns != UINT64_MAX) ++all.to_ns;
  return all;
}

namespace {

template <class Map>
auto values_of(const Map& map) {
  std::vector<typename Map::mapped_type> values;
  values.reserve(map.size());
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

}  // namespace

std::vector<PairTotal> ProfileReader::totals() const { return values_of(totals_); }
std::vector<RankDrops> ProfileReader::drops() const { return values_of(drops_); }
std::vector<RankMemory> ProfileReader::memory() const { return values_of(memory_); }
std::vector<RankCpuSet> ProfileReader::cpus() const { return values_of(cpus_); }
std::vector<ThreadLabel> ProfileReader::threads() const { return values_of(threads_); }

std::string ProfileReader::damage() const {
  std::string text;
  auto say = [&](const std::string& piece) { text += (text.empty() ? "" : ", ") + piece; };
  if (header_lost_) say("the file header is damaged");
  if (truncated_) say("the last block is cut off");
  if (lost_octets_ > 0) say(fmt::format("{} bytes are not readable", lost_octets_));
  if (!bad_payloads_.empty()) say(fmt::format("{} blocks are damaged", bad_payloads_.size()));
  if (text.empty() && !ended_) say("the recorder did not end by itself");
  if (text.empty()) return text;
  return fmt::format("profile '{}': {}; all complete blocks are used", shorten(name_), text);
}

std::vector<ProfileEvent> ProfileReader::read(const Block& block) {
  const Octets raw = payload(block);
  auto events = profile_format::decode_events(block.header, raw);
  if (events) return std::move(*events);
  bad_payloads_[block.offset] = true;
  return {};
}

void ProfileReader::for_each(const TimeWindow& window, const Visit& visit,
                             const Progress& progress) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const BlockHeader& header = blocks_[b].header;
    if (progress) progress(static_cast<double>(b) / static_cast<double>(blocks_.size()));
    if (!window.meets(header.first_ns, header.last_ns)) continue;
    const std::vector<ProfileEvent> events = read(blocks_[b]);
    auto before = [](const ProfileEvent& event, std::uint64_t t) { return event.time_ns < t; };
    const auto from = std::lower_bound(events.begin(), events.end(), window.from_ns, before);
    const auto to = std::lower_bound(from, events.end(), window.to_ns, before);
    if (from != to) visit(std::span(from, to));
  }
}

namespace {

struct Cursor {
  std::size_t order;  // position of the block in the file: breaks ties
  std::vector<ProfileEvent> events;
  std::size_t at = 0;
  std::uint64_t now() const { return events[at].time_ns; }
};

struct Later {
  bool operator()(const Cursor* a, const Cursor* b) const {
    return a->now() != b->now() ? a->now() > b->now() : a->order > b->order;
  }
};

}  // namespace

void ProfileReader::for_each_in_order(const TimeWindow& window, const Visit& visit,
                                      const Progress& progress) {
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (window.meets(blocks_[b].header.first_ns, blocks_[b].header.last_ns)) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks_[a].header.first_ns < blocks_[b].header.first_ns;
  });
  std::map<std::size_t, Cursor> open;
  std::priority_queue<Cursor*, std::vector<Cursor*>, Later> queue;
  std::vector<ProfileEvent> piece;
  for (std::size_t next = 0; next < order.size() || !queue.empty();) {
    if (next < order.size() &&
        (queue.empty() || blocks_[order[next]].header.first_ns <= queue.top()->now())) {
      if (progress) progress(static_cast<double>(next) / static_cast<double>(order.size()));
      const std::size_t b = order[next++];
      Cursor& cursor = open[b] = Cursor{b, read(blocks_[b])};
      cursor.events.empty() ? (void)open.erase(b) : queue.push(&cursor);
      continue;
    }
    Cursor* first = queue.top();
    queue.pop();
    const ProfileEvent& event = first->events[first->at++];
    if (window.contains(event.time_ns)) piece.push_back(event);
    first->at < first->events.size() ? queue.push(first) : (void)open.erase(first->order);
    if (piece.size() == profile_format::kMaxEventsPerBlock) {
      visit(piece);
      piece.clear();
    }
  }
  if (!piece.empty()) visit(piece);
}

}  // namespace ondeloc
