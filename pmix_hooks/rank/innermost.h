// SPDX-License-Identifier: Apache-2.0
// Where one call reaches another that counts the same: a tool in between passes a program's
// MPI_Start on to PMPI_Start. The innermost counts, and the others see that it did; nobody has to
// put anything back, since an error handler may leave MPI by an exception or longjmp.
// Thread safety: one object belongs to one call.
#pragma once

namespace ondeloc {

class Innermost {
 public:
  Innermost() : before_(times_counted()) {}
  // True for the first that asks after its call has returned: it counts now.
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
