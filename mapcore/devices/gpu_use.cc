// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/gpu_use.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include "mapcore/base/text.h"
#include "mapcore/devices/sysfs.h"

namespace ondeloc {
namespace {

// The variables by which Slurm, or a user, gives GPUs to a task.
constexpr std::string_view kVisible[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                         "HIP_VISIBLE_DEVICES",  "ZE_AFFINITY_MASK",
                                         "GPU_DEVICE_ORDINAL",   "SLURM_STEP_GPUS"};
constexpr std::size_t kMostInfo = 8192;

class Process {
 public:
  Process(pid_t pid, std::span<const Device> devices, const std::string& root,
          const AskNvidia& ask_nvidia)
      : sys_(root), root_(root), pid_(pid), devices_(devices), ask_nvidia_(ask_nvidia) {}

  GpuUse use(Environment environment) {
    read_environment(environment);
    if (GpuUse use = from_kfd(); use.any()) return use;
    if (GpuUse use = from_files(); use.any()) return use;
    return from_slurm();
  }
  GpuUse given_by(Environment environment) {
    read_environment(environment);
    return from_slurm();
  }

 private:
  using Found = std::set<std::size_t>;

  static GpuUse made(const Found& found, const char* source, bool unlisted = false) {
    return {{found.begin(), found.end()}, source, unlisted};
  }

  void read_environment(Environment environment) {
    for (const auto& [name, value] : environment)
      if (std::find(std::begin(kVisible), std::end(kVisible), name) != std::end(kVisible))
        given_.emplace(name, value);
  }

  // Adds the GPU with this PCI address. False if the list does not have it.
  bool add_pci(std::string_view pci, Found& found) const {
    return add_if(&Device::pci, pci, found);
  }
  bool add_name(std::string_view name, Found& found) const {
    return add_if(&Device::name, name, found);
  }
  bool add_if(std::string Device::*key, std::string_view value, Found& found) const {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!is_gpu(devices_[i].kind) || devices_[i].*key != value) continue;
      found.insert(i);
      return true;
    }
    return false;
  }

