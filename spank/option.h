// SPDX-License-Identifier: Apache-2.0
// The option --ondeloc and what stands in for it: first the option, then ONDELOC in the user's
// environment, then default= in plugstack.conf. The plugin is `optional`, so Slurm ignores what
// callbacks return: a bad value ends srun, sbatch and salloc here, with one sentence and exit(1).
#pragma once

#include <optional>
#include <string>

#include "spank/slurm_spank.h"

namespace ondeloc {

inline constexpr const char* kDefaultVariable = "ONDELOC";

// Only valid in slurm_spank_init. Does nothing in contexts without options.
void register_option(spank_t spank);
// In srun, --ondeloc reaches the compute nodes whatever --export leaves of the environment; the
// variable would not. Between these two calls (init, init_post_opt) Slurm finds it where it takes
// the option of sbatch from, and passes it on like one. take_variable_back checks it as
// check_or_exit does, unless an option came after it. Neither does anything where an option of
// sbatch or salloc is there, or outside of srun.
void lend_variable();
void take_variable_back();
// The value given by --ondeloc, if any, and that of srun's variable where no option came after it.
std::optional<std::string> given_option();
std::optional<std::string> lent_variable();
// Parses a value in front of the user; ends the program when it is wrong or asks for help. `where`
// names the source of the value in the sentence.
void check_or_exit(const std::string& where, const std::string& value);

}  // namespace ondeloc
