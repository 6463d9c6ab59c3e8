// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ondeloc {

// The library's types, as it declares them.
namespace nvml {

using Device = void*;
// nvmlPciInfo_t of version 3.
struct Pci {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
  char spare[128];  // a later library may know more
};

// nvmlProcessInfo_t of the functions of versions 2 and 3.
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(Process) == 24);

using AskProcesses = int(Device, unsigned* count, Process*);

}  // namespace nvml

namespace {

constexpr int kNvmlSuccess = 0, kNvmlInsufficientSize = 7;
constexpr unsigned kMostNvidiaGpus = 256, kMostParts = 16, kMostProcesses = 16384;

// Adds the processes that one function tells. False if the answer cannot be trusted: an error, or
// more processes than it had room for.
bool add_pids(nvml::AskProcesses* ask, nvml::Device device, std::set<pid_t>& pids) {
  unsigned room = 64;
  for (int tries = 0; tries < 4; ++tries) {
    std::vector<nvml::Process> told(room);
    unsigned count = room;
    const int result = ask(device, &count, told.data());
    if (result == kNvmlSuccess && count <= room) {
      for (unsigned i = 0; i < count; ++i) pids.insert(static_cast<pid_t>(told[i].pid));
      return true;
    }
    if (result != kNvmlInsufficientSize || room == kMostProcesses) return false;
    room = std::min(kMostProcesses, std::max(count, 4 * room));
  }
  return false;
}

}  // namespace

struct Nvml::Calls {
  explicit Calls(const std::string& library)
      : handle(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) return;
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(count, "nvmlDeviceGetCount_v2");
    find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(pci_info, "nvmlDeviceGetPciInfo_v3");
    find(most_instances, "nvmlDeviceGetMaxMigDeviceCount");
    find(instance, "nvmlDeviceGetMigDeviceHandleByIndex");
    compute = processes_of("Compute");
    graphics = processes_of("Graphics");
    mps = processes_of("MPSCompute");
  }
  ~Calls() {
    if (started) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  bool start() {
    started = init != nullptr && shutdown != nullptr && count != nullptr && by_index != nullptr &&
              pci_info != nullptr && compute != nullptr && init() == kNvmlSuccess;
    return started;
  }

  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
  }
  nvml::AskProcesses* processes_of(std::string_view kind) const {
    nvml::AskProcesses* ask = nullptr;
    for (const int version : {3, 2})
      if (ask == nullptr)
        find(ask, fmt::format("nvmlDeviceGet{}RunningProcesses_v{}", kind, version).c_str());
    return ask;
  }

  // The parts of a divided GPU (MIG); none of an undivided one.
  std::vector<nvml::Device> parts_of(nvml::Device gpu) const {
    std::vector<nvml::Device> parts;
    unsigned most = 0;
    if (most_instances == nullptr || instance == nullptr ||
        most_instances(gpu, &most) != kNvmlSuccess)
      return parts;
    for (unsigned at = 0; at < std::min(most, kMostParts); ++at)
      if (nvml::Device part = nullptr; instance(gpu, at, &part) == kNvmlSuccess)
        parts.push_back(part);
    return parts;
  }

  // For a divided GPU the driver may refuse a user without privileges, but tell about its parts.
  void add_gpu(unsigned index, NvidiaProcesses& found) const {
    nvml::Device gpu = nullptr;
    nvml::Pci pci{};
    if (by_index(index, &gpu) != kNvmlSuccess || pci_info(gpu, &pci) != kNvmlSuccess) return;
    std::vector<nvml::Device> devices = parts_of(gpu);
    std::set<pid_t> pids;
    bool known = add_pids(compute, gpu, pids) || !devices.empty();
    for (const nvml::Device part : devices) known = add_pids(compute, part, pids) && known;
    devices.push_back(gpu);
    for (nvml::AskProcesses* const other : {graphics, mps})
      for (const nvml::Device device : devices)
        if (other != nullptr) (void)add_pids(other, device, pids);
    const std::string address =
        fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
    if (known) found.gpus.insert(address);
    for (const pid_t pid : pids) found.of[pid].insert(address);
  }

  void* handle;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, nvml::Device*) = nullptr;
  int (*pci_info)(nvml::Device, nvml::Pci*) = nullptr;
  int (*most_instances)(nvml::Device, unsigned*) = nullptr;  // null: a driver without MIG
  int (*instance)(nvml::Device, unsigned, nvml::Device*) = nullptr;
  nvml::AskProcesses* compute = nullptr;
  nvml::AskProcesses* graphics = nullptr;  // may be missing, as the next
  nvml::AskProcesses* mps = nullptr;       // clients of NVIDIA's Multi-Process Service
  bool started = false;
};

Nvml::Nvml(std::string library) : library_(std::move(library)) {}
Nvml::~Nvml() = default;

const NvidiaProcesses* Nvml::processes() {
  if (!tried_) {
    tried_ = true;
    auto calls = std::make_unique<Calls>(library_);
    if (calls->handle != nullptr && calls->start()) calls_ = std::move(calls);
  }
  unsigned count = 0;
  if (!calls_ || calls_->count(&count) != kNvmlSuccess) return nullptr;
  found_ = {};
  for (unsigned index = 0; index < std::min(count, kMostNvidiaGpus); ++index)
    calls_->add_gpu(index, found_);
  return &found_;
}

}  // namespace ondeloc
