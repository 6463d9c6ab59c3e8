// SPDX-License-Identifier: Apache-2.0
// The notes of this process (enum ondeloc_note): why something is not counted. They are kept here
// and told to the mapper by the function that notes_start() names.
// Thread safety: any thread, after notes_start().
#pragma once

#include <cstdint>

namespace ondeloc {

using TellNotes = void (*)(std::uint32_t all_bits);

void notes_start(TellNotes tell);
void add_note(std::uint32_t bits);
std::uint32_t all_notes();

}  // namespace ondeloc
