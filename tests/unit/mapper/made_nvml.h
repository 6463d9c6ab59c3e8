// SPDX-License-Identifier: Apache-2.0
// Control of made_nvml.cc, a shared library that a test loads in place of NVIDIA's.
#pragma once

struct MadeNvml {
  struct Device {
    int result = 0;  // of the question for processes
    unsigned pids[200] = {};
    unsigned count = 0;
    unsigned claims = 0;  // if not 0: the number of processes that it tells, without writing any
  };
  struct Gpu {
    unsigned domain = 0, bus = 0, device = 0;
    Device whole, parts[2];
    unsigned part_count = 0;
    unsigned graphics_pid = 0;  // 0: none
  };
  Gpu gpus[4];
  unsigned count = 0;
  unsigned claims = 0;  // if not 0: the number of GPUs that it tells
  int init_result = 0;
  int started = 0, ended = 0, asked = 0;  // calls
};

// The name of the function by which a test finds the library's state.
inline constexpr const char* kMadeNvmlState = "made_nvml_state";
