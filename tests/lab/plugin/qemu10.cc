// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/qemu10.h"

namespace numalab {

std::string check_interface(const qemu_info_t& info, int vcpus) {
  if (info.version.cur != kPluginInterface) {
    return "this QEMU has version " + std::to_string(info.version.cur) +
           " of the plugin interface; the lab needs version 4, which QEMU 10.0 of Debian 13 has";
  }
  if (!info.system_emulation)
    return "this is QEMU's emulation of programs; the lab needs qemu-system";
  if (info.target_name != std::string("x86_64")) {
    return std::string("the guest is ") + info.target_name + "; the lab knows x86_64 only";
  }
  if (info.system.smp_vcpus != vcpus) {
    return "the guest has " + std::to_string(info.system.smp_vcpus) +
           " vCPUs, the machine description " + std::to_string(vcpus) + "; start QEMU with -smp " +
           std::to_string(vcpus);
  }
  return "";
}

std::string check_layout(const AccelOps* ops) {
  if (ops == nullptr) return "this QEMU has no class tcg-accel-ops; start it with -accel tcg";
  if (ops->handle_interrupt != tcg_handle_interrupt ||
      ops->create_vcpu_thread != mttcg_start_vcpu_thread ||
      ops->kick_vcpu_thread != mttcg_kick_vcpu_thread) {
    return "AccelOpsClass of this QEMU is laid out otherwise than in QEMU 10.0, or threads are not "
           "multi; use QEMU 10.0 of Debian 13 with -accel tcg,thread=multi";
  }
  return "";
}

}  // namespace numalab
