// SPDX-License-Identifier: Apache-2.0
// The option --ondeloc and its substitutes, in this order: the option, ONDELOC in the user's
// environment, default= in plugstack.conf. The plugin is `optional`, so Slurm ignores what its
// callbacks return: a bad value ends srun, sbatch and salloc here, with one sentence and exit(1).
#pragma once

#include <optional>
#include <string>

#include "spank/callbacks.h"
#include "spank/slurm_spank.h"

namespace ondeloc {

inline constexpr const char* kDefaultVariable = "ONDELOC";

// Valid in slurm_spank_init only. Does nothing in contexts without options. Outside of
// slurmstepd it keeps the words of plugstack.conf for the call for help.
void register_option(spank_t spank, Arguments arguments);

// srun forwards --ondeloc to the nodes even under --export=NONE, but not the ONDELOC variable.
// export_env_default() (in init) therefore copies ONDELOC into the variable that Slurm reads option
// values from. withdraw_env_default() (in init_post_opt) removes the copy and, unless --ondeloc was
// given too, validates the value as check_or_exit() does. Both do nothing outside of srun, and if
// sbatch or salloc was given the option.
void export_env_default();
void withdraw_env_default();

// The value of --ondeloc, if it was given.
std::optional<std::string> given_option();
// The value of srun's variable ONDELOC, if --ondeloc was not given.
std::optional<std::string> env_default();

// Parses a value while its user waits. A wrong value and the call for help end the program. `where`
// names the source of the value in the sentence. The help shows the site's settings, too.
void check_or_exit(const std::string& where, const std::string& value);

}  // namespace ondeloc
