// SPDX-License-Identifier: MIT
// The plugin interface of QEMU, declared by hand, because Debian packages no header. Versions 1
// (QEMU 6.0 to 8.2) to 4 (QEMU 9.2 and 10.0) have all that is declared here, unless a comment says
// otherwise.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;
using qemu_plugin_meminfo_t = std::uint32_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t {
  const char* target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus, max_vcpus;
  } system;
};
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
using qemu_vcpu_callback = void (*)(qemu_plugin_id_t, unsigned vcpu);
using qemu_access_callback = void (*)(unsigned vcpu, qemu_plugin_meminfo_t, std::uint64_t address,
                                      void* data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_vcpu_callback);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t, qemu_vcpu_callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                           void (*)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void*), void*);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn*, qemu_access_callback, qemu_plugin_cb_flags,
                                      qemu_plugin_mem_rw, void*);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, std::size_t);
// Version 2 and later. In version 1 the function takes the instruction only and returns a pointer.
std::size_t qemu_plugin_insn_data(const qemu_plugin_insn*, void*, std::size_t);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn*);
const char* qemu_plugin_insn_symbol(const qemu_plugin_insn*);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

}  // extern "C"
