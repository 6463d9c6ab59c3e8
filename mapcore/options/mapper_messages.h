// SPDX-License-Identifier: Apache-2.0
// The text that goes from ondeloc-mapper through a pipe to slurmstepd at the end of a step:
//
//   kMapperStarted   the plugin writes it before it starts the mapper
//   text             standard error of the mapper's file until the mapper runs: why it cannot be
//                    executed, or which library the loader misses
//   kMessagesBegin   the mapper's text begins; without it the mapper did not come to its end
//   lines            each ends with a newline. A line that begins with kForLog is for the
//                    administrator: it goes to slurmd's log and not to the user
//   kMessagesEnd     the mapper has said its last word. The reader stops here: another process
//                    of the user may keep the pipe open
//
// The mapper writes all of its part with one write(2). The reader trusts nothing: the pipe is the
// user's. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ondeloc {

inline constexpr char kMapperStarted = '+';
inline constexpr char kMessagesBegin = '\3';
inline constexpr char kMessagesEnd = '\4';
inline constexpr char kForLog = '\2';
// Bytes of the mapper's part at most. Less than PIPE_BUF, so that a write is whole or fails.
inline constexpr std::size_t kMaxMessages = 2048;

// The mapper's part: the lines that fit, each printable() but for a kForLog at its begin.
std::string encode_messages(const std::vector<std::string>& lines);

struct MapperMessages {
  bool was_started = false;  // the plugin came as far as starting a mapper
  bool has_begun = false;    // the mapper came to its end
  bool is_complete = false;  // and its last word is there
  std::string_view text;     // the lines
  std::string_view before;   // standard error until the mapper ran
};
// `text`: the bytes read so far. The result points into `text`.
MapperMessages decode_messages(std::string_view text);

}  // namespace ondeloc
