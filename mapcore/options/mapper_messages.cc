// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/mapper_messages.h"

#include "mapcore/base/printable.h"

namespace ondeloc {

std::string encode_messages(const std::vector<std::string>& lines) {
  constexpr std::size_t kMarks = 2;  // kMapperStarted, kMessagesEnd
  std::string text(1, kMessagesBegin);
  for (const std::string& line : lines) {
    const bool for_log = line.starts_with(kForLog);
    const std::string shown = std::string(for_log ? 1 : 0, kForLog) +
                              printable(std::string_view(line).substr(for_log ? 1 : 0));
    if (text.size() + shown.size() + 1 + kMarks <= kMaxMessages) text += shown + "\n";
  }
  return text + kMessagesEnd;
}

MapperMessages decode_messages(std::string_view text) {
  MapperMessages messages;
  messages.was_started = text.starts_with(kMapperStarted);
  if (messages.was_started) text.remove_prefix(1);
  const std::size_t begin = text.find(kMessagesBegin);
  messages.before = text.substr(0, begin);
  messages.has_begun = begin != text.npos;
  if (!messages.has_begun) return messages;
  text.remove_prefix(begin + 1);
  const std::size_t end = text.find(kMessagesEnd);
  messages.is_complete = end != text.npos;
  messages.text = text.substr(0, end);
  return messages;
}

}  // namespace ondeloc
