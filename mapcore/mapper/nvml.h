// SPDX-License-Identifier: Apache-2.0
// Asks NVIDIA's management library (NVML) which processes use which GPU. The library comes with the
// driver; it is loaded when it is first needed, so ondeloc runs without it, and needs no header of
// NVIDIA. The functions are declared as NVIDIA's "NVML API Reference" has them.
//
// The library was not seen on hardware: tests/unit/mapper/made_nvml.cc stands in for it. Whatever
// it answers is checked against the size of our buffers. Thread safety: for one thread.
#pragma once

#include <memory>
#include <string>

#include "mapcore/devices/gpu_use.h"

namespace ondeloc {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

class Nvml {
 public:
  explicit Nvml(std::string library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The processes on all GPUs that the library shows, by pids of the initial pid namespace. Loads
  // the library on the first call, which may take a second if the driver has to wake the GPUs.
  // Null if the library, one of its functions or the driver is missing: then it is not loaded
  // again. Valid until the next call.
  const NvidiaProcesses* processes();

 private:
  struct Calls;
  std::string library_;
  bool tried_ = false;
  std::unique_ptr<Calls> calls_;
  NvidiaProcesses found_;
};

}  // namespace ondeloc
