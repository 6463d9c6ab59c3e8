// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/step_env.h"

#include <cstddef>
#include <cstring>

#include "mapcore/segment/rank_env.h"

namespace ondeloc {
namespace {

// The rest of `word` after "key=", null when the word has another key.
const char* value_of(const char* word, const char* key) {
  const std::size_t length = std::strlen(key);
  return std::strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : nullptr;
}

bool word_is(const char* word, const char* text) {
  const std::size_t length = std::strlen(text);
  return std::strncmp(word, text, length) == 0 && (word[length] == '\0' || word[length] == ' ');
}

void read_number(const char* word, const char* key, std::uint32_t& out) {
  const char* digits = value_of(word, key);
  if (digits == nullptr || *digits < '0' || *digits > '9') return;
  std::uint64_t value = 0;
  for (; *digits >= '0' && *digits <= '9'; ++digits)
    if ((value = value * 10 + static_cast<std::uint64_t>(*digits - '0')) > UINT32_MAX) return;
  if (*digits == '\0' || *digits == ' ') out = static_cast<std::uint32_t>(value);
}

void read_word(const char* word, StepEnv& step) {
  std::uint32_t fd = UINT32_MAX;
  read_number(word, "fd", fd);
  if (fd < 1U << 30) step.fd = static_cast<int>(fd);
  read_number(word, "interval_ms", step.interval_ms);
  read_number(word, "local_ranks", step.local_ranks);
  read_number(word, "world_ranks", step.world_ranks);
  read_number(word, "job", step.job);
  read_number(word, "step", step.step);
  read_number(word, "moves", step.moves);
  if (const char* transport = value_of(word, "transport")) {
    if (word_is(transport, "shm")) step.transport = RankTransport::kShm;
    if (word_is(transport, "pmix")) step.transport = RankTransport::kPmix;
  }
}

}  // namespace

bool parse_step_env(const char* text, StepEnv& step) {
  if (text == nullptr || !word_is(text, ONDELOC_ENV_STEP_VERSION)) return false;
  for (const char* at = std::strchr(text, ' '); at != nullptr; at = std::strchr(at, ' '))
    read_word(++at, step);
  return true;
}

}  // namespace ondeloc
