// SPDX-License-Identifier: Apache-2.0
// Converts headers and records to bytes and back (format.h). Decoders take untrusted bytes: they
// check every length, count and rank, and read nothing beyond the span. Thread safety: pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/profile/event.h"
#include "mapcore/profile/format.h"

namespace ondeloc::profile_format {

using Octets = std::vector<std::uint8_t>;

// CRC-32 of IEEE 802.3 (reflected, polynomial 0xEDB88320).
std::uint32_t crc32(std::span<const std::uint8_t> octets);

void put_varint(Octets& out, std::uint64_t value);
// Reads one varint at `at` and advances `at`; nullopt if the octets end or the number is too long.
std::optional<std::uint64_t> get_varint(std::span<const std::uint8_t> in, std::size_t& at);

// Length and letters, cut at `most`.
void put_text(Octets& out, std::string_view text, std::size_t most);
// Letters that are not printable ASCII become '?'; nullopt: not such a text, or longer than `most`.
std::optional<std::string> get_text(std::span<const std::uint8_t> in, std::size_t& at,
                                    std::size_t most);

Octets encode(const FileHeader& header);
Octets encode(const BlockHeader& header);
// Returns the version of an undamaged file header of any version; nullopt if it is not such a
// header.
std::optional<std::uint32_t> file_version(std::span<const std::uint8_t> octets);
// nullopt: not such a header, or damaged.
std::optional<FileHeader> decode_file_header(std::span<const std::uint8_t> octets);
std::optional<BlockHeader> decode_block_header(std::span<const std::uint8_t> octets);

// REQUIRES: events in time order, at most kMaxEventsPerBlock.
Octets encode_events(std::span<const ProfileEvent> events);
// nullopt if the payload is not `header.count` events of ranks below header.ranks.
std::optional<std::vector<ProfileEvent>> decode_events(const BlockHeader& header,
                                                       std::span<const std::uint8_t> raw);

// Rows of `width` varints: totals, drops, memory.
Octets encode_rows(std::span<const std::uint64_t> values);
std::optional<std::vector<std::uint64_t>> decode_rows(const BlockHeader& header, std::size_t width,
                                                      std::span<const std::uint8_t> raw);

}  // namespace ondeloc::profile_format
