// SPDX-License-Identifier: Apache-2.0
// The mapper works in place of a rank on a full node, and all other ranks wait for that one. So
// work that nobody waits for takes a small share of the time.
#pragma once

namespace ondeloc {

// A pause after such work is at least so many times as long as the work.
inline constexpr int kPauses = 4000;

}  // namespace ondeloc
