// SPDX-License-Identifier: Apache-2.0
// A kernel, or a sandbox, without some system call: a seccomp filter for the calling thread, which
// keeps it until its end.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <cstdint>

namespace ondeloc {

// From now on the kernel does this at the call (SECCOMP_RET_*). False if it takes no filter.
inline bool filter_call(long number, std::uint32_t action) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(steps) / sizeof(steps[0]), steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// From now on the call fails with this errno. False if the kernel takes no filter.
inline bool forbid_call(long number, int error) {
  return filter_call(number, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
}

}  // namespace ondeloc
