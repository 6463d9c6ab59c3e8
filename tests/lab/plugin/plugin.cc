// SPDX-License-Identifier: MIT
// The lab inside QEMU: instruments the guest's code, takes over its clocks, obeys its triggers.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "mapcore/threads/plugin/instruction.h"
#include "tests/lab/plugin/lab.h"
#include "tests/lab/plugin/qemu10.h"
#include "tests/lab/plugin/trigger.h"

extern "C" NUMALAB_EXPORT int qemu_plugin_version;
int qemu_plugin_version = numalab::kPluginInterface;

namespace numalab {
namespace {

// One for the process: QEMU's callbacks carry no object. Never freed: threads of QEMU outlive the
// plugin's end.
Lab* lab = nullptr;
std::ofstream* output = nullptr;
qemu_plugin_scoreboard* scores = nullptr;
CPUState* vcpu_states[64];
std::atomic<std::int64_t> off_ns = 0;  // with the lab off the guest's clock is QEMU's plus this
std::mutex switching;

std::uint64_t host_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

double host_load() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "numalab: %s\n", why.c_str());
  std::_Exit(3);
}

// ---- the guest's clocks -----------------------------------------------------------------------

int calling_vcpu() {
  thread_local int last = -1;
  if (current_cpu == nullptr) return -1;
  if (last >= 0 && vcpu_states[last] == current_cpu) return last;
  for (int i = 0; i < lab->machine().vcpus(); ++i) {
    if (vcpu_states[i] == current_cpu) return last = i;
  }
  return -1;
}

// Also the time stamp counter: one tick is a nanosecond.
std::int64_t guest_ns() {
  Pacer& pacer = lab->pacer();
  if (!pacer.running()) return cpu_get_clock() + off_ns;
  const int vcpu = calling_vcpu();
  return static_cast<std::int64_t>((vcpu >= 0 ? pacer.clock(vcpu) : pacer.present()) / 1000);
}

// Tells QEMU's main loop of timers that are due, and lets time go on when every vCPU sleeps.
void run_timers() {
  constexpr std::int64_t kMostNs = 200'000;
  int rounds_idle = 0;
  for (;; usleep(lab->pacer().running() ? 100 : 5000)) {
    Pacer& pacer = lab->pacer();
    if (!pacer.running()) continue;
    pacer.follow();
    rounds_idle = pacer.all_idle() ? rounds_idle + 1 : 0;
    const std::int64_t due = qemu_clock_deadline_ns_all(kVirtualClock, -1);
    if (due == 0) {
      qemu_clock_notify(kVirtualClock);
    } else if (rounds_idle > 2) {
      const std::int64_t step = due < 0 || due > kMostNs ? kMostNs : due;
      pacer.advance_idle(static_cast<std::uint64_t>(step) * 1000);
      qemu_clock_notify(kVirtualClock);
    }
  }
}

void take_over_clocks() {
  auto* ops = static_cast<AccelOps*>(module_object_class_by_name("tcg-accel-ops"));
  if (const std::string why = check_layout(ops); !why.empty()) refuse(why);
  ops->get_virtual_clock = guest_ns;
  ops->set_virtual_clock = [](std::int64_t) {};
  ops->get_elapsed_ticks = guest_ns;
  std::thread(run_timers).detach();
}

// ---- triggers ---------------------------------------------------------------------------------

void switch_lab(int vcpu, bool on) {
  Pacer& pacer = lab->pacer();
  if (on != pacer.running()) {
    if (on) {
      pacer.start(static_cast<std::uint64_t>(guest_ns()) * 1000);
      lab->mark(vcpu, host_ns());
    } else {
      pacer.stop([](std::uint64_t latest_ps) {
        off_ns = static_cast<std::int64_t>(latest_ps / 1000) - cpu_get_clock() + 1000;
      });
    }
  }
  tb_flush(vcpu_states[vcpu]);  // blocks are translated with the lab's calls, or without
  qemu_clock_notify(kVirtualClock);
}

void obey(unsigned vcpu_number, void* data) {
  const auto code = reinterpret_cast<std::uintptr_t>(data);
  const int vcpu = static_cast<int>(vcpu_number);
  const auto tag = static_cast<std::uint8_t>(code);
  const std::scoped_lock lock(switching);
  switch (static_cast<Command>(code >> 8)) {
    case Command::kOn:
      return switch_lab(vcpu, true);
    case Command::kOff:
      return switch_lab(vcpu, false);
    case Command::kMark:
      return lab->mark(vcpu, host_ns());
    case Command::kDump:
      if (!lab->pacer().running()) return;  // else it tells of an earlier run
      *output << lab->dump(vcpu, tag, host_ns(), host_load()) << std::endl;
      return;
    case Command::kLabel:
      return lab->push_label(tag);
    case Command::kDistance:
      return lab->memory().interconnect().set_distance(tag != 0);
  }
}

