// SPDX-License-Identifier: Apache-2.0
// Builds a tree of /sys and /proc with made-up devices below a directory of the test's own.
#pragma once

#include <filesystem>
#include <string>

#include "tests/unit/temp_dir.h"

namespace ondeloc {

class MadeTree {
 public:
  const std::string& root() const { return dir_.path(); }
  void write(const std::string& path, const std::string& text) {
    write_in_folders(dir_.path() + path, text + "\n");
  }
  // `target` is absolute in the tree, as "/sys/devices/...".
  void link(const std::string& path, const std::string& target) {
    const std::filesystem::path file = dir_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(dir_.path() + target, file);
  }
  // A link to what need not exist, as in /proc/PID/fd.
  void link_as_is(const std::string& path, const std::string& target) {
    const std::filesystem::path file = dir_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  void remove(const std::string& path) { std::filesystem::remove_all(dir_.path() + path); }

  // Returns the directory of a PCI device. node -2: no numa_node file.
  std::string pci(const std::string& address, int node, const std::string& cpus,
                  const std::string& driver = "", const std::string& vendor = "0x8086") {
    std::string path = "/sys/devices/pci0000:00/0000:00:01.0/";
    path += address;
    if (node > -2) write(path + "/numa_node", std::to_string(node));
    write(path + "/local_cpulist", cpus);
    write(path + "/vendor", vendor);
    if (!driver.empty()) {
      std::filesystem::create_directories(dir_.path() + "/sys/bus/pci/drivers/" + driver);
      link(path + "/driver", "/sys/bus/pci/drivers/" + driver);
      link("/sys/bus/pci/drivers/" + driver + "/" + address, path);
    }
    return path;
  }
  void rdma(const std::string& name, const std::string& pci_path, const std::string& state,
            const std::string& layer = "InfiniBand") {
    const std::string path = pci_path + "/infiniband/" + name;
    write(path + "/ports/1/state", state);
    write(path + "/ports/1/rate", "100 Gb/sec (4X EDR)");
    write(path + "/ports/1/link_layer", layer);
    write(path + "/ports/1/sm_lid", "0x1");
    write(path + "/ports/1/gids/0", "fe80:0000:0000:0000:248a:0703:001e:39fe");
    link(path + "/device", pci_path);
    link("/sys/class/infiniband/" + name, path);
  }
  void net(const std::string& name, const std::string& device_path, const std::string& state,
           const std::string& speed) {
    const std::string path = device_path + "/net/" + name;
    write(path + "/operstate", state);
    write(path + "/speed", speed);
    link(path + "/device", device_path);
    link("/sys/class/net/" + name, path);
  }
  void render(const std::string& name, const std::string& device_path) {
    const std::string path = device_path + "/drm/" + name;
    write(path + "/dev", "226:128");
    link(path + "/device", device_path);
    link("/sys/class/drm/" + name, path);
  }

 private:
  TempDir dir_;
};

}  // namespace ondeloc
