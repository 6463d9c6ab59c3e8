// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's management library, which needs the driver. It has the same functions and
// answers as its test says, also wrongly. MADE_NVML_VERSION: of the functions that tell processes.
#include "tests/unit/mapper/made_nvml.h"

#include <algorithm>
#include <cstring>

#ifndef MADE_NVML_VERSION
#define MADE_NVML_VERSION _v3
#endif
#define MADE_NVML_JOIN(name, version) name##version
#define MADE_NVML_NAME(name, version) MADE_NVML_JOIN(name, version)

namespace {

constexpr int kInvalid = 2, kNotSupported = 3, kNotFound = 6, kTooSmall = 7;

MadeNvml& state() {
  static MadeNvml made;
  return made;
}

struct Pci {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

MadeNvml::Gpu* gpu_of(void* device) {
  for (MadeNvml::Gpu& gpu : state().gpus)
    if (device == &gpu.whole) return &gpu;
  return nullptr;
}

}  // namespace

extern "C" {

MadeNvml* made_nvml_state() { return &state(); }

int nvmlInit_v2() {
  ++state().started;
  return state().init_result;
}

int nvmlShutdown() {
  ++state().ended;
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = state().claims != 0 ? state().claims : state().count;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= state().count) return kInvalid;
  *device = &state().gpus[index].whole;
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  const MadeNvml::Gpu* gpu = gpu_of(device);
  if (gpu == nullptr) return kInvalid;
  std::memset(pci, 0, sizeof(*pci));
  pci->domain = gpu->domain;
  pci->bus = gpu->bus;
  pci->device = gpu->device;
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
  const MadeNvml::Gpu* gpu = gpu_of(device);
  if (gpu == nullptr) return kInvalid;
  if (gpu->part_count == 0) return kNotSupported;
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** part) {
  MadeNvml::Gpu* gpu = gpu_of(device);
  if (gpu == nullptr || index >= gpu->part_count) return kNotFound;
  *part = &gpu->parts[index];
  return 0;
}

#ifndef MADE_NVML_WITHOUT_PROCESSES
int MADE_NVML_NAME(nvmlDeviceGetComputeRunningProcesses,
                   MADE_NVML_VERSION)(void* handle, unsigned* count, Process* processes) {
  ++state().asked;
  const auto* device = static_cast<MadeNvml::Device*>(handle);
  if (device->claims != 0) {
    *count = device->claims;
    return device->result;
  }
  if (device->result != 0) return device->result;
  const unsigned room = *count;
  *count = device->count;
  if (room < device->count) return kTooSmall;
  for (unsigned i = 0; i < device->count; ++i) processes[i] = {device->pids[i], 1 << 20, ~0U, ~0U};
  return 0;
}
#endif

int MADE_NVML_NAME(nvmlDeviceGetGraphicsRunningProcesses,
                   MADE_NVML_VERSION)(void* handle, unsigned* count, Process* processes) {
  const MadeNvml::Gpu* gpu = gpu_of(handle);
  if (gpu == nullptr || gpu->graphics_pid == 0) return kNotSupported;
  if (*count == 0) return kTooSmall;
  *count = 1;
  processes[0] = {gpu->graphics_pid, 0, ~0U, ~0U};
  return 0;
}

}  // extern "C"
