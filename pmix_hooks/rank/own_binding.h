// SPDX-License-Identifier: Apache-2.0
// Keeps the MPI library and PSM2 from binding a process that ondeloc moves, without telling so to
// anybody else: what is set in a task's environment reaches mpirun and its ranks too.
// Thread safety: as setenv(3): MPI_Init itself changes the environment.
#pragma once

namespace ondeloc {

// While it lives, the environment says so, unless the user's says anything of it.
class OwnBindingForbidden {
 public:
  explicit OwnBindingForbidden(bool wanted);
  ~OwnBindingForbidden();
  OwnBindingForbidden(const OwnBindingForbidden&) = delete;
  OwnBindingForbidden& operator=(const OwnBindingForbidden&) = delete;

 private:
  static constexpr int kVariables = 2;
  bool ours_[kVariables];
};

// The memory policy of the calling thread names NUMA nodes that pages are to come from (bind or
// preferred; not interleave).
bool is_bound_to_memory();

}  // namespace ondeloc
