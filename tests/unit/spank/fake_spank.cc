// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/spank/fake_spank.h"

// spank.h has an enumeration in front of the dots, which clang warns of.
#pragma GCC diagnostic ignored "-Wvarargs"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "spank/option.h"

namespace ondeloc {
namespace {

// A macro for 0 in newer releases, a value of the enumeration in older ones.
constexpr auto kSuccess = static_cast<spank_err_t>(ESPANK_SUCCESS);

FakeSpank the_fake;

std::string printed(const char* format, va_list arguments) {
  char line[4096];
  std::vsnprintf(line, sizeof(line), format, arguments);
  return line;
}

spank_err_t give_item(spank_item_t which, va_list arguments) {
  std::uint32_t value = 0;
  if (which == S_JOB_LOCAL_TO_GLOBAL_ID) {
    const auto local = va_arg(arguments, std::uint32_t);
    if (local >= the_fake.world_of_local.size()) return ESPANK_NOEXIST;
    value = the_fake.world_of_local[local];
  } else {
    const auto found = the_fake.items.find(which);
    if (found == the_fake.items.end()) return ESPANK_NOT_AVAIL;
    value = found->second;
  }
  std::memcpy(va_arg(arguments, void*), &value, sizeof(value));
  return kSuccess;
}

}  // namespace

FakeSpank FakeSpank::normal_step() {
  FakeSpank fake;
  fake.items = {{S_JOB_UID, getuid()},     {S_JOB_GID, getgid()},       {S_JOB_ID, 7},
                {S_JOB_STEPID, 1},         {S_JOB_LOCAL_TASK_COUNT, 2}, {S_JOB_TOTAL_TASK_COUNT, 4},
                {S_STEP_CPUS_PER_TASK, 1}, {S_TASK_EXIT_STATUS, 0}};
  fake.world_of_local = {2, 3};
  return fake;
}

void FakeSpank::give_option(const char* value) const { option->cb(0, value, 1); }

FakeSpank& use_fake(FakeSpank fake) {
  the_fake = std::move(fake);
  register_option(kSpank, {});
  return the_fake;
}

}  // namespace ondeloc

using ondeloc::kSuccess;
using ondeloc::the_fake;

extern "C" {

spank_context_t spank_context(void) { return the_fake.context; }

spank_err_t spank_option_register(spank_t, struct spank_option* option) {
  the_fake.option = *option;
  return kSuccess;
}

spank_err_t spank_get_item(spank_t, spank_item_t which, ...) {
  va_list arguments;
  va_start(arguments, which);
  const spank_err_t result = ondeloc::give_item(which, arguments);
  va_end(arguments);
  return result;
}

spank_err_t spank_getenv(spank_t, const char* name, char* buffer, int size) {
  const auto found = the_fake.env.find(name);
  if (found == the_fake.env.end()) return ESPANK_ENV_NOEXIST;
  if (found->second.size() >= static_cast<std::size_t>(size)) return ESPANK_NOSPACE;
  std::strcpy(buffer, found->second.c_str());
  return kSuccess;
}

spank_err_t spank_setenv(spank_t, const char* name, const char* value, int overwrite) {
  if (overwrite == 0 && the_fake.env.count(name) != 0) return ESPANK_ENV_EXISTS;
  the_fake.env[name] = value;
  return kSuccess;
}

spank_err_t spank_unsetenv(spank_t, const char* name) {
  the_fake.env.erase(name);
  return kSuccess;
}

const char* spank_strerror(spank_err_t) { return "fake error"; }

void slurm_spank_log(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  the_fake.user_lines.push_back(ondeloc::printed(format, arguments));
  va_end(arguments);
}

// Lines that slurmd's log shows at its usual level.
void slurm_info(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  the_fake.log_lines.push_back(ondeloc::printed(format, arguments));
  va_end(arguments);
}

void slurm_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  the_fake.user_lines.push_back(ondeloc::printed(format, arguments));
  va_end(arguments);
}

void slurm_debug(const char*, ...) {}

}  // extern "C"
