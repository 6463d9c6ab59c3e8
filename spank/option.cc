// SPDX-License-Identifier: Apache-2.0
#include "spank/option.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "mapcore/options/options.h"

namespace ondeloc {
namespace {

// srun reads a value of the option from here before it reads its own arguments (plugstack.c,
// spank_process_env_options); sbatch and salloc set it for the steps inside.
constexpr const char* kSlurmsVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_ondeloc_ondeloc";
// Begins a value that export_env_default() has copied, so that slurmstepd can tell it from the
// option's.
constexpr char kEnvMarker = ' ';

bool is_exported = false;  // kSlurmsVariable holds a copy of the user's variable, in srun

std::optional<std::string>& option_value() {
  static auto* const value = new std::optional<std::string>;
  return *value;
}

// Words of plugstack.conf, for --ondeloc=help; none in slurmstepd, which prints no help.
std::vector<std::string>& site_words() {
  static auto* const words = new std::vector<std::string>;
  return *words;
}

bool is_from_environment(const std::optional<std::string>& value) {
  return value && value->starts_with(kEnvMarker);
}

// Slurm before 24.05 may call this twice with the same value. In slurmstepd the user controls the
// value: it is only kept here, and init_post_opt parses it. A copied variable is not validated here
// either, since the option may follow and take its place.
void keep_option(const char* value, bool remote) {
  const std::string text(value == nullptr ? "" : value);
  const bool is_variable = is_exported && !option_value();
  if (!remote && !is_variable) check_or_exit("--ondeloc", text);
  option_value() = text;
}

extern "C" int option_given(int, const char* value, int remote) {
  try {
    keep_option(value, remote != 0);
  } catch (const std::exception&) {
    slurm_error("ondeloc: out of memory while reading the option");
  }
  return 0;
}

}  // namespace

void register_option(spank_t spank, Arguments arguments) {
  // Slurm keeps pointers to these.
  static char name[] = "ondeloc";
  static char argument[] = "MODE[:ARG][,key=value...]";
  static char usage[] =
      "map ranks to CPUs by their messages: off, online, static:FILE or profile:FILE; "
      "--ondeloc=help lists modes and keys";
  static spank_option option = {name, argument, usage, 1, 0, option_given};
  option_value().reset();  // the plugin stays mapped after dlclose, with its variables
  const spank_context_t context = spank_context();
  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) return;
  if (context != S_CTX_REMOTE) site_words().assign(arguments.begin(), arguments.end());
  if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
    slurm_error("ondeloc: the option --ondeloc cannot be registered");
}

void export_env_default() {
  if (spank_context() != S_CTX_LOCAL) return;
  const char* value = std::getenv(kDefaultVariable);
  if (value == nullptr || *value == '\0' || std::getenv(kSlurmsVariable) != nullptr) return;
  is_exported = setenv(kSlurmsVariable, (kEnvMarker + std::string(value)).c_str(), 0) == 0;
}

void withdraw_env_default() {
  if (!is_exported) return;
  unsetenv(kSlurmsVariable);
  is_exported = false;
  if (const auto value = env_default()) check_or_exit(kDefaultVariable, *value);
}

std::optional<std::string> given_option() {
  return is_from_environment(option_value()) ? std::nullopt : option_value();
}

std::optional<std::string> env_default() {
  if (!is_from_environment(option_value())) return std::nullopt;
  return option_value()->substr(1);
}

void check_or_exit(const std::string& where, const std::string& value) {
  auto options = parse_options(value);
  if (!options) {
    std::fprintf(stderr, "ondeloc: %s: %s\n", where.c_str(), options.error().message().c_str());
    std::exit(1);
  }
  if (options->mode == Mode::kHelp) {
    const std::vector<std::string>& words = site_words();
    std::fputs(options_help({words.begin(), words.end()}).c_str(), stdout);
    std::exit(0);
  }
}

}  // namespace ondeloc
