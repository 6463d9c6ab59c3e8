// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/memory_csv.h"

#include <fmt/format.h>

#include <map>

#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMaxCsv = std::size_t{1} << 29;

std::optional<RankMemory> parse_line(std::string_view line, int ranks) {
  const auto parts = split(line, ',');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  const auto rank =
      parse_unsigned(csv_field(parts[0]), static_cast<std::uint64_t>(std::max(ranks - 1, 0)));
  const auto accessed = parse_unsigned(csv_field(parts[1]));
  const auto dram = parse_unsigned(csv_field(parts.back()), UINT64_MAX - 1);
  if (!rank || !accessed || !dram) return std::nullopt;
  const bool known = parts.size() == 3;
  return RankMemory{static_cast<std::uint32_t>(*rank), *accessed, known, known ? *dram : 0};
}

}  // namespace

Result<std::vector<RankMemory>> parse_memory_csv(std::string_view text, const std::string& name,
                                                 int ranks) {
  std::map<std::uint32_t, RankMemory> found;
  std::size_t number = 0;
  for (const std::string_view whole : split(without_mark(text), '\n')) {
    const std::string_view line = trim_blanks(whole);
    ++number;
    if (line.empty() || (number == 1 && csv_field(line.substr(0, line.find(','))) == "rank"))
      continue;
    const auto memory = parse_line(line, ranks);
    if (!memory || !found.emplace(memory->rank, *memory).second)
      return Error(
          fmt::format("memory '{}', line {}: '{}' is not rank,accessed_bytes[,dram_bytes] "
                      "of a rank below {}, each once",
                      name, number, shorten(line), ranks));
  }
  if (found.empty())
    return Error(
        fmt::format("memory '{}': the file has no line rank,accessed_bytes[,dram_bytes]", name));
  std::vector<RankMemory> all;
  all.reserve(found.size());
  for (const auto& [rank, memory] : found) {
    if (rank != all.size()) break;
    all.push_back(memory);
  }
  if (all.size() == static_cast<std::size_t>(ranks)) return all;
  return Error(
      fmt::format("memory '{}': rank {} of the {} ranks is missing", name, all.size(), ranks));
}

Result<std::vector<RankMemory>> read_memory_csv(const std::string& path, int ranks) {
  const auto text = read_file(path, kMaxCsv);
  if (!text) return Error(text.error()).within("memory volumes");
  return parse_memory_csv(*text, name_of_input(path), ranks);
}

}  // namespace ondeloc
