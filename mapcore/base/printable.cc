// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/printable.h"

#include <algorithm>
#include <iterator>

namespace ondeloc {
namespace {

struct Range {
  char32_t first, last;
};

// Unicode 15: general categories Cc and Cf, the separators Zl and Zp, surrogates and private
// planes' non-characters. Ascending.
constexpr Range kUnprintable[] = {
    {0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xd800, 0xdfff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
    {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0x10fffe, 0x10ffff}};

bool is_printable(char32_t code) {
  const Range* range =
      std::upper_bound(std::begin(kUnprintable), std::end(kUnprintable), code,
                       [](char32_t wanted, const Range& each) { return wanted <= each.last; });
  return range == std::end(kUnprintable) || code < range->first;
}

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // 0: the text does not begin with a valid UTF-8 character
};

std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

Character first_character(std::string_view text) {
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: no longer form
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = length_by_lead(lead);
  if (length == 0 || length > text.size()) return {};
  char32_t code = length == 1 ? lead : lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80U) return {};
    code = code << 6 | (next & 0x3fU);
  }
  if (code < kSmallest[length] || code > 0x10ffff) return {};
  return {code, length};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.length > 0 && is_printable(next.code))
      out += text.substr(0, next.length);
    else
      out += '?';
    text.remove_prefix(std::max<std::size_t>(next.length, 1));
  }
  return out;
}

std::size_t cut_length(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t at = most;
  for (int back = 0; back < 3 && at > 0; ++back, --at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U) return at;
  return (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U ? at : most;
}

}  // namespace ondeloc
