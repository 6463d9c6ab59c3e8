// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/codec.h"

#include <array>
#include <cstring>

namespace ondeloc::profile_format {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xEDB88320U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

template <class T>
void put(Octets& out, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out[at + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
}

template <class T>
T get(std::span<const std::uint8_t> in, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<std::uint64_t>(in[at + i]) << (8 * i);
  return static_cast<T>(value);
}

void put_name(Octets& out, std::size_t at, const std::string& name) {
  std::memcpy(out.data() + at, name.data(), std::min(name.size(), kNameSize - 1));
}

std::string get_name(std::span<const std::uint8_t> in, std::size_t at) {
  std::string name;
  for (std::size_t i = 0; i < kNameSize && in[at + i] != 0; ++i) {
    const auto c = static_cast<char>(in[at + i]);
    name += c < ' ' || c > '~' ? '?' : c;
  }
  return name;
}

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> octets) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::uint8_t octet : octets) crc = (crc >> 8) ^ kCrcTable[(crc ^ octet) & 0xFFU];
  return ~crc;
}

void put_varint(Octets& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

std::optional<std::uint64_t> get_varint(std::span<const std::uint8_t> in, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < in.size(); shift += 7) {
    const std::uint8_t octet = in[at++];
    value |= static_cast<std::uint64_t>(octet & 0x7F) << shift;
    if (octet < 0x80) return value;
  }
  return std::nullopt;
}