// ---- instrumentation --------------------------------------------------------------------------

// Returns what the access read or wrote, for at most eight bytes.
Word word_of(qemu_plugin_meminfo_t info, std::uint64_t address) {
  const qemu_plugin_mem_value read = qemu_plugin_mem_get_value(info);
  if (read.type > 3) return {};
  const unsigned bits = 8U << read.type;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const auto place = static_cast<std::uint32_t>(address % CacheSize::kLineBytes);
  return {read.data.low & mask, place << 3 | static_cast<std::uint32_t>(read.type + 1)};
}

void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void* atomic) {
  const qemu_plugin_hwaddr* where = qemu_plugin_get_hwaddr(info, address);
  if (where == nullptr) return;
  if (qemu_plugin_hwaddr_is_io(where)) return lab->device_access(static_cast<int>(vcpu));
  const std::uint64_t at = qemu_plugin_hwaddr_phys_addr(where);
  lab->access(static_cast<int>(vcpu), at, qemu_plugin_mem_is_store(info),
              atomic ? Word{} : word_of(info, at));
}

void on_quantum(unsigned vcpu, void*) { lab->synchronize(static_cast<int>(vcpu)); }

using ondeloc_threads::Code;

Code code_of(const qemu_plugin_insn* instruction) {
  Code code{};
  qemu_plugin_insn_data(instruction, code.data(), code.size());
  return code;
}

void instrument_trigger(qemu_plugin_insn* instruction) {
  std::array<std::uint8_t, kTriggerBytes> code{};
  if (qemu_plugin_insn_size(instruction) != code.size()) return;
  qemu_plugin_insn_data(instruction, code.data(), code.size());
  const auto trigger = parse_trigger(code);
  if (!trigger) return;
  const auto data = static_cast<std::uintptr_t>(trigger->command) << 8 | trigger->tag;
  qemu_plugin_register_vcpu_insn_exec_cb(instruction, obey, QEMU_PLUGIN_CB_NO_REGS,
                                         reinterpret_cast<void*>(data));
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  const bool on = lab->pacer().running();
  if (on) {
    const qemu_plugin_u64 score{scores, 0};
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, QEMU_PLUGIN_INLINE_ADD_U64, score,
                                                      count * lab->ps_per_instruction());
    qemu_plugin_register_vcpu_tb_exec_cond_cb(block, on_quantum, QEMU_PLUGIN_CB_NO_REGS,
                                              QEMU_PLUGIN_COND_GE, score, lab->quantum_ps(),
                                              nullptr);
  }
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    instrument_trigger(instruction);
    if (!on) continue;
    // The values that QEMU tells of an atomic instruction are not those of the memory: "lock inc"
    // is told as a load of the value behind it, a failed compare-and-exchange as a store.
    void* atomic = ondeloc_threads::is_atomic(code_of(instruction)) ? instruction : nullptr;
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, atomic);
  }
}

void on_vcpu(qemu_plugin_id_t, unsigned vcpu) {
  static std::once_flag once;
  vcpu_states[vcpu] = qemu_get_cpu(static_cast<int>(vcpu));
  lab->pacer().bind(static_cast<int>(vcpu),
                    static_cast<std::uint64_t*>(qemu_plugin_scoreboard_find(scores, vcpu)));
  std::call_once(once, take_over_clocks);
}

void install(qemu_plugin_id_t id, const qemu_info_t& info, int count, char** words) {
  const Settings settings = parse_settings(count, words);
  const Machine machine = read_machine(settings.machine);
  const std::string why = check_interface(info, machine.vcpus());
  if (!why.empty()) throw std::runtime_error(why);
  output = new std::ofstream(settings.output, std::ios::app);
  if (!*output) throw std::runtime_error(settings.output + ": the file cannot be written");
  lab = new Lab(settings, machine);
  constexpr std::size_t kCacheLines = 128;  // so that two vCPUs share none
  scores = qemu_plugin_scoreboard_new(kCacheLines);
  qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
  qemu_plugin_register_vcpu_idle_cb(
      id, [](qemu_plugin_id_t, unsigned vcpu) { lab->pacer().went_idle(static_cast<int>(vcpu)); });
  qemu_plugin_register_vcpu_resume_cb(
      id, [](qemu_plugin_id_t, unsigned vcpu) { lab->pacer().resumed(static_cast<int>(vcpu)); });
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
}

}  // namespace
}  // namespace numalab

extern "C" NUMALAB_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                  int argc, char** argv) {
  try {
    numalab::install(id, *info, argc, argv);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "numalab: %s\n", problem.what());
    return -1;
  }
}
