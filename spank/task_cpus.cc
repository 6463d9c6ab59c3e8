// SPDX-License-Identifier: Apache-2.0
#include "spank/task_cpus.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "mapcore/base/text.h"
#include "mapcore/segment/layout.h"

namespace ondeloc {
namespace {

void trim(CpuWords& words) {
  while (!words.empty() && words.back() == 0) words.pop_back();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

CpuWords parse_mask(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  constexpr std::size_t kDigits = 16;  // in a word
  if (text.empty() || text.size() > kDigits * ONDELOC_MASK_WORDS) return {};
  CpuWords words((text.size() + kDigits - 1) / kDigits, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = hex_digit(text[text.size() - 1 - i]);
    if (digit < 0) return {};
    words[i / kDigits] |= static_cast<std::uint64_t>(digit) << (4 * (i % kDigits));
  }
  trim(words);
  return words;
}

bool set_own_cpus(const CpuWords& words) {
  return syscall(SYS_sched_setaffinity, 0, words.size() * 8, words.data()) == 0;
}

}  // namespace

CpuWords own_cpus() {
  CpuWords words(ONDELOC_MASK_WORDS, 0);
  const long bytes = syscall(SYS_sched_getaffinity, 0, words.size() * 8, words.data());
  words.resize(bytes > 0 ? static_cast<std::size_t>(bytes) / 8 : 0);
  trim(words);
  return words;
}

bool has_all_cpus() {
  const CpuWords own = own_cpus();
  const CpuWords every(ONDELOC_MASK_WORDS, ~std::uint64_t{0});
  if (own.empty() || !set_own_cpus(every)) return false;
  const bool all = own_cpus() == own;
  return set_own_cpus(own) && all;
}

CpuWords cpus_of_masks(std::string_view list) {
  CpuWords all;
  for (const std::string_view mask : split(list, ',')) {
    const CpuWords words = parse_mask(mask);
    if (words.empty()) return {};
    all = join(std::move(all), words);
  }
  return all;
}

CpuWords join(CpuWords a, const CpuWords& b) {
  a.resize(std::max(a.size(), b.size()), 0);
  for (std::size_t w = 0; w < b.size(); ++w) a[w] |= b[w];
  return a;
}

}  // namespace ondeloc
