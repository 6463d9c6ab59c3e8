// SPDX-License-Identifier: Apache-2.0
// The messages that the model gives for one call of a collective, kept for each start of its
// persistent request. They are computed when the request is made: a program may free the
// communicator, the datatypes and the operation before it starts the request. Ownership: one
// mapping, reused for the next request with the same handle, never given back. Thread safety: as
// MPI's, one request is in the hands of one thread at a time. Errors: without memory, messages are
// left out, and a note says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/next_function.h"

namespace ondeloc {

struct KeptMessage {
  Addition addition;
  bool is_modelled;  // not to the rank itself
};

struct KeptMessages {
  std::size_t bytes;  // of the mapping
  std::size_t count;  // of messages, which stand behind this object
  KeptMessage* begin() { return reinterpret_cast<KeptMessage*>(this + 1); }
};

// Counts the messages of one call of a collective; `words` are its arguments.
using CountCall = void (*)(const Word* words);

// Returns the messages that `count_call` would count, in `reused` if that is not null. Null: no
// memory. REQUIRES: MPI has made the request from these arguments, so that no question about them
// ends in MPI's error handler, which may leave by an exception.
KeptMessages* messages_of_call(CountCall count_call, const Word* words, KeptMessages* reused);
// False if the thread is not in messages_of_call(): the message is to be counted.
bool keep_message(const KeptMessage& message);
void count_kept(KeptMessages& messages);

}  // namespace ondeloc