void put_text(Octets& out, std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  put_varint(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

std::optional<std::string> get_text(std::span<const std::uint8_t> in, std::size_t& at,
                                    std::size_t most) {
  const auto length = get_varint(in, at);
  if (!length || *length > most || *length > in.size() - at) return std::nullopt;
  std::string text;
  for (std::uint64_t c = 0; c < *length; ++c) {
    const auto letter = static_cast<char>(in[at++]);
    text += letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text;
}

Octets encode(const FileHeader& header) {
  Octets out(kFileHeaderSize, 0);
  std::memcpy(out.data(), kFileMagic, 8);
  put(out, 8, kVersion);
  put(out, 12, static_cast<std::uint32_t>(kFileHeaderSize));
  put(out, 16, header.ranks);
  put(out, 20, header.nodes);
  put(out, 24, header.job);
  put(out, 28, header.step);
  put(out, 32, header.realtime_ns);
  put(out, 40, header.local_ranks);
  put_name(out, 48, header.node);
  put_name(out, 112, header.origin);
  put(out, 252, crc32(std::span(out).first(252)));
  return out;
}

std::optional<std::uint32_t> file_version(std::span<const std::uint8_t> in) {
  if (in.size() < kFileHeaderSize || std::memcmp(in.data(), kFileMagic, 8) != 0 ||
      get<std::uint32_t>(in, 252) != crc32(in.first(252)))
    return std::nullopt;
  return get<std::uint32_t>(in, 8);
}

std::optional<FileHeader> decode_file_header(std::span<const std::uint8_t> in) {
  if (file_version(in) != kVersion) return std::nullopt;
  FileHeader header{.ranks = get<std::uint32_t>(in, 16),
                    .nodes = get<std::uint32_t>(in, 20),
                    .job = get<std::uint32_t>(in, 24),
                    .step = get<std::uint32_t>(in, 28),
                    .realtime_ns = get<std::int64_t>(in, 32),
                    .local_ranks = get<std::uint32_t>(in, 40),
                    .node = get_name(in, 48),
                    .origin = get_name(in, 112)};
  if (header.ranks == 0 || header.ranks > kMaxRanks) return std::nullopt;
  return header;
}

Octets encode(const BlockHeader& header) {
  Octets out(kBlockHeaderSize, 0);
  std::memcpy(out.data(), kBlockMagic, 4);
  put(out, 4, header.type);
  put(out, 8, header.stored);
  put(out, 12, header.raw);
  put(out, 16, header.count);
  put(out, 20, header.ranks);
  put(out, 24, header.first_ns);
  put(out, 32, header.last_ns);
  put(out, 40, header.sequence);
  put(out, 48, header.payload_crc);
  put(out, 60, crc32(std::span(out).first(60)));
  return out;
}

std::optional<BlockHeader> decode_block_header(std::span<const std::uint8_t> in) {
  if (in.size() < kBlockHeaderSize || std::memcmp(in.data(), kBlockMagic, 4) != 0 ||
      get<std::uint32_t>(in, 60) != crc32(in.first(60)))
    return std::nullopt;
  const BlockHeader header{
      get<std::uint32_t>(in, 4),  get<std::uint32_t>(in, 8),  get<std::uint32_t>(in, 12),
      get<std::uint32_t>(in, 16), get<std::uint32_t>(in, 20), get<std::uint64_t>(in, 24),
      get<std::uint64_t>(in, 32), get<std::uint64_t>(in, 40), get<std::uint32_t>(in, 48)};
  if (header.stored > kMaxStored || header.raw > kMaxRaw || header.count > header.raw ||
      header.ranks == 0 || header.ranks > kMaxRanks || header.last_ns < header.first_ns)
    return std::nullopt;
  return header;
}

Octets encode_events(std::span<const ProfileEvent> events) {
  Octets out;
  out.reserve(events.size() * 8);
  std::uint64_t before = events.empty() ? 0 : events.front().time_ns;
  for (const ProfileEvent& event : events) {
    put_varint(out, event.time_ns - before);
    before = event.time_ns;
  }
  for (const ProfileEvent& event : events) put_varint(out, event.src);
  for (const ProfileEvent& event : events) put_varint(out, event.dst);
  for (const ProfileEvent& event : events) put_varint(out, event.bytes);
  return out;
}

namespace {

// Reads one column; `each(i, value)` returns false if the value is out of range.
template <class Each>
bool read_column(std::span<const std::uint8_t> raw, std::size_t& at, std::size_t count, Each each) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = get_varint(raw, at);
    if (!value || !each(i, *value)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<ProfileEvent>> decode_events(const BlockHeader& header,
                                                       std::span<const std::uint8_t> raw) {
  if (header.count > kMaxEventsPerBlock || header.count > raw.size() / 4) return std::nullopt;
  std::vector<ProfileEvent> events(header.count);
  std::size_t at = 0;
  std::uint64_t now = header.first_ns;
  const bool good = read_column(raw, at, events.size(),
                                [&](std::size_t i, std::uint64_t delta) {
                                  if (delta > header.last_ns - now) return false;
                                  events[i].time_ns = now += delta;
                                  return true;
                                }) &&
                    read_column(raw, at, events.size(),
                                [&](std::size_t i, std::uint64_t rank) {
                                  events[i].src = static_cast<std::uint32_t>(rank);
                                  return rank < header.ranks;
                                }) &&
                    read_column(raw, at, events.size(),
                                [&](std::size_t i, std::uint64_t rank) {
                                  events[i].dst = static_cast<std::uint32_t>(rank);
                                  return rank < header.ranks;
                                }) &&
                    read_column(raw, at, events.size(), [&](std::size_t i, std::uint64_t bytes) {
                      events[i].bytes = bytes;
                      return true;
                    });
  if (!good || at != raw.size()) return std::nullopt;
  return events;
}

Octets encode_rows(std::span<const std::uint64_t> values) {
  Octets out;
  for (const std::uint64_t value : values) put_varint(out, value);
  return out;
}

std::optional<std::vector<std::uint64_t>> decode_rows(const BlockHeader& header, std::size_t width,
                                                      std::span<const std::uint8_t> raw) {
  if (header.count > raw.size() / width) return std::nullopt;
  std::vector<std::uint64_t> values(header.count * width);
  std::size_t at = 0;
  const bool good = read_column(raw, at, values.size(), [&](std::size_t i, std::uint64_t value) {
    values[i] = value;
    return true;
  });
  if (!good || at != raw.size()) return std::nullopt;
  return values;
}

}  // namespace ondeloc::profile_format
