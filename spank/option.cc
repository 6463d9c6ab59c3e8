// SPDX-License-Identifier: Apache-2.0
#include "spank/option.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "mapcore/options/options.h"

namespace ondeloc {
namespace {

std::optional<std::string>& given() {
  static auto* const value = new std::optional<std::string>;
  return *value;
}

// Slurm may call it twice with the same value (before 24.05), and in slurmstepd with a value that
// the user controls: there it is only kept, init_post_opt parses it.
void take_option(const char* value, bool remote) {
  const std::string text(value == nullptr ? "" : value);
  if (!remote) check_or_exit("--ondeloc", text);
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

const std::optional<std::string>& given_option() { return given(); }

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
