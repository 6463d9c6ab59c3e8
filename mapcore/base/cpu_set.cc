// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/cpu_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "mapcore/base/ranges_text.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// False if `text` is not one mask, with or without "*N".
bool add_mask(CpuSet& set, std::string_view text) {
  const std::size_t star = text.find('*');
  if (star != text.npos && !parse_unsigned(text.substr(star + 1), UINT32_MAX)) return false;
  text = text.substr(0, star);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > CpuSet::kMaxCpu / 4) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int digit = hex_digit(text[text.size() - 1 - at]);
    if (digit < 0) return false;
    for (int bit = 0; bit < 4; ++bit)
      if ((digit & (1 << bit)) != 0) set.set(PuOs(static_cast<int>(4 * at) + bit));
  }
  return true;
}

}  // namespace

Result<CpuSet> CpuSet::parse_mask_list(std::string_view text) {
  CpuSet set;
  for (const std::string_view mask : split(text, ',')) {
    if (add_mask(set, mask)) continue;
    return Error(fmt::format("CPU masks '{}': '{}' is not a hexadecimal mask like 0x3",
                             shorten(text), shorten(mask)));
  }
  return set;
}

Result<CpuSet> CpuSet::parse_list(std::string_view text) {
  CpuSet set;
  if (trim_blanks(text).empty()) return set;
  for (std::string_view part : split(text, ',')) {
    const std::string_view range = trim_blanks(part);
    const std::size_t dash = range.find('-');
    const auto low = parse_unsigned(range.substr(0, dash), kMaxCpu - 1);
    const auto high =
        dash == std::string_view::npos ? low : parse_unsigned(range.substr(dash + 1), kMaxCpu - 1);
    if (!low || !high || *high < *low) {
      return Error(fmt::format("CPU list '{}': '{}' is not a CPU number or a range like 0-3",
                               shorten(text), shorten(range)));
    }
    for (auto cpu = *low; cpu <= *high; ++cpu) set.set(PuOs(static_cast<int>(cpu)));
  }
  return set;
}

CpuSet CpuSet::from_words(std::span<const std::uint64_t> words) {
  CpuSet set;
  const auto known = words.first(std::min<std::size_t>(words.size(), kMaxCpu / 64));
  set.words_.assign(known.begin(), known.end());
  set.trim();
  return set;
}

void CpuSet::set(PuOs cpu) {
  if (cpu.value < 0 || cpu.value >= kMaxCpu) return;
  const auto word = static_cast<std::size_t>(cpu.value) / 64;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= 1ULL << (cpu.value % 64);
}

void CpuSet::clear(PuOs cpu) {
  if (!test(cpu)) return;
  words_[static_cast<std::size_t>(cpu.value) / 64] &= ~(1ULL << (cpu.value % 64));
  trim();
}

bool CpuSet::test(PuOs cpu) const {
  const auto word = static_cast<std::size_t>(cpu.value) / 64;
  return cpu.value >= 0 && word < words_.size() && ((words_[word] >> (cpu.value % 64)) & 1U) != 0;
}

int CpuSet::count() const {
  int n = 0;
  for (const auto word : words_) n += std::popcount(word);
  return n;
}

int CpuSet::next(int previous) const {
  for (auto cpu = static_cast<std::size_t>(previous) + 1; cpu < words_.size() * 64;) {
    const std::uint64_t rest = words_[cpu / 64] >> (cpu % 64);
    if (rest != 0) return static_cast<int>(cpu) + std::countr_zero(rest);
    cpu = (cpu / 64 + 1) * 64;
  }
  return -1;
}

std::vector<PuOs> CpuSet::to_vector() const {
  std::vector<PuOs> cpus;
  for (int cpu = first(); cpu >= 0; cpu = next(cpu)) cpus.emplace_back(cpu);
  return cpus;
}

std::string CpuSet::to_list() const {
  std::vector<int> cpus;
  for (int cpu = first(); cpu >= 0; cpu = next(cpu)) cpus.push_back(cpu);
  return ranges_text(cpus);
}

bool CpuSet::is_subset_of(const CpuSet& other) const { return (*this - other).empty(); }

bool CpuSet::intersects(const CpuSet& other) const { return !(*this & other).empty(); }

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  trim();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) {
  const std::size_t common = std::min(words_.size(), other.words_.size());
  for (std::size_t w = 0; w < common; ++w) words_[w] &= ~other.words_[w];
  trim();
  return *this;
}

bool operator==(const CpuSet& a, const CpuSet& b) { return a.words_ == b.words_; }

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace ondeloc