  // The topology of kfd tells each GPU's id and its place on the PCI bus.
  std::string pci_of_kfd(const std::string& gpu_id) const {
    const std::string kNodes = "/sys/class/kfd/kfd/topology/nodes/";
    for (const std::string& node : sys_.list(kNodes)) {
      if (sys_.read(kNodes + node + "/gpu_id") != gpu_id) continue;
      unsigned long location = 0, domain = 0;
      const std::string properties = sys_.read(kNodes + node + "/properties", kMostInfo);
      for (const std::string_view line : split(properties, '\n')) {
        if (line.starts_with("location_id "))
          location = std::strtoul(line.data() + 12, nullptr, 10);
        if (line.starts_with("domain ")) domain = std::strtoul(line.data() + 7, nullptr, 10);
      }
      return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, location >> 8 & 0xff,
                         location >> 3 & 0x1f, location & 7);
    }
    return "";
  }

  GpuUse from_kfd() const {
    const std::string directory = fmt::format("/sys/class/kfd/kfd/proc/{}", pid_);
    constexpr std::string_view kMemory = "vram_";
    Found found;
    bool unlisted = false;
    for (const std::string& file : sys_.list(directory)) {
      if (!file.starts_with(kMemory)) continue;
      if (sys_.read_number(directory + "/" + file).value_or(0) <= 0) continue;
      unlisted |= !add_pci(pci_of_kfd(file.substr(kMemory.size())), found);
    }
    return made(found, "kfd", unlisted);
  }

  // True if the driver tells that the process has memory of the GPU, or work on it.
  static bool has_memory(std::string_view info) {
    for (const std::string_view line : split(info, '\n')) {
      if (!line.starts_with("drm-memory-") && !line.starts_with("drm-total-")) continue;
      const std::size_t colon = line.find(':');
      if (colon != line.npos && std::strtoull(line.data() + colon + 1, nullptr, 10) > 0)
        return true;
    }
    return false;
  }

  void add_render_node(const std::string& fd, const std::string& name) {
    const std::string info = sys_.read(fmt::format("/proc/{}/fdinfo/{}", pid_, fd), kMostInfo);
    for (const std::string_view line : split(info, '\n')) {
      if (!line.starts_with("drm-pdev:")) continue;
      Found found;
      if (!add_pci(trim_blanks(line.substr(9)), found)) continue;
      told_.merge(Found(found));
      if (has_memory(info)) with_memory_.merge(found);
      return;
    }
    if (!add_name(name, open_)) unlisted_ = true;
  }

  // /proc/driver/nvidia/gpus/ADDRESS/information has the minor number and the UUID.
  void add_nvidia(std::string_view minor) {
    const std::string kGpus = "/proc/driver/nvidia/gpus/";
    for (const std::string& pci : sys_.list(kGpus)) {
      const std::string text = sys_.read(kGpus + pci + "/information");
      for (const std::string_view line : split(text, '\n')) {
        if (!line.starts_with("Device Minor:")) continue;
        if (line.substr(line.find_last_of(" \t") + 1) != minor) continue;
        unlisted_ |= !add_pci(pci, open_);
        return;
      }
    }
    unlisted_ = true;
  }

  void look_at_file(const std::string& fd) {
    const std::string target = sys_.link(fmt::format("/proc/{}/fd/{}", pid_, fd));
    constexpr std::string_view kRender = "/dev/dri/renderD", kNvidia = "/dev/nvidia";
    if (target.starts_with(kRender)) {
      add_render_node(fd, std::string(last_component(target)));
    } else if (target.starts_with(kNvidia)) {
      const std::string_view minor = std::string_view(target).substr(kNvidia.size());
      if (parse_unsigned(minor, UINT32_MAX)) add_nvidia(minor);
    }
  }

  GpuUse from_files() {
    for (const std::string& fd : sys_.list(fmt::format("/proc/{}/fd", pid_))) look_at_file(fd);
    if (!with_memory_.empty()) return made(with_memory_, "fdinfo");
    if (!told_.empty()) return made(told_, "fdinfo", unlisted_);
    if (Found named; !open_.empty() && add_named(named)) {
      Found both;
      std::set_intersection(open_.begin(), open_.end(), named.begin(), named.end(),
                            std::inserter(both, both.begin()));
      if (!both.empty()) return narrowed(both);
    }
    return unlisted_ ? made(open_, "open", true) : narrowed(open_);
  }

  GpuUse narrowed(const Found& candidates) const {
    const Found used = from_nvidia(candidates);
    return used.empty() ? made(candidates, "open") : made(used, "nvml");
  }

  // A process can have a context only on a GPU that it has open. If the driver tells another one,
  // its pids are not those of this namespace.
  Found from_nvidia(const Found& candidates) const {
    if (candidates.size() < 2 || !ask_nvidia_) return {};
    const auto is_nvidia = [&](std::size_t i) { return devices_[i].kind == DeviceKind::kNvidia; };
    if (!std::all_of(candidates.begin(), candidates.end(), is_nvidia)) return {};
    const NvidiaProcesses* told = ask_nvidia_();
    if (told == nullptr) return {};
    const auto mine = told->of.find(pid_);
    if (mine == told->of.end()) return {};
    Found used;
    for (const std::size_t i : candidates) {
      if (told->gpus.count(devices_[i].pci) == 0) return {};
      if (mine->second.count(devices_[i].pci) > 0) used.insert(i);
    }
    return used.size() == mine->second.size() ? used : Found();
  }

  // "GPU-1a2b...", at least as many characters as make it unique for CUDA. Instances of a GPU
  // ("MIG-...") have UUIDs of their own, which only NVIDIA's library can resolve.
  bool add_uuid(std::string_view uuid, Found& found) const {
    const std::string kGpus = "/proc/driver/nvidia/gpus/";
    for (const std::string& pci : sys_.list(kGpus)) {
      const std::string text = sys_.read(kGpus + pci + "/information");
      const std::size_t at = text.find("GPU-");
      if (at != text.npos && std::string_view(text).substr(at).starts_with(uuid))
        return add_pci(pci, found);
    }
    return false;
  }

  // The GPUs that the environment names by UUID or PCI address. False if it names one otherwise, or
  // none.
  bool add_named(Found& found) const {
    bool all = true;
    for (const auto& [name, value] : given_) {
      if (name == "SLURM_STEP_GPUS") continue;
      for (const std::string_view piece : split(value, ',')) {
        const bool is_uuid = piece.starts_with("GPU-") && piece.size() > 4;
        all &= is_uuid ? add_uuid(piece, found) : is_pci_address(piece) && add_pci(piece, found);
      }
    }
    return all && !found.empty();
  }

  static bool gives_none(std::string_view value) {
    return value.empty() || value == "-1" || value == "NoDevFiles";
  }

  GpuUse from_slurm() const {
    if (std::all_of(given_.begin(), given_.end(),
                    [](const auto& entry) { return gives_none(entry.second); }))
      return {};
    Found found;
    if (add_named(found)) return made(found, "slurm");
    found.clear();
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (is_gpu(devices_[i].kind)) found.insert(i);
    return made(found, "slurm", found.empty());
  }

  Sysfs sys_;
  std::string root_;
  pid_t pid_;
  std::span<const Device> devices_;
  const AskNvidia& ask_nvidia_;
  std::map<std::string, std::string, std::less<>> given_;
  Found told_, with_memory_, open_;
  bool unlisted_ = false;
};

}  // namespace

GpuUse gpus_of_process(pid_t pid, Environment environment, std::span<const Device> devices,
                       const std::string& root, const AskNvidia& ask_nvidia) {
  return Process(pid, devices, root, ask_nvidia).use(environment);
}

GpuUse gpus_given_by(Environment environment, std::span<const Device> devices,
                     const std::string& root) {
  return Process(0, devices, root, {}).given_by(environment);
}

std::span<const std::string_view> gpu_variables() { return kVisible; }

std::size_t open_files_of(pid_t pid, const std::string& root) {
  struct stat status {};
  const std::string directory = fmt::format("{}/proc/{}/fd", root, pid);
  if (stat(directory.c_str(), &status) != 0 || !root.empty()) return 0;
  return static_cast<std::size_t>(status.st_size);
}

CpuSet near_gpus(const GpuUse& use, std::span<const Device> devices) {
  CpuSet near;
  for (std::size_t i = 0; i < use.gpus.size(); ++i) {
    const CpuSet& own = devices[use.gpus[i]].near;
    if (i == 0) {
      near = own;
    } else {
      near &= own;
    }
    if (near.empty()) break;
  }
  return use.unlisted ? CpuSet() : near;
}

}  // namespace ondeloc
