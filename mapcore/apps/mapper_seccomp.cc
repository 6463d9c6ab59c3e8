// SPDX-License-Identifier: Apache-2.0
// A filter of system calls (seccomp(2)). A list of forbidden calls, not of allowed ones: hwloc and
// the C library choose their calls by release and machine.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mapcore/apps/mapper_setup.h"

namespace ondeloc {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherTable = 0x40000000;  // numbers of the x32 interface begin here
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kOtherTable = 0;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_PPC64LE;
constexpr std::uint32_t kOtherTable = 0;
#else
constexpr std::uint32_t kArchitecture = 0;  // no filter
constexpr std::uint32_t kOtherTable = 0;
#endif

// Leak checkers trace their own process.
#if defined(__has_feature)
#define ONDELOC_HAS_FEATURE(name) __has_feature(name)
#else
#define ONDELOC_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || ONDELOC_HAS_FEATURE(address_sanitizer)
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif

constexpr long kForbidden[] = {
    // Other programs.
    SYS_execve,
    SYS_execveat,
    // The network, and daemons behind a socket.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
#ifdef SYS_socketcall
    SYS_socketcall,
#endif
    // Other processes of the user.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    // The system, in jobs of root.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_bpf,
    SYS_add_key,
    SYS_keyctl,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_userfaultfd,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,  // would carry most of the calls above past the filter
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

// If the loaded value compares true, the next instruction is executed, else it is skipped.
sock_filter if_true(std::uint16_t comparison, std::uint32_t value) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, 1);
}

std::vector<sock_filter> filter() {
  const sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  std::vector<sock_filter> steps{load(offsetof(seccomp_data, arch))};
  // Another architecture (i386 on x86-64) has other numbers: skip the refusal if it is this one.
  steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  steps.push_back(refuse);
  steps.push_back(load(offsetof(seccomp_data, nr)));
  if (kOtherTable != 0) {
    steps.push_back(if_true(BPF_JGE, kOtherTable));
    steps.push_back(refuse);
  }
  for (const long number : kForbidden) {
    steps.push_back(if_true(BPF_JEQ, static_cast<std::uint32_t>(number)));
    steps.push_back(refuse);
  }
  steps.push_back(allow);
  return steps;
}

}  // namespace

bool forbid_unneeded_calls() {
  if (kArchitecture == 0 || kIsInstrumented) return false;
  std::vector<sock_filter> steps = filter();
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace ondeloc
