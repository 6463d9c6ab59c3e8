// SPDX-License-Identifier: Apache-2.0
#include "spank/environment.h"

#include <fmt/format.h>

#include <string_view>

#include "mapcore/segment/rank_env.h"

#include "spank/inherited_env.h"
#include "spank/nic.h"
#include "spank/spank_items.h"

namespace ondeloc {
namespace {

constexpr std::size_t kLongest = 65536;
constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kSanitizer = "ASAN_OPTIONS";
constexpr std::string_view kSanitizerOption = "verify_asan_link_order";
constexpr std::string_view kSanitizerSetting = "verify_asan_link_order=0";
constexpr std::string_view kSanitizerWord = "asan";

// `word` stands for the variable in the value of ONDELOC_STEP.
struct Policy {
  const char* word;
  const char* name;
  const char* value;
};
constexpr Policy kPolicies[] = {
    {"policy", ONDELOC_ENV_OPEN_MPI_BINDING, ONDELOC_ENV_OPEN_MPI_BINDS_NOT},
    {"hfi", ONDELOC_ENV_PSM2_BINDING, ONDELOC_ENV_PSM2_BINDS_NOT}};

// A mapper that only watches does not change what others bind.
bool moves(const Step& step) {
  return step.request.options.mode == Mode::kOnline &&
         step.request.options.decide != Decide::kNever;
}

// Without a listener events are lost, among them the event that tells that a rank has left MPI.
std::string step_words(const Step& step) {
  if (!step.request.watch) return ONDELOC_ENV_STEP_VERSION;
  const StepIdentity& id = step.identity;
  const Transport transport =
      step.state.listening ? step.request.options.transport : Transport::kShm;
  return fmt::format(
      ONDELOC_ENV_STEP_VERSION
      " fd={} transport={} interval_ms={} local_ranks={} world_ranks={} job={} step={}{}",
      step.fds.segment.get(), enum_name(transport), step.request.options.interval_ms,
      id.local_ranks, id.world_ranks, id.world_job_id, id.step_id,
      moves(step) ? ONDELOC_ENV_STEP_MOVES : "");
}

Status set(spank_t spank, const char* name, const std::string& value) {
  const spank_err_t result = spank_setenv(spank, name, value.c_str(), 1);
  if (result == ESPANK_SUCCESS) return {};
  return Error(fmt::format("{}: {}", name, spank_strerror(result)));
}

void set_or_unset(spank_t spank, const char* name, const std::string& value) {
  if (value.empty()) {
    spank_unsetenv(spank, name);
  } else {
    spank_setenv(spank, name, value.c_str(), 1);
  }
}

void note_set(std::string& names, std::string_view name) {
  if (!names.empty()) names += ',';
  names += name;
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
  return set(spank, kPreload, users.empty() ? rank_lib : users + ":" + rank_lib);
}

// gcc's address sanitizer refuses to start a program that loads a library before the sanitizer's
// runtime, even if the library replaces none of its functions. A value that is too long to keep is
// left alone.
Status allow_sanitizer(spank_t spank, std::string& ours) {
  const auto found = job_env_whole(spank, kSanitizer, kLongest);
  if (!found) return {};
  const std::string users = found->value_or("");
  if (users.find(kSanitizerOption) != users.npos) return {};
  note_set(ours, kSanitizerWord);
  return set(spank, kSanitizer,
             fmt::format("{}{}{}", users, users.empty() ? "" : ":", kSanitizerSetting));
}

Status set_policies(spank_t spank, std::string& ours) {
  for (const Policy& policy : kPolicies) {
    const spank_err_t result = spank_setenv(spank, policy.name, policy.value, 0);
    if (result == ESPANK_ENV_EXISTS) continue;  // the user's
    if (result != ESPANK_SUCCESS)
      return Error(fmt::format("{}: {}", policy.name, spank_strerror(result)));
    note_set(ours, policy.word);
  }
  return {};
}

}  // namespace

Status set_environment(spank_t spank, const Step& step) {
  if (!step.request.watch) return {};
  std::string ours;
  // The part that a user's value can make fail comes first: a failure must change nothing.
  if (Status good = set_preload(spank, step.request.rank_library); !good) return good;
  if (Status good = allow_sanitizer(spank, ours); !good) return good;
  if (!ours.empty()) ours.insert(0, kSetWord);
  return set(spank, ONDELOC_ENV_STEP, step_words(step) + ours);
}

Status keep_task_unbound(spank_t spank, const Step& step) {
  std::string words = job_env(spank, ONDELOC_ENV_STEP).value_or(step_words(step));
  std::string ours;
  if (Status good = set_policies(spank, ours); !good || ours.empty()) return good;
  words += words.find(kSetWord) == words.npos ? kSetWord : ",";
  return set(spank, ONDELOC_ENV_STEP, words + ours);
}

void remove_inherited(spank_t spank) {
  remove_inherited_nic(spank);  // an outer step with static: may have set nothing but the adapters
  const auto words = job_env(spank, ONDELOC_ENV_STEP);
  if (!words) return;
  spank_unsetenv(spank, ONDELOC_ENV_STEP);
  if (const auto list = job_env(spank, kPreload, kLongest))
    set_or_unset(spank, kPreload, without_rank_library(*list));
  for (const Policy& policy : kPolicies)
    if (says_set(*words, policy.word) && job_env(spank, policy.name) == policy.value)
      spank_unsetenv(spank, policy.name);
  if (!says_set(*words, kSanitizerWord)) return;
  if (const auto options = job_env(spank, kSanitizer, kLongest))
    set_or_unset(spank, kSanitizer, without_option(*options, kSanitizerSetting));
}

void remove_preload(spank_t spank, const Step& step) {
  const std::string& library = step.request.rank_library;
  std::string list = job_env(spank, kPreload, kLongest).value_or("");
  if (!list.ends_with(library)) return;
  list.resize(list.size() - library.size());
  if (!list.empty()) list.pop_back();
  set_or_unset(spank, kPreload, list);
}

}  // namespace ondeloc
