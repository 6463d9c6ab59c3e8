// SPDX-License-Identifier: Apache-2.0
#include "spank/option.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "mapcore/options/options.h"

namespace ondeloc {
namespace {

// Where srun looks for a value of the option before it reads its own arguments (plugstack.c,
// spank_process_env_options); sbatch and salloc set it for the steps inside.
constexpr const char* kSlurmsVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_ondeloc_ondeloc";
// In front of a value that was lent, so that slurmstepd knows it for one.
constexpr char kLent = ' ';

bool is_lent = false;  // kSlurmsVariable holds the user's variable, in srun

std::optional<std::string>& given() {
  static auto* const value = new std::optional<std::string>;
  return *value;
}

// Slurm may call it twice with the same value (before 24.05), and in slurmstepd with a value that
// the user controls: there it is only kept, init_post_opt parses it. A variable is not judged here
// either: an option may follow that takes its place.
void take_option(const char* value, bool remote) {
  const std::string text(value == nullptr ? "" : value);
  const bool is_variable = is_lent && !given();
  if (!remote && !is_variable) check_or_exit("--ondeloc", text);
  given() = text;
}

extern "C" int option_given(int, const char* value, int remote) {
  try {
    take_option(value, remote != 0);
  } catch (const std::exception&) {
    slurm_error("ondeloc: out of memory while reading the option");
  }
  return 0;
}

}  // namespace

void register_option(spank_t spank) {
  // Slurm keeps pointers to these.
  static char name[] = "ondeloc";
  static char argument[] = "MODE[:ARG][,key=value...]";
  static char usage[] =
      "place the ranks by who talks to whom: off, online, static:FILE or profile:FILE; "
      "--ondeloc=help tells all";
  static spank_option option = {name, argument, usage, 1, 0, option_given};
  const spank_context_t context = spank_context();
  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) return;
  if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
    slurm_error("ondeloc: the option --ondeloc cannot be registered");
}

void lend_variable() {
  if (spank_context() != S_CTX_LOCAL) return;
  const char* value = std::getenv(kDefaultVariable);
  if (value == nullptr || *value == '\0' || std::getenv(kSlurmsVariable) != nullptr) return;
  is_lent = setenv(kSlurmsVariable, (kLent + std::string(value)).c_str(), 0) == 0;
}

void take_variable_back() {
  if (!is_lent) return;
  unsetenv(kSlurmsVariable);
  is_lent = false;
  if (const auto value = lent_variable()) check_or_exit(kDefaultVariable, *value);
}

std::optional<std::string> given_option() {
  return given() && !given()->starts_with(kLent) ? given() : std::nullopt;
}

std::optional<std::string> lent_variable() {
  return given() && given()->starts_with(kLent) ? std::optional(given()->substr(1)) : std::nullopt;
}

void check_or_exit(const std::string& where, const std::string& value) {
  auto options = parse_options(value);
  if (!options) {
    std::fprintf(stderr, "ondeloc: %s: %s\n", where.c_str(), options.error().message().c_str());
    std::exit(1);
  }
  if (options->mode == Mode::kHelp) {
    std::fputs(options_help().c_str(), stdout);
    std::exit(0);
  }
}

}  // namespace ondeloc
