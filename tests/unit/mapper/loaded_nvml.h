// SPDX-License-Identifier: Apache-2.0
// Loads made_nvml.cc for a test, which controls what the library answers. The library stays loaded,
// so its state outlives an Nvml.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/mapper/made_nvml.h"

namespace ondeloc {

struct LoadedNvml {
  // Two GPUs on the buses 1b and 9b, without processes.
  explicit LoadedNvml(const std::string& name = "made_nvml")
      : path(file(name)), library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose) {
    REQUIRE(library);
    state = reinterpret_cast<MadeNvml* (*)()>(dlsym(library.get(), kMadeNvmlState))();
    *state = MadeNvml();
    state->count = 2;
    state->gpus[0].bus = 0x1b;
    state->gpus[1].bus = 0x9b;
  }
  static std::string file(const std::string& name) {
    return std::string(ONDELOC_MADE_NVML) + "/" + name + ".so";
  }
  void add(int gpu, pid_t pid) const {
    MadeNvml::Device& whole = state->gpus[gpu].whole;
    whole.pids[whole.count++] = static_cast<unsigned>(pid);
  }
  std::string path;
  std::unique_ptr<void, int (*)(void*)> library;
  MadeNvml* state = nullptr;
};

}  // namespace ondeloc
