// SPDX-License-Identifier: MIT
// The part of QEMU 10.0 that only the lab uses, declared by hand: the plugin interface of version 4
// and, for the guest's clocks, names that QEMU's program exports without promising them to plugins.
// check_qemu() tests what can be tested of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "mapcore/threads/plugin/qemu_plugin.h"

extern "C" {

#define NUMALAB_EXPORT __attribute__((visibility("default")))

// ---- plugin interface -------------------------------------------------------------------------
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;
struct qemu_plugin_u64 {
  qemu_plugin_scoreboard* score;
  std::size_t offset;
};
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cond { QEMU_PLUGIN_COND_GE = 7 };
using qemu_code_callback = void (*)(unsigned vcpu, void* data);

void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t, qemu_vcpu_callback);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t, qemu_vcpu_callback);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(qemu_plugin_tb*, qemu_plugin_op,
                                                       qemu_plugin_u64, std::uint64_t);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(qemu_plugin_tb*, qemu_code_callback,
                                               qemu_plugin_cb_flags, qemu_plugin_cond,
                                               qemu_plugin_u64, std::uint64_t, void*);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn*, qemu_code_callback,
                                            qemu_plugin_cb_flags, void*);
qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, std::uint64_t);
bool qemu_plugin_hwaddr_is_io(const qemu_plugin_hwaddr*);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr*);
struct qemu_plugin_mem_value {
  int type;  // 0 to 4: 1, 2, 4, 8, 16 bytes
  union {
    std::uint64_t low;
    std::uint64_t both[2];
  } data;
};
qemu_plugin_mem_value qemu_plugin_mem_get_value(qemu_plugin_meminfo_t);
qemu_plugin_scoreboard* qemu_plugin_scoreboard_new(std::size_t);
void* qemu_plugin_scoreboard_find(qemu_plugin_scoreboard*, unsigned vcpu);

// ---- inside of QEMU ---------------------------------------------------------------------------
struct CPUState;
extern __thread CPUState* current_cpu;
CPUState* qemu_get_cpu(int);
void tb_flush(CPUState*);
std::int64_t cpu_get_clock();
void qemu_clock_notify(int clock);
std::int64_t qemu_clock_deadline_ns_all(int clock, int attributes);
void* module_object_class_by_name(const char*);
// Compared by address only.
void tcg_handle_interrupt(CPUState*, int);
void mttcg_start_vcpu_thread(CPUState*);
void mttcg_kick_vcpu_thread(CPUState*);

}  // extern "C"

namespace numalab {

inline constexpr int kPluginInterface = 4;  // of QEMU 9.2 and 10.0
inline constexpr int kVirtualClock = 1;     // QEMU_CLOCK_VIRTUAL

// AccelOpsClass of QEMU 10.0.
struct AccelOps {
  void* object_class[12];
  void *ops_init, *cpus_are_resettable, *cpu_reset_hold;
  void (*create_vcpu_thread)(CPUState*);
  void (*kick_vcpu_thread)(CPUState*);
  void *cpu_thread_is_idle, *post_reset, *post_init, *state, *pre_loadvm, *pre_resume;
  void (*handle_interrupt)(CPUState*, int);
  std::int64_t (*get_virtual_clock)();
  void (*set_virtual_clock)(std::int64_t);
  std::int64_t (*get_elapsed_ticks)();
};

// Empty, or one sentence why the lab cannot run in this QEMU. Before the first vCPU runs the class
// is not yet in use.
std::string check_interface(const qemu_info_t& info, int vcpus);
std::string check_layout(const AccelOps* ops);

}  // namespace numalab
