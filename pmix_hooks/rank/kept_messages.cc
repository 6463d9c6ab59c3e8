// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/kept_messages.h"

#include <sys/mman.h>

#include "pmix_hooks/rank/notes.h"

namespace ondeloc {
namespace {

constexpr std::size_t kFirstBytes = 4096;

// The messages that are kept in place of being counted; null: messages are counted.
KeptMessages*& keeping() {
  // NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zero, as all __thread here
  static __thread KeptMessages* messages __attribute__((tls_model("initial-exec")));
  return messages;
}

bool has_room(const KeptMessages& messages) {
  return sizeof(KeptMessages) + (messages.count + 1) * sizeof(KeptMessage) <= messages.bytes;
}

// Twice as large, or with null the first ones. Null: no memory; `messages` stay as they are.
KeptMessages* enlarged(KeptMessages* messages) {
  const std::size_t bytes = messages == nullptr ? kFirstBytes : 2 * messages->bytes;
  void* memory = messages == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(messages, messages->bytes, bytes, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    add_note(ONDELOC_NOTE_NO_MEMORY);
    return nullptr;
  }
  auto* larger = static_cast<KeptMessages*>(memory);
  larger->bytes = bytes;
  return larger;
}

}  // namespace

bool keep_message(const KeptMessage& message) {
  KeptMessages* messages = keeping();
  if (messages == nullptr) return false;
  if (!has_room(*messages)) messages = enlarged(messages);
  if (messages == nullptr) return true;
  keeping() = messages;
  messages->begin()[messages->count++] = message;
  return true;
}

KeptMessages* messages_of_call(CountCall count_call, const Word* words, KeptMessages* reused) {
  KeptMessages* messages = reused == nullptr ? enlarged(nullptr) : reused;
  if (messages == nullptr) return nullptr;
  messages->count = 0;
  keeping() = messages;
  count_call(words);
  messages = keeping();
  keeping() = nullptr;
  return messages;
}

}  // namespace ondeloc
