// SPDX-License-Identifier: Apache-2.0
// One counted call may reach another one: a tool in between passes a program's MPI_Start on to
// PMPI_Start. The innermost call counts, and the outer calls see that it has counted. No call has
// to restore anything, because an error handler may leave MPI by an exception or longjmp. Thread
// safety: one object belongs to one call.
#pragma once

namespace ondeloc {

class InnermostCall {
 public:
  InnermostCall() : before_(times_counted()) {}
  // True for the first call that asks after the function behind it has returned: it counts now.
  bool counts() const {
    if (times_counted() != before_) return false;
    ++times_counted();
    return true;
  }

 private:
  static unsigned long& times_counted() {
    // NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zero, as all __thread here
    static __thread unsigned long times __attribute__((tls_model("initial-exec")));
    return times;
  }
  unsigned long before_;
};

}  // namespace ondeloc
