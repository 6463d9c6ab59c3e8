// SPDX-License-Identifier: Apache-2.0
// A Slurm for the plugin in a unit test: the functions of spank.h, linked in place of slurmstepd's.
// They keep their state in one object, which a test fills and looks at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spank/slurm_spank.h"

namespace ondeloc {

struct FakeSpank {
  spank_context_t context = S_CTX_REMOTE;
  std::map<std::string, std::string> env;          // of the job
  std::map<spank_item_t, std::uint32_t> items;     // those that are one number of 32 bits
  std::vector<std::uint32_t> world_of_local;       // S_JOB_LOCAL_TO_GLOBAL_ID
  std::vector<std::string> user_lines, log_lines;  // what reaches the terminal; slurmd's log
  std::optional<spank_option> option;

  // A step of user and group of this process: job 7, step 1, ranks 2 and 3 of 4.
  static FakeSpank normal_step();
  // Passes the option as Slurm does in slurmstepd, which has got it from srun.
  void give_option(const char* value) const;
};

// Begins anew with `fake`, and registers the option.
FakeSpank& use_fake(FakeSpank fake = FakeSpank::normal_step());

// Is not looked at.
inline spank_t const kSpank = nullptr;

}  // namespace ondeloc
