// SPDX-License-Identifier: Apache-2.0
#include "spank/environment.h"

#include <fmt/format.h>

#include <string_view>

#include "mapcore/segment/rank_env.h"

#include "spank/items.h"

namespace ondeloc {
namespace {

constexpr std::size_t kLongest = 65536;
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kSanitizer = "ASAN_OPTIONS";
constexpr std::string_view kSanitizerOption = "verify_asan_link_order";

const char* transport_name(Transport transport) {
  switch (transport) {
    case Transport::kAuto:
      return "auto";
    case Transport::kShm:
      return "shm";
    case Transport::kPmix:
      return "pmix";
  }
  return "auto";
}

// Where nobody listens, events would be lost, and with them the word that a rank has left MPI.
std::string step_words(const Step& step) {
  const Transport transport = step.listening ? step.options.transport : Transport::kShm;
  return fmt::format(
      ONDELOC_ENV_STEP_VERSION
      " fd={} transport={} interval_ms={} local_ranks={} world_ranks={} job={} step={}",
      step.segment.get(), transport_name(transport), step.options.interval_ms, step.local_ranks,
      step.world_ranks, step.job_id, step.step_id);
}

Status set(spank_t spank, const char* name, const std::string& value, bool overwrite) {
  const spank_err_t result = spank_setenv(spank, name, value.c_str(), overwrite ? 1 : 0);
  if (result == ESPANK_SUCCESS || (result == ESPANK_ENV_EXISTS && !overwrite)) return {};
  return Error(fmt::format("{}: {}", name, spank_strerror(result)));
}

// The loader takes both blanks and colons as separators.
bool holds(std::string_view list, std::string_view path) {
  for (std::size_t at = list.find(path); at != list.npos; at = list.find(path, at + 1)) {
    const std::size_t end = at + path.size();
    const bool starts = at == 0 || list[at - 1] == ':' || list[at - 1] == ' ';
    const bool ends = end == list.size() || list[end] == ':' || list[end] == ' ';
    if (starts && ends) return true;
  }
  return false;
}

Status set_preload(spank_t spank, const std::string& rank_lib) {
  if (rank_lib.find_first_of(" :") != std::string::npos)
    return Error(rank_lib + ": a path with a blank or a colon cannot be preloaded");
  const auto found = job_env_whole(spank, kPreload, kLongest);
  if (!found) return found.error();
  const std::string users = found->value_or("");
  if (holds(users, rank_lib)) return {};
  return set(spank, kPreload, users.empty() ? rank_lib : users + ":" + rank_lib, true);
}

// gcc's address sanitizer ends a program at its start that has a library in front of its runtime,
// even one that replaces nothing of it. A value too long to keep is left alone.
Status allow_sanitizer(spank_t spank) {
  const auto found = job_env_whole(spank, kSanitizer, kLongest);
  if (!found) return {};
  const std::string users = found->value_or("");
  if (users.find(kSanitizerOption) != users.npos) return {};
  return set(spank, kSanitizer,
             fmt::format("{}{}{}=0", users, users.empty() ? "" : ":", kSanitizerOption), true);
}

// Whoever only watches leaves the ranks where others bind them.
bool moves(const Step& step) {
  return step.bind || (step.options.mode == Mode::kOnline && step.options.decide != Decide::kNever);
}

}  // namespace

Status set_environment(spank_t spank, const Step& step) {
  // First what can fail for a user's reason: nothing may be changed then.
  if (step.watch) {
    if (Status good = set_preload(spank, step.rank_lib); !good) return good;
    if (Status good = set(spank, ONDELOC_ENV_STEP, step_words(step), true); !good) return good;
    if (Status good = allow_sanitizer(spank); !good) return good;
  }
  if (!moves(step)) return {};
  // Open MPI 4 binds by itself in MPI_Init when its mask is the whole node, PSM2 at first use.
  if (Status good = set(spank, "OMPI_MCA_hwloc_base_binding_policy", "none", false); !good)
    return good;
  return set(spank, "HFI_NO_CPUAFFINITY", "1", false);
}

void drop_preload(spank_t spank, const Step& step) {
  std::string list = job_env(spank, kPreload, kLongest).value_or("");
  if (!list.ends_with(step.rank_lib)) return;
  list.resize(list.size() - step.rank_lib.size());
  if (list.empty()) {
    spank_unsetenv(spank, kPreload);
  } else {
    list.pop_back();
    spank_setenv(spank, kPreload, list.c_str(), 1);
  }
}

}  // namespace ondeloc
